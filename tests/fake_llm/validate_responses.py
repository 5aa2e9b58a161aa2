"""OpenAI's Responses, used without anything stored: each request carries the whole history."""

from fake_llm import images
from fake_llm.models import reasons
from fake_llm.schemas import check_openai
from fake_llm.validate_chat import EFFORTS, NO_EFFORT_NONE

FIELDS = frozenset((
    "model input instructions stream stream_options store include reasoning tools tool_choice "
    "parallel_tool_calls max_output_tokens max_tool_calls text truncation context_management "
    "prompt_cache_key prompt_cache_options prompt_cache_retention service_tier safety_identifier "
    "metadata temperature top_p top_logprobs user background conversation previous_response_id "
    "prompt moderation access_programs image").split())
INCLUDABLE = frozenset((
    "reasoning.encrypted_content message.output_text.logprobs message.input_image.image_url "
    "file_search_call.results web_search_call.results web_search_call.action.sources "
    "code_interpreter_call.outputs computer_call_output.output.image_url").split())

TYPES = {
    "model": ("text",), "instructions": ("text", True), "stream": ("flag",), "store": ("flag",),
    "parallel_tool_calls": ("flag",), "max_output_tokens": ("integer", 16),
    "max_tool_calls": ("integer", 1), "truncation": ("one_of", frozenset(("auto", "disabled"))),
    "prompt_cache_key": ("text",), "safety_identifier": ("text",),
    "temperature": ("number", 0, 2), "top_p": ("number", 0, 1), "background": ("flag",),
    "service_tier": ("one_of", frozenset("auto default flex scale priority fast".split())),
}


def check(problems, path, headers, body, dialect):
    if path is not None and not path.partition("?")[0].endswith("/responses"):
        problems.add("path", "must be /v1/responses")
    if headers is not None:
        problems.credentials(headers, {"authorization": "Bearer "})
    problems.keys(body, "", FIELDS, ("model", "input"))
    problems.fields(body, TYPES)
    options(problems, body)
    tools(problems, body)
    if isinstance(body.get("input"), list):
        Items(problems, body["input"]).check()
    elif "input" in body:
        problems.text(body["input"], "input")


def options(problems, body):
    for key in ("previous_response_id", "conversation"):
        if body.get(key) is not None:
            problems.add(key, "nothing was stored that it could name")
    if body.get("stream_options") is not None:
        problems.keys(body["stream_options"], "stream_options", {"include_obfuscation"})
        if not body.get("stream"):
            problems.add("stream_options", "only allowed when stream is true")
    if body.get("include") is not None:
        for n, name in enumerate(problems.items(body["include"], "include")):
            problems.one_of(name, f"include[{n}]", INCLUDABLE)
    reasoning(problems, body)
    text = body.get("text")
    if text is not None and problems.keys(text, "text", {"format", "verbosity"}):
        if text.get("verbosity") is not None:
            problems.one_of(text["verbosity"], "text.verbosity", {"low", "medium", "high"})


def reasoning(problems, body):
    value, effort = body.get("reasoning"), None
    if value is not None and problems.keys(
            value, "reasoning", {"effort", "summary", "context", "mode", "generate_summary"}):
        effort = value.get("effort")
        for key, allowed in (("effort", EFFORTS), ("summary", {"auto", "concise", "detailed"}),
                             ("context", {"auto", "current_turn", "all_turns"})):
            if value.get(key) is not None:
                problems.one_of(value[key], f"reasoning.{key}", allowed)
    model = body.get("model")
    if not isinstance(model, str) or not reasons(model):
        return
    if NO_EFFORT_NONE.match(model) and effort in ("none", "minimal"):
        problems.add("reasoning.effort", f"{model} does not know {effort}")
    for key in ("temperature", "top_p"):
        if body.get(key) is not None and effort != "none":
            problems.add(key, f"not supported with {model} unless the effort is none")


# ---- tools

TOOL = frozenset(("type name description parameters strict async allowed_callers defer_loading "
                  "output_schema").split())


def tools(problems, body):
    if "tools" not in body:
        for key in ("tool_choice", "parallel_tool_calls"):
            if key in body:
                problems.add(key, "only allowed with tools")
        return
    names = []
    for n, tool in enumerate(problems.items(body["tools"], "tools")):
        where = f"tools[{n}]"
        if problems.keys(tool, where, TOOL, ("type", "name", "parameters", "strict")):
            names.append(tool.get("name"))
            one_tool(problems, tool, where)
    if len(set(map(str, names))) != len(names):
        problems.add("tools", "names must differ")
    choice(problems, body.get("tool_choice"), names)


