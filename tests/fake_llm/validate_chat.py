"""Chat Completions: OpenAI itself and three dialects of its imitators.

    openai    everything OpenAI documents
    plain     a server that knows the old core: system, not developer; no strict, nothing of
              OpenAI's own
    mistral   unknown fields are refused, ids are [A-Za-z0-9]{9}, an assistant speaks after a tool
    deepseek  plain, and reasoning_content comes back with its calls
"""
import re
from dataclasses import dataclass

from fake_llm import images
from fake_llm.models import openai_version, reasons
from fake_llm.schemas import check_openai

EFFORTS = frozenset("none minimal low medium high xhigh max".split())

CORE = frozenset(("model messages stream tools tool_choice parallel_tool_calls temperature top_p "
                  "stop seed response_format presence_penalty frequency_penalty n").split())
OPENAI = CORE | frozenset((
    "stream_options max_tokens max_completion_tokens reasoning_effort verbosity audio logit_bias "
    "logprobs top_logprobs metadata modalities moderation prediction prompt_cache_key "
    "prompt_cache_options prompt_cache_retention safety_identifier service_tier store user "
    "web_search_options").split())
PLAIN = CORE | frozenset(("stream_options max_tokens max_completion_tokens reasoning_effort "
                          "reasoning logit_bias logprobs top_logprobs user").split())
MISTRAL = (CORE - {"seed"}) | frozenset(
    "max_tokens random_seed safe_prompt prompt_mode prediction reasoning_effort".split())
DEEPSEEK = (CORE - {"seed", "n"}) | frozenset(
    "stream_options max_tokens thinking reasoning_effort logprobs top_logprobs user_id".split())

ASSISTANT = frozenset(("role", "content", "tool_calls"))


@dataclass(frozen=True)
class Dialect:
    fields: frozenset
    roles: frozenset
    assistant: frozenset  # keys of an assistant message
    key: bool = True  # whether there must be an API key
    strict: bool = False
    call_id: re.Pattern = re.compile(r".+\Z", re.S)
    call: frozenset = frozenset(("id", "type", "function"))


ROLES = frozenset(("system", "user", "assistant", "tool"))
DIALECTS = {
    "openai": Dialect(OPENAI, ROLES | {"developer"}, ASSISTANT | {"refusal", "name", "audio"},
                      strict=True, call_id=re.compile(r".{1,40}\Z", re.S)),
    "plain": Dialect(PLAIN, ROLES, ASSISTANT | {"reasoning_content", "reasoning",
                                                "reasoning_details", "name"}, key=False,
                     call=frozenset(("id", "type", "function", "extra_content"))),
    "mistral": Dialect(MISTRAL, ROLES, ASSISTANT | {"prefix"},
                       call_id=re.compile(r"[A-Za-z0-9]{9}\Z")),
    "deepseek": Dialect(DEEPSEEK, ROLES, ASSISTANT | {"reasoning_content", "name", "prefix"}),
}

FIELDS = {
    "model": ("text",), "stream": ("flag",), "parallel_tool_calls": ("flag",),
    "temperature": ("number", 0, 2), "top_p": ("number", 0, 1), "n": ("integer", 1),
    "max_tokens": ("integer", 1), "max_completion_tokens": ("integer", 1),
    "reasoning_effort": ("one_of", EFFORTS),
    "verbosity": ("one_of", frozenset(("low", "medium", "high"))), "store": ("flag",),
    "prompt_cache_key": ("text",), "safety_identifier": ("text",), "seed": ("integer", -2**63),
    "service_tier": ("one_of", frozenset("auto default flex scale priority fast".split())),
    "presence_penalty": ("number", -2, 2), "frequency_penalty": ("number", -2, 2),
}


def check(problems, path, headers, body, name):
    dialect = DIALECTS[name]
    if path is not None and not path.partition("?")[0].endswith("/chat/completions"):
        problems.add("path", "must be /v1/chat/completions")
    if headers is not None:
        if dialect.key or "authorization" in headers:
            problems.credentials(headers, {"authorization": "Bearer "})
    problems.keys(body, "", dialect.fields, ("model", "messages"))
    problems.fields(body, FIELDS)
    options(problems, body, name)
    tools(problems, body, dialect)
    if "messages" in body:
        Messages(problems, body, name, dialect).check()
    if name == "openai" and isinstance(body.get("model"), str):
        model_rules(problems, body)


def options(problems, body, name):
    stream_options = body.get("stream_options")
    if stream_options is not None:
        allowed = {"include_usage"} | ({"include_obfuscation"} if name == "openai" else set())
        if problems.keys(stream_options, "stream_options", allowed):
            for key, value in stream_options.items():
                problems.flag(value, f"stream_options.{key}")
        if not body.get("stream"):
            problems.add("stream_options", "only allowed when stream is true")
    if "max_tokens" in body and "max_completion_tokens" in body:
        problems.add("max_tokens", "not together with max_completion_tokens")
    stop = body.get("stop")
    if stop is not None and not isinstance(stop, str):
        problems.texts(stop, "stop", 4)
    thinking = body.get("thinking")
    if thinking is not None and problems.keys(thinking, "thinking", {"type"}, ("type",)):
        problems.one_of(thinking.get("type"), "thinking.type", {"enabled", "disabled"})


