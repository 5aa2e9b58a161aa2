"""Anthropic's Messages."""
import re

from fake_llm import images
from fake_llm.schemas import check_anthropic

VERSIONS = ("2026-10-21", "2023-06-01")
BETAS = frozenset((
    "interleaved-thinking-2025-05-14 context-1m-2025-08-07 context-management-2025-06-27 "
    "compact-2026-09-04 thinking-binding-controls-2026-08-01 thinking-display-updates-2026-08-18 "
    "cache-diagnosis-2026-04-07 fast-mode-2026-02-01").split())
FIELDS = frozenset((
    "model messages max_tokens system stream tools tool_choice thinking output_config "
    "cache_control stop_sequences metadata service_tier speed inference_geo container "
    "diagnostics user_profile_id workspace_id temperature top_p top_k").split())
SAMPLING = ("temperature", "top_p", "top_k")
TYPES = {
    "model": ("text",), "max_tokens": ("integer", 0), "stream": ("flag",),
    "temperature": ("number", 0, 1), "top_p": ("number", 0, 1), "top_k": ("integer", 0),
    "stop_sequences": ("texts",),
    "service_tier": ("one_of", frozenset(("auto", "standard_only"))),
    "speed": ("one_of", frozenset(("standard", "fast"))),
}
EFFORTS = frozenset("low medium high xhigh max".split())
ID = re.compile(r"[A-Za-z0-9_-]+\Z")

ALWAYS_THINKS = re.compile(r"claude-(fable-5-1|opus-5-5)")
NEVER_FORCED = re.compile(r"claude-(fable-5-1|opus-5-5|sonnet-5-5)")
ONLY_MANUAL = re.compile(r"claude-(3|(haiku|sonnet|opus)-4-[0-5]\b)")
# Opus from 4.8 on takes system messages in the middle, and so do all later families.
SYSTEM_LATER = re.compile(r"claude-(opus-4-[89]|[a-z]+-[5-9])")


def check(problems, path, headers, body, dialect):
    if path is not None and path.partition("?")[0] != "/v1/messages":
        problems.add("path", "must be /v1/messages")
    version = VERSIONS[0]
    if headers is not None:
        version = check_headers(problems, headers)
    problems.keys(body, "", FIELDS, ("model", "messages", "max_tokens"))
    problems.fields(body, TYPES)
    if version == VERSIONS[0]:
        for key in SAMPLING:
            if key in body:
                problems.add(key, f"not accepted by version {version}")
    model = body["model"] if isinstance(body.get("model"), str) else ""
    marks = Marks(problems)
    tools(problems, body, model, marks)
    system(problems, body, marks)
    thinking(problems, body, model)
    options(problems, body)
    if "messages" in body:
        Messages(problems, body["messages"], model, version, marks).check()
    if "cache_control" in body:
        marks.look(body, "")
    marks.check()


def check_headers(problems, headers):
    problems.credentials(headers, {"x-api-key": "", "authorization": "Bearer "})
    version = headers.get("anthropic-version")
    if version not in VERSIONS:
        problems.add("anthropic-version", f"must be one of {', '.join(VERSIONS)}, is {version!r}")
    betas = headers.get("anthropic-beta")
    for name in betas.split(",") if betas else ():
        if name.strip() not in BETAS:
            problems.add("anthropic-beta", f"Unexpected value {name.strip()!r}")
    return version


class Marks:
    """Counts cache_control, wherever it is."""

    def __init__(self, problems):
        self.problems, self.count, self.short = problems, 0, None

    def look(self, block, where):
        mark = block.get("cache_control")
        if mark is None:
            return
        place = f"{where}.cache_control" if where else "cache_control"
        if not self.problems.keys(mark, place, {"type", "ttl"}, ("type",)):
            return
        self.count += 1
        self.problems.one_of(mark.get("type"), f"{place}.type", {"ephemeral"})
        if "ttl" in mark:
            self.problems.one_of(mark["ttl"], f"{place}.ttl", {"5m", "1h"})
        if mark.get("ttl") == "1h" and self.short and where:
            self.problems.add(place, f"a mark of 1h must not come after one of 5m ({self.short})")
        if mark.get("ttl") != "1h":
            self.short = place

    def check(self):
        if self.count > 4:
            self.problems.add("cache_control", f"at most 4 marks, there are {self.count}")


# ---- tools

TOOL = frozenset(("type name description input_schema strict cache_control eager_input_streaming "
                  "defer_loading input_examples allowed_callers").split())


def tools(problems, body, model, marks):
    if "tools" not in body:
        if "tool_choice" in body:
            problems.add("tool_choice", "only allowed with tools")
        return
    names = []
    for n, tool in enumerate(problems.items(body["tools"], "tools")):
        where = f"tools[{n}]"
        if problems.keys(tool, where, TOOL, ("name", "input_schema")):
            names.append(tool.get("name"))
            one_tool(problems, tool, where)
            marks.look(tool, where)
    if len(set(map(str, names))) != len(names):
        problems.add("tools", "names must differ")
    if "tool_choice" in body:
        choice(problems, body["tool_choice"], names, body.get("thinking"), model)