def one_tool(problems, tool, where):
    if tool.get("type") != "function":
        problems.add(f"{where}.type", "must be function")
    problems.name(tool.get("name"), f"{where}.name")
    if tool.get("description") is not None:
        problems.text(tool["description"], f"{where}.description", empty=True)
    strict = tool.get("strict")
    if strict is not None:
        problems.flag(strict, f"{where}.strict")
    if tool.get("parameters") is not None:
        check_openai(problems, tool["parameters"], f"{where}.parameters", strict is True)


def choice(problems, value, names):
    if value is None or value in ("auto", "none", "required"):
        return
    if isinstance(value, dict) and value.get("type") == "allowed_tools":
        problems.keys(value, "tool_choice", {"type", "mode", "tools"}, ("mode", "tools"))
    elif isinstance(value, str):
        problems.add("tool_choice", f"must be auto, none, required or a function, is {value!r}")
    elif problems.keys(value, "tool_choice", {"type", "name"}, ("type", "name")):
        if value.get("name") not in names:
            problems.add("tool_choice.name", "is not in tools")


# ---- items

STATUS = frozenset(("in_progress", "completed", "incomplete"))
INPUT_PARTS = {"input_text": "text", "input_image": "image_url", "input_file": "file_data"}
PART_KEYS = {
    "input_text": frozenset(("type", "text", "prompt_cache_breakpoint")),
    "input_image": frozenset(("type", "image_url", "file_id", "detail", "prompt_cache_breakpoint")),
    "input_file": frozenset(("type", "file_data", "file_id", "file_url", "filename",
                             "prompt_cache_breakpoint")),
    "output_text": frozenset(("type", "text", "annotations", "logprobs")),
    "refusal": frozenset(("type", "refusal")),
}
MESSAGE = frozenset(("type", "role", "content", "id", "status"))
ASSISTANT = MESSAGE | {"phase"}
REASONING = frozenset(("type", "id", "summary", "content", "encrypted_content", "status"))
CALL = frozenset(("type", "id", "call_id", "name", "arguments", "status", "namespace", "caller",
                  "async"))
OUTPUT = frozenset(("type", "id", "call_id", "output", "status"))


