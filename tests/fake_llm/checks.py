"""What the validators share: a list of problems that knows how to look at JSON.

Everything here runs for each part of each request of a hundred thousand histories, so texts are
only made when there is something to say.
"""
import json
import re

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")


class Problems(list):
    def add(self, where, what):
        self.append(f"{where}: {what}" if where else what)

    def keys(self, value, where, allowed, required=()):
        """Whether value is an object; complains about unknown and missing keys."""
        if not isinstance(value, dict):
            self.add(where, "must be an object")
            return False
        if not value.keys() <= allowed:
            for key in sorted(value.keys() - allowed):
                self.add(f"{where}.{key}" if where else key, "unknown field")
        for key in required:
            if key not in value:
                self.add(f"{where}.{key}" if where else key, "required")
        return True

    def items(self, value, where):
        """The elements, for a loop; complains unless it is a list that is not empty."""
        if not isinstance(value, list):
            self.add(where, "must be an array")
            return ()
        if not value:
            self.add(where, "must not be empty")
        return value

    def text(self, value, where, empty=False):
        if not isinstance(value, str):
            self.add(where, "must be a string")
            return False
        if not value and not empty:
            self.add(where, "must not be empty")
            return False
        return True

    def one_of(self, value, where, allowed):
        if not isinstance(value, str) or value not in allowed:
            self.add(where, f"must be one of {', '.join(sorted(allowed))}, is {value!r}")

    def flag(self, value, where):
        if value is not True and value is not False:
            self.add(where, "must be true or false")

    def integer(self, value, where, least, most=None):
        if not isinstance(value, int) or isinstance(value, bool):
            self.add(where, "must be an integer")
        elif value < least or (most is not None and value > most):
            self.add(where, f"must be at least {least}" if value < least else f"at most {most}")

    def number(self, value, where, least, most):
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            self.add(where, "must be a number")
        elif not least <= value <= most:
            self.add(where, f"must be between {least} and {most}")

    def name(self, value, where):
        if not isinstance(value, str) or not NAME.match(value):
            self.add(where, f"is no name of a tool: {value!r}")

    def arguments(self, value, where):
        """The text of a JSON object."""
        if not isinstance(value, str):
            self.add(where, "must be a string")
            return
        try:
            if not isinstance(parse(value), dict):
                self.add(where, "must be the text of a JSON object")
        except ValueError as error:
            self.add(where, f"is not JSON: {error}")

    def fields(self, body, table):
        """Checks of optional fields: {name: (method, more arguments...)}; null counts as absent."""
        for key in body.keys() & table.keys():
            value = body[key]
            if value is not None:
                check, *more = table[key]
                getattr(self, check)(value, key, *more)

    def texts(self, value, where, most=None):
        """A list of strings."""
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            self.add(where, "must be an array of strings")
        elif most is not None and len(value) > most:
            self.add(where, f"must have at most {most} elements")

    def content_type(self, headers):
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            self.add("content-type", "must be application/json")

    def credentials(self, headers, own):
        """own: {header: prefix}, one of which must be there. No other vendor gets a key."""
        found = [name for name in KEY_HEADERS if name in headers]
        for name in found:
            if name not in own:
                self.add(name, "is a credential of another vendor")
        mine = [name for name in found if name in own]
        if len(mine) != 1:
            self.add(" or ".join(own), "required" if not mine else "only one of them")
        for name in mine:
            self.credential(headers[name], name, own[name])

    def credential(self, value, name, prefix):
        key = value[len(prefix):]
        if not value.startswith(prefix) or not key or not key.isprintable() or " " in key:
            self.add(name, f"must be {prefix}KEY")


KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")


def _object(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return value


def _constant(name):
    raise ValueError(f"{name} is not JSON")


DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def parse(body):
    """The value of JSON text or bytes, strictly; ValueError says what is wrong."""
    text = body.decode("utf-8") if isinstance(body, (bytes, bytearray)) else body
    value = DECODER.decode(text)
    if "\\ud" in text or "\\uD" in text:  # half a surrogate pair is no character
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("a lone surrogate is no character") from None
    return value
