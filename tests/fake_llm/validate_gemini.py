"""Gemini's generateContent and streamGenerateContent."""
import re

from fake_llm import images
from fake_llm.models import gemini_generation
from fake_llm.schemas import check_gemini_json, check_gemini_subset

PATH = re.compile(r"/v1beta/models/([^/:?]+):(streamGenerateContent|generateContent)"
                  r"(?:\?(.*))?\Z")
FIELDS = frozenset(("contents systemInstruction tools toolConfig safetySettings generationConfig "
                    "cachedContent continuationToken serviceTier store").split())
GENERATION = frozenset((
    "maxOutputTokens temperature topP topK candidateCount stopSequences seed presencePenalty "
    "frequencyPenalty responseMimeType responseSchema responseJsonSchema responseModalities "
    "responseLogprobs logprobs thinkingConfig mediaResolution speechConfig imageConfig "
    "audioTimestamp responseFormat enableEnhancedCivicAnswers").split())
LEVELS = frozenset("MINIMAL LOW MEDIUM HIGH".split())
MODES = frozenset("AUTO ANY NONE VALIDATED".split())
# What the vendor offers for calls that another model made.
PLACEHOLDERS = frozenset(("skip_thought_signature_validator",
                          "context_engineering_is_the_way_to_go"))
BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}\Z")


def check(problems, path, headers, body, dialect):
    model = check_path(problems, path) if path is not None else ""
    if headers is not None:
        problems.credentials(headers, {"x-goog-api-key": ""})
    problems.keys(body, "", FIELDS, ("contents",))
    generation(problems, body.get("generationConfig"), model)
    system(problems, body.get("systemInstruction"))
    tools(problems, body)
    if "contents" in body:
        Contents(problems, body["contents"], gemini_generation(model)).check()


def check_path(problems, path):
    found = PATH.match(path)
    if not found:
        problems.add("path", "must be /v1beta/models/MODEL:streamGenerateContent?alt=sse")
        return ""
    for option in (found[3] or "").split("&") if found[3] else ():
        name = option.partition("=")[0]
        if name == "key":
            problems.add("path", "the key belongs into x-goog-api-key")
        elif option != "alt=sse" or found[2] != "streamGenerateContent":
            problems.add("path", f"unknown parameter {name!r}")
    return found[1]


def generation(problems, config, model):
    if config is None or not problems.keys(config, "generationConfig", GENERATION):
        return
    if "maxOutputTokens" in config:
        problems.integer(config["maxOutputTokens"], "generationConfig.maxOutputTokens", 1)
    if "temperature" in config:
        problems.number(config["temperature"], "generationConfig.temperature", 0, 2)
    if "stopSequences" in config:
        problems.texts(config["stopSequences"], "generationConfig.stopSequences", 5)
    thinking = config.get("thinkingConfig")
    where = "generationConfig.thinkingConfig"
    if thinking is not None and problems.keys(
            thinking, where, {"includeThoughts", "thinkingLevel", "thinkingBudget"}):
        check_thinking(problems, thinking, where, model)


def check_thinking(problems, thinking, where, model):
    level, budget = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    if level is not None and budget is not None:
        problems.add(where, "thinkingLevel and thinkingBudget exclude each other")
    if "includeThoughts" in thinking:
        problems.flag(thinking["includeThoughts"], f"{where}.includeThoughts")
    if level is not None:
        argon = model.startswith("gemini-4-argon")
        problems.one_of(level, f"{where}.thinkingLevel", LEVELS - ({"MINIMAL"} if argon else set()))
    if budget is not None:
        problems.integer(budget, f"{where}.thinkingBudget", -1)
        if budget == 0 and thinking.get("includeThoughts"):
            problems.add(f"{where}.includeThoughts", "is only enabled when thinking is enabled")
    generation_of = gemini_generation(model)
    if level is not None and 0 < generation_of < 3:
        problems.add(f"{where}.thinkingLevel", f"{model} knows only thinkingBudget")
    if budget is not None and generation_of >= 3:
        problems.add(f"{where}.thinkingBudget", f"{model} wants thinkingLevel")


def system(problems, value):
    if value is None:
        return
    if not problems.keys(value, "systemInstruction", {"parts", "role"}, ("parts",)):
        return
    for n, part in enumerate(problems.items(value.get("parts"), "systemInstruction.parts")):
        where = f"systemInstruction.parts[{n}]"
        if problems.keys(part, where, {"text"}, ("text",)):
            problems.text(part.get("text"), f"{where}.text")


# ---- tools