def model_rules(problems, body):
    """What OpenAI's reasoning models refuse here."""
    model, effort = body["model"], body.get("reasoning_effort")
    if not reasons(model):
        return
    for key in ("temperature", "top_p"):
        if key in body and effort != "none":
            problems.add(key, f"not supported with {model} unless reasoning_effort is none")
    if "max_tokens" in body:
        problems.add("max_tokens", f"not supported with {model}: use max_completion_tokens")
    if "tools" in body:
        tools_and_effort(problems, model, effort)


NO_EFFORT_NONE = re.compile(r"gpt-(6-astra|6\.1-sol)")


def tools_and_effort(problems, model, effort):
    version = openai_version(model)
    if NO_EFFORT_NONE.match(model):
        problems.add("reasoning_effort", f"{model} has no tools here: use /v1/responses")
    elif version >= (5, 6) and effort != "none":
        problems.add("reasoning_effort", f"tools of {model} need none here, or /v1/responses")
    elif (5, 4) <= version < (5, 6) and effort not in (None, "none"):
        problems.add("reasoning_effort", f"{model} refuses it with tools: use /v1/responses")


# ---- tools

def tools(problems, body, dialect):
    if "tools" not in body:
        for key in ("tool_choice", "parallel_tool_calls"):
            if key in body:
                problems.add(key, "only allowed with tools")
        return
    names = []
    for n, tool in enumerate(problems.items(body["tools"], "tools")):
        names.append(one_tool(problems, tool, f"tools[{n}]", dialect))
    if len(set(map(str, names))) != len(names):
        problems.add("tools", "names must differ")
    if len(names) > 128:
        problems.add("tools", "at most 128")
    choice(problems, body.get("tool_choice"), names)


def one_tool(problems, tool, where, dialect):
    if not problems.keys(tool, where, {"type", "function"}, ("type", "function")):
        return None
    if tool.get("type") != "function":
        problems.add(f"{where}.type", "must be function")
    function = tool.get("function")
    where += ".function"
    allowed = {"name", "description", "parameters"} | ({"strict"} if dialect.strict else set())
    if not problems.keys(function, where, allowed, ("name",)):
        return None
    problems.name(function.get("name"), f"{where}.name")
    if "description" in function:
        problems.text(function["description"], f"{where}.description", empty=True)
    if function.get("strict") is not None:
        problems.flag(function["strict"], f"{where}.strict")
    if "parameters" in function:
        check_openai(problems, function["parameters"], f"{where}.parameters",
                     function.get("strict") is True)
    elif function.get("strict") is True:
        problems.add(f"{where}.parameters", "required in strict mode")
    return function.get("name")


def choice(problems, value, names):
    if value is None or value in ("auto", "none", "required", "any"):
        return
    if isinstance(value, dict) and value.get("type") == "allowed_tools":
        problems.keys(value, "tool_choice", {"type", "allowed_tools"}, ("allowed_tools",))
        return
    if isinstance(value, str):
        problems.add("tool_choice", f"must be auto, none, required or a function, is {value!r}")
    elif problems.keys(value, "tool_choice", {"type", "function"}, ("type", "function")):
        function = value.get("function")
        if problems.keys(function, "tool_choice.function", {"name"}, ("name",)):
            if function.get("name") not in names:
                problems.add("tool_choice.function.name", "is not in tools")


# ---- messages

KEYS = {"system": frozenset(("role", "content", "name")), "user": frozenset(("role", "content",
        "name")), "tool": frozenset(("role", "content", "tool_call_id", "name"))}
KEYS["developer"] = KEYS["system"]
NO_NAME = {role: keys - {"name"} for role, keys in KEYS.items()}
TEXT_ONLY = frozenset(("text",))
USER_PARTS = frozenset(("text", "image_url", "input_audio", "file"))
ASSISTANT_PARTS = frozenset(("text", "refusal"))
PART_KEYS = {"text": "text", "image_url": "image_url", "input_audio": "input_audio",
             "file": "file", "refusal": "refusal", "thinking": "thinking"}


