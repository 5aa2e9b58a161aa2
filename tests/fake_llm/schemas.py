"""Rules for the schemas of tools: what each vendor accepts."""
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
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if isinstance(schema.get(key), list):
            for number, value in enumerate(schema[key]):
                yield value, f"{where}.{key}[{number}]"
    for key in ("$defs", "definitions"):
        if isinstance(schema.get(key), dict):
            for name, value in schema[key].items():
                yield value, f"{where}.{key}.{name}"
    if isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"], f"{where}.additionalProperties"


def walk(problems, schema, where, check):
    """check(problems, schema, where) for a schema and all below it."""
    if not isinstance(schema, dict):
        if not isinstance(schema, bool) or check not in TAKE_BOOLEANS:
            problems.add(where, "is no schema")
        return
    if shape(problems, schema, where):
        check(problems, schema, where)
    if not schema.keys() <= LEAF:
        for value, place in children(schema, where):
            walk(problems, value, place, check)


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
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            problems.add(where, f"{key} is not allowed at the root")
    return True


# ---- OpenAI

def check_openai(problems, schema, where, strict):
    if root_object(problems, schema, where):
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


def gemini_json(problems, schema, where):
    only(problems, schema, where, GEMINI_JSON_SCHEMA, "{} is not honoured by Gemini")


# true and false are schemas, too, where JSON Schema itself is spoken.
TAKE_BOOLEANS = (openai_plain, anthropic_plain, gemini_json)
