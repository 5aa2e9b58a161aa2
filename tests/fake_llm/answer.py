"""What the fake model says, written once and rendered for whichever API is asked (render.py).

A script is a list of Answer, Failure (an HTTP error in the shape of the vendor that is asked) and
Raw (exactly these bytes). Each of them can carry a Wire, which says how the bytes misbehave on
their way (wire.py).
"""
import base64
import json
from dataclasses import dataclass, field, fields
from typing import Any, Optional

from fake_llm.wire import Wire

STOPS = {
    "end": "the model is done",
    "tool_use": "the model waits for the results of its calls",
    "max_tokens": "the output limit was reached",
    "context_full": "the context window is full",
    "refusal": "the model refuses",
    "filtered": "a filter stopped it; without parts Gemini blocks the prompt itself",
    "bad_tool_call": "Gemini's MALFORMED_FUNCTION_CALL",
    "incomplete": "the stream ends properly as HTTP but without its terminal marker",
}

QUIRKS = {
    # any stream of server-sent events
    "crlf": "lines end in CR LF",
    "cr": "lines end in a lone CR",
    "no_space": "no space after the colon of a field",
    "bom": "a byte order mark at the beginning",
    "comments": "a keep-alive comment before every event",
    "ids": "every event has id and retry lines, too",
    "split_data": "one event's JSON on several data lines",
    "no_final_blank": "the last event lacks its blank line",
    "no_events": "no event: lines where the service sends them",
    "done": "[DONE] at the end, whatever the API",
    "ascii": "everything but ASCII escaped in JSON",
    "unknown_events": "unknown events and fields between the others",
    # Chat Completions of compatible servers
    "no_index": "tool calls without index",
    "index_zero": "every tool call claims index 0",
    "no_ids": "calls without id (Gemini, too)",
    "empty_ids": "the id of a call is an empty string",
    "repeat_ids": "id, type and name in every fragment of a call",
    "whole_calls": "a call arrives in one piece",
    "object_arguments": "arguments as an object (and in one piece)",
    "null_arguments": "arguments of a call without any are null",
    "arguments_first": "the arguments of a call come before its name",
    "interleave": "fragments of parallel calls alternate",
    "reasoning_content": "thinking in delta.reasoning_content",
    "reasoning": "thinking in delta.reasoning; with reasoning_content in both",
    "reasoning_details": "thinking in delta.reasoning_details, to be echoed with its calls",
    "think_tags": "thinking in <think> tags inside the content",
    "content_array": "content as an array of chunks, thinking among them (Mistral)",
    "extra_content": "a signature in tool_calls[].extra_content, to be echoed (Gemini's own)",
    "no_role": "no role in the first delta",
    "message_field": "message instead of delta",
    "null_choices": "choices null instead of [] in the chunk with the usage",
    "finish_stop": "finish_reason stop although there are calls",
    "finish_empty": "finish_reason is an empty string",
    "repeat_finish": "the chunk with the finish reason comes twice",
    "finish_everywhere": "every chunk has the finish reason (Gemini, too)",
    "no_done": "no [DONE]",
    "no_usage": "usage is never reported (any API)",
    "usage_with_finish": "usage in the chunk with the finish reason",
    "usage_every_chunk": "usage in every chunk, growing",
    "error_with_choices": "an error in the stream has choices beside it, and [DONE] follows",
    # Responses
    "flat_error": "the error event is flat, as its type says",
    "failed": "an error is response.failed alone",
    "error_then_failed": "an error event, then response.failed with another message",
    "no_deltas": "only output_item.done and the terminal event",
    "empty_output": "response.completed has an empty output",
    "reasoning_text": "raw reasoning instead of a summary",
    # Anthropic
    "pings": "a ping after every event",
    "null_usage": "fields of usage in message_delta are null",
    "no_empty_delta": "no empty input_json_delta before the others",
    # Gemini
    "signature_at_end": "the signature of a text comes on an empty part in the last chunk",
    "no_parts": "the last chunk's content has no parts",
    "no_content": "the last chunk's candidate has no content",
    "error_in_array": "an error in the stream is wrapped in an array",
}


@dataclass
class Usage:
    """Tokens as design and reference count them: input includes cached and cache_write, output
    includes reasoning."""
    input: int = 100
    cached: int = 0
    cache_write: int = 0
    output: int = 20
    reasoning: int = 0


@dataclass
class Text:
    text: str
    phase: Optional[str] = None  # Responses: None chooses commentary or final_answer
    signature: Optional[str] = ""  # Gemini: "" none, None lets the server make one