def one_tool(problems, tool, where):
    if tool.get("type") not in (None, "custom"):
        problems.add(f"{where}.type", "must be custom")
    problems.name(tool.get("name"), f"{where}.name")
    if "description" in tool:
        problems.text(tool["description"], f"{where}.description", empty=True)
    if "strict" in tool:
        problems.flag(tool["strict"], f"{where}.strict")
    if "input_schema" in tool:
        check_anthropic(problems, tool["input_schema"], f"{where}.input_schema",
                        tool.get("strict") is True)


CHOICES = {"auto": {"type", "disable_parallel_tool_use"},
           "any": {"type", "disable_parallel_tool_use"},
           "tool": {"type", "name", "disable_parallel_tool_use"}, "none": {"type"}}


def choice(problems, value, names, thinking_config, model):
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in CHOICES:
        problems.add("tool_choice", "must be an object of type auto, any, tool or none")
        return
    problems.keys(value, "tool_choice", CHOICES[kind])
    if kind == "tool" and value.get("name") not in names:
        problems.add("tool_choice.name", "is not in tools")
    if kind in ("any", "tool"):
        mode = thinking_config.get("type") if isinstance(thinking_config, dict) else None
        if NEVER_FORCED.match(model) or mode in ("adaptive", "enabled"):
            problems.add("tool_choice", "cannot be forced while the model thinks")


# ---- what is not a message

def system(problems, body, marks):
    value = body.get("system")
    if value is None or isinstance(value, str):
        return
    for n, block in enumerate(problems.items(value, "system")):
        where = f"system[{n}]"
        if not isinstance(block, dict) or block.get("type") != "text":
            problems.add(where, "must be a text block")
            continue
        problems.keys(block, where, TEXT, ("text",))
        nonempty(problems, block.get("text"), f"{where}.text")
        marks.look(block, where)


THINKING = {"adaptive": {"type", "display", "block_binding"},
            "enabled": {"type", "budget_tokens", "display", "block_binding"},
            "between_tools": {"type"}, "disabled": {"type"}}


def thinking(problems, body, model):
    value = body.get("thinking")
    if value is None:
        return
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in THINKING:
        problems.add("thinking", f"must be an object of type {', '.join(THINKING)}")
        return
    problems.keys(value, "thinking", THINKING[kind])
    if value.get("display") is not None:
        problems.one_of(value["display"], "thinking.display", {"summarized", "omitted"})
    if kind == "enabled":
        budget, most = value.get("budget_tokens"), body.get("max_tokens")
        problems.integer(budget, "thinking.budget_tokens", 1024)
        if isinstance(budget, int) and isinstance(most, int) and budget >= most:
            problems.add("thinking.budget_tokens", "must be less than max_tokens")
    if kind in ("enabled", "disabled") and ALWAYS_THINKS.match(model):
        problems.add("thinking.type", f"{model} always thinks adaptively")
    if kind in ("adaptive", "between_tools") and ONLY_MANUAL.match(model):
        problems.add("thinking.type", f"{model} knows only enabled and disabled")


def options(problems, body):
    config = body.get("output_config")
    if config is not None and problems.keys(config, "output_config", {"effort", "format"}):
        if config.get("effort") is not None:
            problems.one_of(config["effort"], "output_config.effort", EFFORTS)
    if body.get("metadata") is not None:
        problems.keys(body["metadata"], "metadata", {"user_id"})


# ---- messages

TEXT = frozenset(("type", "text", "cache_control", "citations"))
KEYS = {
    "text": TEXT,
    "thinking": frozenset(("type", "thinking", "signature")),
    "redacted_thinking": frozenset(("type", "data")),
    "tool_use": frozenset(("type", "id", "name", "input", "cache_control", "caller")),
    "tool_result": frozenset(("type", "tool_use_id", "content", "is_error", "cache_control")),
    "image": frozenset(("type", "source", "cache_control")),
    "document": frozenset(("type", "source", "cache_control", "citations", "context", "title")),
    "search_result": frozenset(("type", "content", "source", "title", "cache_control",
                                "citations")),
}
USER = frozenset(("text", "image", "document", "tool_result", "search_result"))
ASSISTANT = frozenset(("text", "thinking", "redacted_thinking", "tool_use"))
RESULT = frozenset(("text", "image", "document", "search_result"))


def nonempty(problems, value, where):
    if not isinstance(value, str):
        problems.add(where, "must be a string")
    elif not value or value.isspace():
        problems.add(where, "text content blocks must contain non-whitespace text")


