"""Rules for the schemas of tools: what each vendor accepts."""
import re
import urllib.parse

TYPES = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))

LEAF = frozenset("type description title enum format minimum maximum pattern".split())

STRICT_ALLOWED = frozenset((
    "type properties required additionalProperties items anyOf $defs definitions $ref enum const "
    "description title minimum maximum exclusiveMinimum exclusiveMaximum multipleOf pattern "
    "format minItems maxItems minLength maxLength").split())
ANNOTATIONS = frozenset(("$ref", "description", "title"))

GEMINI_SUBSET = frozenset((
    "type format title description nullable enum items minItems maxItems properties required "
    "propertyOrdering minimum maximum minLength maxLength pattern minProperties maxProperties "
    "anyOf default example").split())
GEMINI_FORMATS = {"STRING": {"enum", "date-time"}, "NUMBER": {"float", "double"},
                  "INTEGER": {"int32", "int64"}}
GEMINI_JSON_SCHEMA = frozenset((
    "$id $defs $ref $anchor type format title description enum items prefixItems minItems "
    "maxItems minimum maximum anyOf oneOf properties additionalProperties required "
    "propertyOrdering").split())

ANTHROPIC_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}\Z")
ANTHROPIC_FORMATS = frozenset(
    "date-time time date duration email hostname uri ipv4 ipv6 uuid".split())


def children(schema, where):
    """(schema, where) of every schema directly below. What has the wrong shape is skipped: shape()
    complains about it."""
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, value in properties.items():
            yield value, f"{where}.properties.{name}"
    items = schema.get("items")
    if isinstance(items, dict):
        yield items, f"{where}.items"
    for key in LISTS:
        if isinstance(schema.get(key), list):
            for number, value in enumerate(schema[key]):
                yield value, f"{where}.{key}[{number}]"
    for key in MAPS[1:]:
        if isinstance(schema.get(key), dict):
            for name, value in schema[key].items():
                yield value, f"{where}.{key}.{name}"
    for key in ONE[1:]:
        if isinstance(schema.get(key), dict):
            yield schema[key], f"{where}.{key}"


def walk(problems, schema, where, check):
    """check(problems, schema, where) for a schema and all below it."""
    if not isinstance(schema, dict):
        if not isinstance(schema, bool) or check not in TAKE_BOOLEANS:
            problems.add(where, "is no schema")
        return
    if shape(problems, schema, where):
        check(problems, schema, where)
        metaschema(problems, schema, where)
        values(problems, schema, where)
    if not schema.keys() <= LEAF:
        for value, place in children(schema, where):
            walk(problems, value, place, check)


SIZES = ("minLength maxLength minItems maxItems minProperties maxProperties minContains "
         "maxContains").split()
NUMBERS = "minimum maximum exclusiveMinimum exclusiveMaximum".split()
TEXTS = "description title format pattern $ref $id $anchor $comment $schema".split()
FLAGS = "uniqueItems deprecated readOnly writeOnly".split()
LISTS = "anyOf oneOf allOf prefixItems".split()
MAPS = "properties $defs definitions patternProperties dependentSchemas".split()
ONE = ("items additionalProperties not if then else contains propertyNames unevaluatedItems "
       "unevaluatedProperties").split()


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def metaschema(problems, schema, where):
    """What draft 2020-12 demands of a keyword's value: the services check it and refuse."""
    for key in TEXTS:
        if key in schema and not isinstance(schema[key], str):
            problems.add(where, f"{key} must be a string")
    for key in FLAGS:
        if key in schema and not isinstance(schema[key], bool):
            problems.add(where, f"{key} must be a boolean")
    for key in NUMBERS:
        if key in schema and not is_number(schema[key]):
            problems.add(where, f"{key} must be a number")
    for key in SIZES:
        if key in schema and (not is_number(schema[key]) or schema[key] < 0 or
                              schema[key] != int(schema[key])):
            problems.add(where, f"{key} must be a whole number from 0 on")
    if "multipleOf" in schema and not (is_number(schema["multipleOf"]) and schema["multipleOf"] > 0):
        problems.add(where, "multipleOf must be a number above 0")
    for key in LISTS:
        if key in schema and (not isinstance(schema[key], list) or not schema[key]):
            problems.add(where, f"{key} must be an array that is not empty")
    for key in MAPS:
        if key in schema and not isinstance(schema[key], dict):
            problems.add(where, f"{key} must be an object")
    for key in ONE:
        if key in schema and not isinstance(schema[key], (dict, bool)):
            problems.add(where, f"{key} must be a schema")
    if "examples" in schema and not isinstance(schema["examples"], list):
        problems.add(where, "examples must be an array")
    kind = schema.get("type")
    if isinstance(kind, list) and len(set(map(str, kind))) != len(kind):
        problems.add(where, "type must hold different names")
    patterns = [schema["pattern"]] if isinstance(schema.get("pattern"), str) else []
    if isinstance(schema.get("patternProperties"), dict):
        patterns += schema["patternProperties"]
    for pattern in patterns:
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError):
            problems.add(where, f"{pattern!r} is not a 'regex'")