@dataclass
class Thinking:
    """signature: None lets the server make one (Anthropic's signature, the encrypted_content of
    Responses, Gemini's thoughtSignature), "" means none. redacted: Anthropic's redacted_thinking,
    the text is its data."""
    text: str = ""
    signature: Optional[str] = None
    redacted: bool = False


@dataclass
class Call:
    """id: None lets the server make one. raw: the text of the arguments, where it must not be
    what JSON makes of args (Chat, Responses and Anthropic's stream)."""
    name: str
    args: dict = field(default_factory=dict)
    id: Optional[str] = None
    raw: Optional[str] = None
    signature: Optional[str] = None  # Gemini: None signs the first call of an answer, "" does not

    def text(self):
        if self.raw is not None:
            return self.raw
        return json.dumps(self.args, ensure_ascii=False, separators=(",", ":"))


@dataclass
class Answer:
    """thinking, text and calls are the usual order; parts says another one. fragments: into how
    many pieces texts and arguments are cut. error: a Failure that strikes inside the stream."""
    text: str = ""
    thinking: Any = None  # text or Thinking
    calls: list = field(default_factory=list)
    parts: Optional[list] = None  # of Text, Thinking and Call
    stop: Optional[str] = None  # of STOPS; None: tool_use if there are calls, else end
    refusal: Optional[str] = None
    usage: Usage = field(default_factory=Usage)
    fragments: int = 2
    quirks: set = field(default_factory=set)
    error: Any = None
    wire: Wire = field(default_factory=Wire)

    def __post_init__(self):
        self.quirks = set(self.quirks)
        unknown = self.quirks - QUIRKS.keys()
        if unknown:
            raise ValueError(f"no such quirk: {', '.join(sorted(unknown))}")
        if self.stop is not None and self.stop not in STOPS:
            raise ValueError(f"no such stop: {self.stop}")
        if self.parts is None:
            self.parts = self.usual_parts()
        if self.stop is None:
            self.stop = ("refusal" if self.refusal is not None
                         else "tool_use" if self.has_calls() else "end")

    def usual_parts(self):
        thinking = self.thinking
        if isinstance(thinking, str):
            thinking = Thinking(thinking)
        return ([thinking] if thinking else []) + ([Text(self.text)] if self.text else []) \
            + list(self.calls)

    def has_calls(self):
        return any(isinstance(part, Call) for part in self.parts)


@dataclass
class Raw:
    """Exactly this, whatever was asked."""
    body: Any = b""  # bytes, text, or what JSON makes of it
    status: int = 200
    headers: dict = field(default_factory=dict)
    wire: Wire = field(default_factory=Wire)

    def __post_init__(self):
        if isinstance(self.body, (dict, list)):
            self.headers = {"content-type": "application/json", **self.headers}
            self.body = json.dumps(self.body)
        if isinstance(self.body, str):
            self.body = self.body.encode()


@dataclass
class Failure:
    """An error in the shape of the vendor that is asked: as an answer of its own an HTTP status,
    as the error of an Answer an event after so many others (None: in the middle). kind is one of
    failures.KINDS; the rest overrides what the kind says."""
    kind: str = "server"
    message: Optional[str] = None
    status: Optional[int] = None
    code: Optional[str] = None
    param: Optional[str] = None  # OpenAI: the field of the request that is wrong
    headers: dict = field(default_factory=dict)
    after: Optional[int] = None
    wire: Wire = field(default_factory=Wire)


def from_json(value):
    """The JSON form of an answer: {"text": …, "calls": [{"name": …, "args": …}], "wire": {…}, …},
    {"failure": {…}} or {"raw": {"status": …, "headers": …, "body": … or "base64": …}}."""
    if "failure" in value:
        return _build(Failure, value["failure"])
    if "raw" in value:
        raw = dict(value["raw"])
        if "base64" in raw:
            raw["body"] = base64.b64decode(raw.pop("base64"))
        return _build(Raw, raw)
    return _build(Answer, value)


PARTS = {"text": Text, "thinking": Thinking, "call": Call}


def _build(kind, value):
    value = dict(value)
    unknown = value.keys() - {f.name for f in fields(kind)}
    if unknown:
        raise ValueError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
    for name, make in (("wire", Wire), ("usage", Usage), ("error", Failure)):
        if isinstance(value.get(name), dict):
            value[name] = make(**value[name])
    if isinstance(value.get("thinking"), dict):
        value["thinking"] = Thinking(**value["thinking"])
    if "calls" in value:
        value["calls"] = [Call(**call) for call in value["calls"]]
    if "parts" in value:  # each {"text" | "thinking" | "call": {its fields}}
        value["parts"] = [PARTS[name](**data) for part in value["parts"]
                          for name, data in part.items()]
    return kind(**value)