TOOL = frozenset(("functionDeclarations googleSearch codeExecution urlContext googleMaps "
                  "fileSearch computerUse").split())
DECLARATION = frozenset(("name description parameters parametersJsonSchema response "
                         "responseJsonSchema behavior").split())


def tools(problems, body):
    names = []
    if "tools" in body:
        for n, tool in enumerate(problems.items(body["tools"], "tools")):
            where = f"tools[{n}]"
            if problems.keys(tool, where, TOOL):
                declarations(problems, tool, where, names)
        if len(set(map(str, names))) != len(names):
            problems.add("tools", "names must differ")
    if "toolConfig" in body:
        tool_config(problems, body["toolConfig"], names, "tools" in body)


def declarations(problems, tool, where, names):
    if not tool:
        problems.add(where, "must not be empty")
    if "functionDeclarations" not in tool:
        return
    where += ".functionDeclarations"
    for n, function in enumerate(problems.items(tool["functionDeclarations"], where)):
        place = f"{where}[{n}]"
        if problems.keys(function, place, DECLARATION, ("name", "description")):
            names.append(function.get("name"))
            problems.name(function.get("name"), f"{place}.name")
            problems.text(function.get("description", "x"), f"{place}.description")
            declared_schemas(problems, function, place)


def declared_schemas(problems, function, where):
    for plain, json_schema in (("parameters", "parametersJsonSchema"),
                               ("response", "responseJsonSchema")):
        if plain in function and json_schema in function:
            problems.add(where, f"{plain} and {json_schema} exclude each other")
        if plain in function:
            check_gemini_subset(problems, function[plain], f"{where}.{plain}")
        if json_schema in function:
            check_gemini_json(problems, function[json_schema], f"{where}.{json_schema}",
                              plain == "parameters")


def tool_config(problems, value, names, with_tools):
    where = "toolConfig.functionCallingConfig"
    if not with_tools:
        problems.add("toolConfig", "only allowed with tools")
    if not problems.keys(value, "toolConfig", {"functionCallingConfig", "retrievalConfig",
                                               "includeServerSideToolInvocations"}):
        return
    config = value.get("functionCallingConfig")
    if config is None or not problems.keys(config, where, {"mode", "allowedFunctionNames"}):
        return
    mode, allowed = config.get("mode", "AUTO"), config.get("allowedFunctionNames")
    problems.one_of(mode, f"{where}.mode", MODES)
    if allowed is None:
        return
    problems.texts(allowed, f"{where}.allowedFunctionNames")
    if mode not in ("ANY", "VALIDATED"):
        problems.add(f"{where}.allowedFunctionNames", "only with mode ANY or VALIDATED")
    for name in allowed if isinstance(allowed, list) else ():
        if name not in names:
            problems.add(f"{where}.allowedFunctionNames", f"{name!r} is not declared")


# ---- contents

DATA = frozenset(("text", "inlineData", "fileData", "functionCall", "functionResponse",
                  "executableCode", "codeExecutionResult"))
PART = DATA | {"thought", "thoughtSignature", "mediaResolution", "videoMetadata", "partMetadata"}