class Messages:
    """Goes through the messages once. open: ids of the tool_use blocks of the message before."""

    def __init__(self, problems, messages, model, version, marks):
        self.problems, self.messages, self.model = problems, messages, model
        self.version, self.marks = version, marks
        self.open, self.ids = {}, set()
        self.images = images.Images(problems, images.ANTHROPIC)

    def check(self):
        previous = None
        for n, message in enumerate(self.problems.items(self.messages, "messages")):
            where = f"messages[{n}]"
            if not self.problems.keys(message, where, {"role", "content"}, ("role", "content")):
                continue
            role = message.get("role")
            if role == "system":
                self.check_system(message, where, previous)
                continue
            if role not in ("user", "assistant"):
                self.problems.add(where, f"no such role: {role!r}")
                continue
            self.order(where, role, previous)
            self.check_message(message.get("content"), where, role)
            previous = role
        self.settled("messages", self.open)
        self.images.end()
        if previous == "assistant":
            self.problems.add("messages", "must not end with an assistant message (no prefill)")

    def order(self, where, role, previous):
        if previous is None and role != "user":
            self.problems.add(where, "the first message must be of the user")
        if role == previous:
            self.problems.add(where, f"roles must alternate, two in a row are {role}")

    def check_system(self, message, where, previous):
        if not SYSTEM_LATER.match(self.model):
            self.problems.add(where, "this model takes no system message here")
        if previous != "user":
            self.problems.add(where, "a system message must follow one of the user")
        self.blocks(message.get("content"), where, frozenset(("text",)))

    def settled(self, where, open):
        if open:
            self.problems.add(where, "`tool_use` ids were found without `tool_result` blocks "
                              f"immediately after: {', '.join(sorted(open))}")

    def check_message(self, content, where, role):
        waiting, self.open = self.open, {}
        self.waiting, self.others = waiting, False
        self.blocks(content, where, USER if role == "user" else ASSISTANT)
        self.settled(where, waiting)

    def blocks(self, content, where, allowed):
        where = f"{where}.content"
        if isinstance(content, str):
            nonempty(self.problems, content, where)
            return
        for n, block in enumerate(self.problems.items(content, where)):
            place = f"{where}[{n}]"
            kind = block.get("type") if isinstance(block, dict) else None
            if not isinstance(kind, str) or kind not in allowed:
                self.problems.add(place, f"no such block here: {kind!r}")
                continue
            self.problems.keys(block, place, KEYS[kind])
            getattr(self, f"check_{kind}")(block, place)
            if "cache_control" in block:
                self.marks.look(block, place)
            if kind != "tool_result":
                self.others = True

    def check_text(self, block, where):
        nonempty(self.problems, block.get("text"), f"{where}.text")
        if block.get("citations") and self.version == VERSIONS[0]:
            self.problems.add(f"{where}.citations", "not accepted here")

    def check_thinking(self, block, where):
        self.problems.text(block.get("thinking"), f"{where}.thinking", empty=True)
        self.problems.text(block.get("signature"), f"{where}.signature")

    def check_redacted_thinking(self, block, where):
        self.problems.text(block.get("data"), f"{where}.data")

    def check_tool_use(self, block, where):
        problems, value = self.problems, block.get("id")
        if not isinstance(value, str) or not ID.match(value):
            problems.add(f"{where}.id", f"must match ^[A-Za-z0-9_-]+$: {value!r}")
        elif value in self.ids:
            problems.add(f"{where}.id", f"`tool_use` ids must be unique: {value!r}")
        else:
            self.ids.add(value)
            self.open[value] = where
        problems.name(block.get("name"), f"{where}.name")
        if not isinstance(block.get("input"), dict):
            problems.add(f"{where}.input", "must be an object")

    def check_tool_result(self, block, where):
        problems, value = self.problems, block.get("tool_use_id")
        if not isinstance(value, str) or self.waiting.pop(value, None) is None:
            problems.add(f"{where}.tool_use_id", f"unexpected `tool_use_id` {value!r}: no such "
                         "`tool_use` block in the previous message, or answered before")
        if self.others:
            problems.add(where, "tool_result blocks must come first")
        if "is_error" in block:
            problems.flag(block["is_error"], f"{where}.is_error")
        content = block.get("content")
        if block.get("is_error") is True and not content:
            problems.add(f"{where}.content", "cannot be empty if `is_error` is true")
        if isinstance(content, list):
            others = self.others
            self.blocks(content, where, RESULT)
            self.others = others
        elif content is not None and not isinstance(content, str):
            problems.add(f"{where}.content", "must be a string or an array of blocks")

    def check_image(self, block, where):
        source = block.get("source")
        if not isinstance(source, dict):
            self.problems.add(f"{where}.source", "must be an object")
        elif source.get("type") == "base64":
            self.problems.keys(source, f"{where}.source", {"type", "media_type", "data"})
            self.problems.one_of(source.get("media_type"), f"{where}.source.media_type",
                                 images.ANTHROPIC)
            self.images.check(source.get("media_type"), source.get("data"),
                              f"{where}.image.source.base64")

    def check_document(self, block, where):
        if not isinstance(block.get("source"), dict):
            self.problems.add(f"{where}.source", "must be an object")

    def check_search_result(self, block, where):
        for key in ("title", "source"):
            self.problems.text(block.get(key), f"{where}.{key}")