class Items:
    """Goes through the input once. open: calls without an output so far."""

    def __init__(self, problems, items):
        self.problems, self.items = problems, items
        self.open, self.seen, self.ids = {}, set(), set()
        self.images = images.Images(problems, images.OPENAI, animated=False)
        self.answering = False  # outputs have begun to come

    def check(self):
        last = None
        for n, item in enumerate(self.problems.items(self.items, "input")):
            where = f"input[{n}]"
            if not isinstance(item, dict):
                self.problems.add(where, "must be an object")
                continue
            last = kind_of(item)
            check = ITEM_CHECKS.get(last)
            if check is None:
                self.problems.add(where, f"no such item: {last!r}")
                continue
            self.order(last, where)
            getattr(self, check)(item, where, n)
            self.identity(item, where, last)
        self.settled("input")
        self.images.end()
        if last in ("assistant", "function_call", "reasoning"):
            self.problems.add("input", "the last item must be of the user or an output of a tool")

    def order(self, kind, where):
        """Outputs directly follow the response whose calls they answer."""
        if kind == "function_call_output":
            self.answering = True
            return
        if self.open and (self.answering or kind == "user"):
            self.settled(where)
        self.answering = False

    def settled(self, where):
        if self.open:
            self.problems.add(where, "No tool output found for function call "
                              + ", ".join(sorted(self.open)))
            self.open = {}

    def identity(self, item, where, kind):
        value, prefix = item.get("id"), PREFIXES.get(kind)
        if value is None or prefix is None:
            return
        if not isinstance(value, str) or not value.startswith(prefix):
            self.problems.add(f"{where}.id", f"must begin with {prefix}")
        elif value in self.ids:
            self.problems.add(f"{where}.id", f"Duplicate item found with id {value}")
        self.ids.add(str(value))

    def check_user(self, item, where, n):
        self.problems.keys(item, where, MESSAGE, ("role", "content"))
        self.content(item.get("content"), f"{where}.content", INPUT_PARTS)

    def check_assistant(self, item, where, n):
        problems = self.problems
        problems.keys(item, where, ASSISTANT, ("role", "content"))
        self.content(item.get("content"), f"{where}.content", ("output_text", "refusal"))
        if item.get("phase") is not None:
            problems.one_of(item["phase"], f"{where}.phase", {"commentary", "final_answer"})
        self.status(item, where)

    def check_reasoning(self, item, where, n):
        problems = self.problems
        problems.keys(item, where, REASONING, ("id", "summary"))
        problems.text(item.get("id"), f"{where}.id")
        summary = item.get("summary")
        if not isinstance(summary, list):
            problems.add(f"{where}.summary", "must be an array")
            summary = ()
        for k, part in enumerate(summary):
            place = f"{where}.summary[{k}]"
            if problems.keys(part, place, {"type", "text"}, ("type", "text")):
                problems.one_of(part.get("type"), f"{place}.type", {"summary_text"})
                problems.text(part.get("text"), f"{place}.text", empty=True)
        if not item.get("encrypted_content"):
            problems.add(where, f"Item '{item.get('id')}' not found: nothing was stored, and it "
                         "has no encrypted_content")
        following = self.items[n + 1] if n + 1 < len(self.items) else None
        if kind_of(following) not in ("assistant", "function_call", "reasoning"):
            problems.add(where, f"Item '{item.get('id')}' of type 'reasoning' was provided without "
                         "its required following item")

    def check_call(self, item, where, n):
        problems = self.problems
        problems.keys(item, where, CALL, ("call_id", "name", "arguments"))
        problems.name(item.get("name"), f"{where}.name")
        problems.arguments(item.get("arguments"), f"{where}.arguments")
        self.status(item, where)
        call = item.get("call_id")
        if not isinstance(call, str) or not 1 <= len(call) <= 64:
            problems.add(f"{where}.call_id", f"must have 1 to 64 characters: {call!r}")
        elif call in self.seen:
            problems.add(f"{where}.call_id", f"{call!r} is used twice")
        else:
            self.seen.add(call)
            self.open[call] = where

    def check_output(self, item, where, n):
        problems = self.problems
        problems.keys(item, where, OUTPUT, ("call_id", "output"))
        if not isinstance(item.get("call_id"), str) or not self.open.pop(item["call_id"], None):
            problems.add(f"{where}.call_id", "No tool call found for function call output with "
                         f"call_id {item.get('call_id')}")
        self.content(item.get("output"), f"{where}.output", INPUT_PARTS)

    def check_compaction(self, item, where, n):
        self.problems.keys(item, where, {"type", "id", "encrypted_content"}, ("encrypted_content",))

    def status(self, item, where):
        if item.get("status") is not None:
            self.problems.one_of(item["status"], f"{where}.status", STATUS)

    def content(self, value, where, allowed):
        if isinstance(value, str):
            return
        if not isinstance(value, list):
            self.problems.add(where, "must be a string or an array of parts")
            return
        for n, part in enumerate(self.problems.items(value, where)):
            kind = part.get("type") if isinstance(part, dict) else None
            place = f"{where}[{n}]"
            if not isinstance(kind, str) or kind not in allowed:
                self.problems.add(place, f"Invalid value: {kind!r}. Supported values are: "
                                  + ", ".join(sorted(allowed)))
                continue
            self.problems.keys(part, place, PART_KEYS[kind])
            self.part(part, place, kind)

    def part(self, part, where, kind):
        if kind in ("input_text", "output_text"):
            self.problems.text(part.get("text"), f"{where}.text", empty=True)
        if kind == "output_text" and not isinstance(part.get("annotations", []), list):
            self.problems.add(f"{where}.annotations", "must be an array")
        if kind == "refusal":
            self.problems.text(part.get("refusal"), f"{where}.refusal")
        if kind == "input_image" and not part.get("image_url") and not part.get("file_id"):
            self.problems.add(where, "needs image_url or file_id")
        elif kind == "input_image" and "image_url" in part:
            self.images.url(part["image_url"], f"{where}.image_url")
        if kind == "input_image" and "detail" in part:
            self.problems.one_of(part["detail"], f"{where}.detail",
                                 {"auto", "low", "high", "original"})


def kind_of(item):
    """The type of an item; messages are told apart by their role."""
    if not isinstance(item, dict):
        return None
    kind = item.get("type", "message")
    if kind == "message":
        role = item.get("role")
        kind = "user" if role in ("user", "system", "developer") else role
    return kind if isinstance(kind, str) else None


ITEM_CHECKS = {"user": "check_user", "assistant": "check_assistant",
               "reasoning": "check_reasoning", "function_call": "check_call",
               "function_call_output": "check_output", "compaction": "check_compaction"}
PREFIXES = {"assistant": "msg_", "reasoning": "rs_", "function_call": "fc_"}