class Messages:
    """Goes through the messages once. open holds the ids of calls that wait for their result."""

    def __init__(self, problems, body, name, dialect):
        self.problems, self.body, self.name, self.dialect = problems, body, name, dialect
        self.open = {}
        self.images = images.Images(problems, images.OPENAI, animated=False)
        self.previous = None  # role
        thinking = body.get("thinking")
        self.thinks = not (isinstance(thinking, dict) and thinking.get("type") == "disabled")

    def check(self):
        role = None
        for n, message in enumerate(self.problems.items(self.body["messages"], "messages")):
            where = f"messages[{n}]"
            role = message.get("role") if isinstance(message, dict) else None
            if not isinstance(role, str) or role not in self.dialect.roles:
                self.problems.add(where, f"no such role: {role!r}")
                continue
            self.order(where, role, n)
            getattr(self, ROLE_CHECKS[role])(message, where, role)
            self.previous = role
        self.settled("messages")
        self.images.end()
        if role not in ("user", "tool"):
            self.problems.add("messages", "the last one must be of the user or a tool")

    def settled(self, where):
        if self.open:
            self.problems.add(where, f"no tool message for {', '.join(sorted(self.open))}")
            self.open = {}

    def order(self, where, role, n):
        if role != "tool" and self.open:
            self.settled(where)
        if self.name in ("plain", "mistral") and role == "system" and n > 0:
            self.problems.add(where, "a system message must be the first and only one")
        if self.name == "mistral" and role == "user" and self.previous == "tool":
            self.problems.add(where, "Unexpected role 'user' after role 'tool'")

    def check_plain(self, message, where, role):
        keys = NO_NAME if self.name == "mistral" else KEYS
        self.problems.keys(message, where, keys[role], ("content",))
        allowed = USER_PARTS if role == "user" else TEXT_ONLY
        self.content(message.get("content"), f"{where}.content", allowed)

    def check_tool(self, message, where, role):
        keys = KEYS["tool"] if self.name == "mistral" else NO_NAME["tool"]
        self.problems.keys(message, where, keys, ("content", "tool_call_id"))
        self.content(message.get("content"), f"{where}.content", TEXT_ONLY)
        call = message.get("tool_call_id")
        if not isinstance(call, str) or self.open.pop(call, None) is None:
            self.problems.add(f"{where}.tool_call_id",
                              f"answers no call of the assistant message before it: {call!r}")

    def check_assistant(self, message, where, role):
        problems = self.problems
        problems.keys(message, where, self.dialect.assistant)
        content, calls = message.get("content"), message.get("tool_calls")
        if content is not None:
            allowed = ASSISTANT_PARTS | ({"thinking"} if self.name == "mistral" else set())
            self.content(content, f"{where}.content", allowed)
        if "tool_calls" in message:
            self.calls(calls, f"{where}.tool_calls")
        elif not content and not message.get("refusal"):
            problems.add(where, "must have content or tool_calls")
        for key in ("reasoning_content", "reasoning", "refusal"):
            if message.get(key) is not None:
                problems.text(message[key], f"{where}.{key}", empty=True)
        if self.name == "deepseek" and calls and self.thinks \
                and not isinstance(message.get("reasoning_content"), str):
            problems.add(f"{where}.reasoning_content", "The `reasoning_content` in the thinking "
                         "mode must be passed back to the API.")

    def calls(self, calls, where):
        problems = self.problems
        for n, call in enumerate(problems.items(calls, where)):
            place = f"{where}[{n}]"
            if not problems.keys(call, place, self.dialect.call, ("id", "type", "function")):
                continue
            self.call_id(call.get("id"), f"{place}.id")
            if call.get("type") != "function":
                problems.add(f"{place}.type", "must be function")
            function = call.get("function")
            if problems.keys(function, f"{place}.function", {"name", "arguments"},
                             ("name", "arguments")):
                problems.name(function.get("name"), f"{place}.function.name")
                problems.arguments(function.get("arguments"), f"{place}.function.arguments")

    def call_id(self, value, where):
        if not isinstance(value, str) or not self.dialect.call_id.match(value):
            self.problems.add(where, f"is no id for this API: {value!r}")
        elif value in self.open:
            self.problems.add(where, f"the id {value!r} is used twice")
        else:
            self.open[value] = where

    def content(self, value, where, allowed):
        if isinstance(value, str):
            return
        if not isinstance(value, list):
            self.problems.add(where, "must be a string or an array of parts")
            return
        for n, part in enumerate(self.problems.items(value, where)):
            self.part(part, f"{where}[{n}]", allowed)

    def part(self, part, where, allowed):
        problems = self.problems
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str) or kind not in allowed:
            problems.add(where, f"no such part here: {kind!r}")
            return
        key = PART_KEYS[kind]
        marks = {"prompt_cache_breakpoint"} if self.name == "openai" else set()
        problems.keys(part, where, {"type", key} | marks, (key,))
        if kind in ("text", "refusal"):
            problems.text(part.get(key), f"{where}.{key}", empty=True)
        elif kind == "image_url" and problems.keys(part.get(key), f"{where}.{key}",
                                                   {"url", "detail"}, ("url",)):
            self.images.url(part[key].get("url"), f"{where}.{key}.url")
            if "detail" in part[key]:
                problems.one_of(part[key]["detail"], f"{where}.{key}.detail",
                                {"auto", "low", "high"})


ROLE_CHECKS = {"system": "check_plain", "developer": "check_plain", "user": "check_plain",
               "assistant": "check_assistant", "tool": "check_tool"}