PYTHON = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}


def is_value_of(value, kind):
    if kind in ("number", "integer"):
        return is_number(value) and (kind == "number" or value == int(value))
    return isinstance(value, PYTHON[kind])


def values(problems, schema, where):
    """Allowed values must be of the type."""
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds.lower()] if kinds else None
    allowed = list(schema.get("enum", ())) + ([schema["const"]] if "const" in schema else [])
    for value in allowed if kinds else ():
        if not any(is_value_of(value, kind) for kind in kinds):
            problems.add(where, f"enum value {value!r} does not validate against {kinds}")


def resolve(root, reference):
    """What a local reference leads to; None when it leads nowhere."""
    found = root
    for part in reference[1:].split("/")[1:]:
        part = urllib.parse.unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isdigit() and int(part) < len(found):
            found = found[int(part)]
        else:
            return None
    return found


def references(problems, root, where):
    """Every reference leads somewhere inside of the schema, and not back to itself."""
    def visit(schema, place):
        if not isinstance(schema, dict):
            return
        target, seen = schema, 0
        while isinstance(target, dict) and "$ref" in target and seen < 100:
            reference = target["$ref"]
            local = isinstance(reference, str) and (reference == "#" or
                                                    reference.startswith("#/"))
            target = resolve(root, reference) if local else None
            seen += 1
        if not isinstance(target, (dict, bool)) or seen == 100:
            problems.add(place, f"reference {schema['$ref']!r} was not found in the schema")
        for value, below in children(schema, place):
            visit(value, below)
    visit(root, where)


def shape(problems, schema, where):
    """JSON Schema's own rules on the keys that matter here; whether they are kept."""
    before = len(problems)
    kind = schema.get("type")
    if kind is not None and (not isinstance(kind, str) or kind.lower() not in TYPES):
        if not isinstance(kind, list) or not kind or not all(
                isinstance(k, str) and k in TYPES for k in kind):
            problems.add(where, f"unknown type {kind!r}")
    required = schema.get("required")
    if "required" in schema and (not isinstance(required, list) or not all(
            isinstance(r, str) for r in required) or len(set(required)) != len(required)):
        problems.add(where, "required must be an array of different strings")
    if "properties" in schema and not isinstance(schema["properties"], dict):
        problems.add(where, "properties must be an object")
    if not isinstance(schema.get("format", ""), str):
        problems.add(where, "format must be a string")
    if "enum" in schema and (not isinstance(schema["enum"], list) or not schema["enum"]):
        problems.add(where, "enum must be an array that is not empty")
    if "description" in schema and not isinstance(schema["description"], str):
        problems.add(where, "description must be a string")
    return len(problems) == before


def only(problems, schema, where, allowed, complaint):
    """Complains about every other key."""
    if not schema.keys() <= allowed:
        for key in sorted(schema.keys() - allowed):
            problems.add(where, complaint.format(key))


def is_a(schema, kind):
    """Whether its type is or includes this one."""
    own = schema.get("type")
    return own == kind or (isinstance(own, list) and kind in own)


def root_object(problems, schema, where):
    if not isinstance(schema, dict) or schema.get("type") != "object":
        problems.add(where, 'must be a schema of type "object"')
        return False
    for key in ("anyOf", "oneOf", "allOf", "enum", "not"):
        if key in schema:
            problems.add(where, f"{key} is not allowed at the root")
    references(problems, schema, where)
    return True


# ---- OpenAI

