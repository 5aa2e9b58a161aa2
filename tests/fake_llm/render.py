"""An Answer as each API would say it: the complete content, the stream of events, the one object of
a request that does not stream. The four formats have a module each; this one chooses among them
and turns events into bytes.
"""
import base64
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from fake_llm import failures, render_anthropic, render_chat, render_gemini, render_responses
from fake_llm.sse import encode, encode_array

FORMATS = {"chat": render_chat, "responses": render_responses, "anthropic": render_anthropic,
           "gemini": render_gemini}


@dataclass
class Ask:
    """What rendering needs to know of a request. number makes ids unique."""
    format: str
    body: dict
    model: str = "model"
    stream: bool = True
    array: bool = False  # Gemini without alt=sse
    number: int = 1
    dialect: str = "openai"

    def id(self, prefix, place=0):
        return f"{prefix}{self.number:06d}{place:02d}"

    def signature(self, place=0):
        """Opaque, unique, and base64 as the real ones are."""
        text = f"{self.format} {self.number} {place}"
        digest = hashlib.sha256(text.encode()).digest()
        return base64.b64encode(text.encode() + b"\0" + digest).decode()


@dataclass
class Rendered:
    content: Any  # what a client replays: message, items, blocks or parts
    events: list
    whole: dict

    def body(self, ask, quirks=()):
        """The body of the response, a list of pieces or bytes."""
        if not ask.stream:
            return dumps(self.whole)
        if ask.array:
            return encode_array(self.events)
        return encode(self.events, quirks)


def dumps(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def render(answer, ask):
    module = FORMATS[ask.format]
    content = module.content(answer, ask)
    events = module.events(answer, ask, content)
    if answer.stop == "incomplete":
        events = [event for event in events if not event.ending]
    if answer.error:
        after = len(events) // 2 if answer.error.after is None else answer.error.after
        error = failures.body_of(answer.error, ask.format, ask.dialect)
        events = events[:after] + module.error_events(answer, ask, error, after)
    return Rendered(content, events, module.whole(answer, ask, content))