class Contents:
    """Goes through the contents once. A step is a run of contents of the model, which the vendor's
    own client makes of the chunks of one stream. calls: what the step before asks for."""

    def __init__(self, problems, contents, generation):
        self.problems, self.contents, self.generation = problems, contents, generation
        self.images = images.Images(problems, images.GEMINI)
        self.calls = []

    def check(self):
        turn = self.begin_of_turn()
        role = None
        for n, content in enumerate(self.problems.items(self.contents, "contents")):
            where = f"contents[{n}]"
            if not self.problems.keys(content, where, {"role", "parts"}, ("role", "parts")):
                continue
            previous, role = role, content.get("role")
            if role not in ("user", "model"):
                self.problems.add(f"{where}.role", f"must be user or model, is {role!r}")
                continue
            if previous is None and role == "model":
                self.problems.add(where, "the first content must be of the user")
            self.chunk = role == "model" and self.is_chunk(n)
            self.check_content(content.get("parts"), where, role, n > turn)
        self.images.end()
        if self.calls:
            self.problems.add("contents", "calls without their responses at the end")
        if role == "model":
            self.problems.add("contents", "the last content must be of the user")

    def begin_of_turn(self):
        """The index of the last content in which the user says something himself."""
        turn = -1
        for n, content in enumerate(self.contents if isinstance(self.contents, list) else ()):
            if isinstance(content, dict) and content.get("role") == "user":
                parts = content.get("parts")
                if any(isinstance(p, dict) and "functionResponse" not in p for p in
                       (parts if isinstance(parts, list) else ())):
                    turn = n
        return turn

    def is_chunk(self, n):
        """Whether this content has one part and stands beside another one of the model."""
        beside = self.contents[max(n - 1, 0):n] + self.contents[n + 1:n + 2]
        parts = self.contents[n].get("parts")
        return isinstance(parts, list) and len(parts) == 1 and any(
            isinstance(c, dict) and c.get("role") == "model" for c in beside)

    def check_content(self, parts, where, role, current):
        responses = []
        for n, part in enumerate(self.problems.items(parts, f"{where}.parts")):
            place = f"{where}.parts[{n}]"
            if not self.part(part, place, role):
                continue
            if "functionResponse" in part:
                responses.append((part["functionResponse"], place))
            elif "functionCall" in part and role == "model":
                first, signed = not self.calls, part.get("thoughtSignature")
                if first and current and self.generation >= 3 and not signed:
                    self.problems.add(place, "Function call is missing a thought_signature")
                self.calls.append(part["functionCall"])
        if role == "user" and (self.calls or responses):
            self.pairs(responses, where)
            self.calls = []

    def pairs(self, responses, where):
        """One response per call, in order, names and ids repeated."""
        if len(responses) != len(self.calls):
            self.problems.add(where, "the number of function response parts must equal the number "
                              f"of function call parts: {len(responses)} for {len(self.calls)}")
            return
        for call, (response, place) in zip(self.calls, responses):
            if not isinstance(call, dict) or not isinstance(response, dict):
                continue
            if response.get("name") != call.get("name"):
                self.problems.add(f"{place}.functionResponse.name",
                                  f"must be {call.get('name')!r}")
            if response.get("id") != call.get("id"):
                self.problems.add(f"{place}.functionResponse.id",
                                  f"must be that of the call: {call.get('id')!r}")

    def part(self, part, where, role):
        problems = self.problems
        if not problems.keys(part, where, PART):
            return False
        data = part.keys() & DATA
        if len(data) != 1:
            problems.add(where, "must have exactly one kind of data")
            return False
        signature = part.get("thoughtSignature")
        if "thoughtSignature" in part:
            self.signature(signature, where, role)
        if "thought" in part:
            problems.flag(part["thought"], f"{where}.thought")
        if "text" in part:
            problems.text(part["text"], f"{where}.text", empty=signature or self.chunk)
        elif "functionCall" in part:
            self.function_call(part["functionCall"], f"{where}.functionCall", role)
        elif "functionResponse" in part:
            self.function_response(part["functionResponse"], f"{where}.functionResponse", role)
        elif "inlineData" in part:
            self.inline_data(part["inlineData"], f"{where}.inlineData")
        return True

    def inline_data(self, data, where):
        if self.problems.keys(data, where, {"mimeType", "data", "displayName"},
                              ("mimeType", "data")):
            self.images.check(data.get("mimeType"), data.get("data"), where)

    def signature(self, value, where, role):
        if not isinstance(value, str) or not value:
            self.problems.add(f"{where}.thoughtSignature", "must be a string that is not empty")
        elif value not in PLACEHOLDERS and not BASE64.match(value):
            self.problems.add(f"{where}.thoughtSignature", "Base64 decoding failed")
        elif role != "model":
            self.problems.add(f"{where}.thoughtSignature", "only the model has thoughts")

    def function_call(self, call, where, role):
        problems = self.problems
        if role != "model":
            problems.add(where, "only the model calls functions")
        if problems.keys(call, where, {"id", "name", "args"}, ("name",)):
            problems.name(call.get("name"), f"{where}.name")
            if not isinstance(call.get("args", {}), dict):
                problems.add(f"{where}.args", "must be an object")
            if "id" in call:
                problems.text(call["id"], f"{where}.id")

    def function_response(self, response, where, role):
        problems = self.problems
        if role != "user":
            problems.add(where, "responses belong into a content of the user")
        if problems.keys(response, where, {"id", "name", "response", "parts"},
                         ("name", "response")):
            if not isinstance(response.get("response"), dict):
                problems.add(f"{where}.response", "must be an object")
            if "parts" in response and self.generation < 3:
                problems.add(f"{where}.parts", "Multimodal function responses need Gemini 3")
            elif "parts" in response:
                for n, part in enumerate(problems.items(response["parts"], f"{where}.parts")):
                    place = f"{where}.parts[{n}]"
                    if problems.keys(part, place, {"inlineData"}, ("inlineData",)):
                        self.inline_data(part["inlineData"], f"{place}.inlineData")