def check_openai(problems, schema, where, strict):
    if root_object(problems, schema, where):
        if "properties" not in schema:
            problems.add(where, "object schema missing properties")
        walk(problems, schema, where, openai_strict if strict else openai_plain)


def openai_plain(problems, schema, where):
    if is_a(schema, "array") and "items" not in schema and "prefixItems" not in schema:
        problems.add(where, "an array needs items")


def openai_strict(problems, schema, where):
    only(problems, schema, where, STRICT_ALLOWED, "{} is not allowed in strict mode")
    if "$ref" in schema:
        if not str(schema["$ref"]).startswith("#"):
            problems.add(where, "$ref must be local")
        if schema.keys() - ANNOTATIONS:
            problems.add(where, "$ref allows no siblings but annotations")
    elif "type" not in schema and not schema.keys() & {"anyOf", "enum", "const"}:
        problems.add(where, "needs a type")
    if is_a(schema, "object") or "properties" in schema:
        strict_object(problems, schema, where)
    if is_a(schema, "array") and not isinstance(schema.get("items"), dict):
        problems.add(where, "an array needs items, and only one schema of them")
    if "enum" in schema and is_a(schema, "null") and None not in schema["enum"]:
        problems.add(where, "a nullable enum must list null")


def strict_object(problems, schema, where):
    if schema.get("additionalProperties") is not False:
        problems.add(where, "additionalProperties must be false")
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if isinstance(properties, dict) and isinstance(required, list):
        if set(map(str, required)) != properties.keys():
            problems.add(where, "required must list every property and nothing else")


# ---- Anthropic

def check_anthropic(problems, schema, where, strict):
    if root_object(problems, schema, where):
        walk(problems, schema, where, anthropic_strict if strict else anthropic_plain)
        for name in schema["properties"] if isinstance(schema.get("properties"), dict) else ():
            if not ANTHROPIC_NAME.match(name):
                problems.add(f"{where}.properties", "Property keys should match pattern "
                             f"'^[a-zA-Z0-9_.-]{{1,64}}$': {name!r}")


def anthropic_plain(problems, schema, where):
    pass


def anthropic_strict(problems, schema, where):
    if is_a(schema, "object") and schema.get("additionalProperties") is not False:
        problems.add(where, "additionalProperties must be false")
    if "format" in schema and schema["format"] not in ANTHROPIC_FORMATS:
        problems.add(where, f"unsupported format {schema['format']!r}")
    if schema.get("minItems", 0) not in (0, 1):
        problems.add(where, "minItems must be 0 or 1")


# ---- Gemini

def check_gemini_subset(problems, schema, where):
    """parameters and response: OpenAPI, where one unknown key rejects everything."""
    walk(problems, schema, where, gemini_subset)


def gemini_subset(problems, schema, where):
    only(problems, schema, where, GEMINI_SUBSET, 'Unknown name "{}": Cannot find field')
    kind = schema.get("type")
    if not isinstance(kind, str):
        if kind is not None or "anyOf" not in schema:
            problems.add(where, "type must be one string")
        return
    kind = kind.upper()
    if kind == "ARRAY" and "items" not in schema:
        problems.add(where, "items: missing field")
    if kind == "OBJECT":
        missing = set(schema.get("required", ())) - schema.get("properties", {}).keys()
        if missing:
            problems.add(where, f"required property {sorted(missing)[0]!r} is not defined")
    for value in schema.get("enum", ()):
        if not isinstance(value, str) or not value:
            problems.add(where, "enum values must be strings that are not empty")
    if "format" in schema and schema["format"] not in GEMINI_FORMATS.get(kind, ()):
        problems.add(where, f"unsupported format {schema['format']!r}")


def check_gemini_json(problems, schema, where, parameters=True):
    """parametersJsonSchema and responseJsonSchema."""
    if parameters and (not isinstance(schema, dict) or schema.get("type") != "object"):
        problems.add(where, 'must be a schema of type "object"')
        return
    walk(problems, schema, where, gemini_json)
    references(problems, schema, where)


def gemini_json(problems, schema, where):
    only(problems, schema, where, GEMINI_JSON_SCHEMA, "{} is not honoured by Gemini")


# true and false are schemas, too, where JSON Schema itself is spoken.
TAKE_BOOLEANS = (openai_plain, anthropic_plain, gemini_json)
