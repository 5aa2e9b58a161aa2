"""Server-sent events as bytes, with the liberties that servers take."""
import json
from dataclasses import dataclass
from typing import Any, Optional


@dataclass
class Event:
    data: Any  # what JSON makes of it, or text as it is
    name: Optional[str] = None
    ending: bool = False  # part of what tells that the stream is complete

    def text(self, **options):
        if isinstance(self.data, str):
            return self.data
        return json.dumps(self.data, **{"ensure_ascii": False, "separators": (",", ":"), **options})


def encode(events, quirks=()):
    """A list of bytes, one item per event."""
    end = "\r\n" if "crlf" in quirks else "\r" if "cr" in quirks else "\n"
    colon = ":" if "no_space" in quirks else ": "
    events = list(with_strangers(events) if "unknown_events" in quirks else events)
    if "done" in quirks and (not events or events[-1].data != "[DONE]"):
        events.append(Event("[DONE]"))
    out = [_lines(event, number, quirks, end, colon) for number, event in enumerate(events)]
    if out and "no_final_blank" in quirks:
        out[-1] = out[-1][:-2 * len(end)]
    out = [piece.encode() for piece in out]
    if out and "bom" in quirks:
        out[0] = b"\xef\xbb\xbf" + out[0]
    return out


def _lines(event, number, quirks, end, colon):
    lines = []
    if "comments" in quirks:
        lines += [": keep-alive", ""]
    if "ids" in quirks:
        lines += [f"id{colon}{number}", f"retry{colon}3000"]
    if event.name and "no_events" not in quirks:
        lines.append(f"event{colon}{event.name}")
    options = {"ensure_ascii": True} if "ascii" in quirks else {}
    if "split_data" in quirks:
        options.update(indent=1)
    lines += [f"data{colon}{line}" for line in event.text(**options).split("\n")]
    return end.join(lines) + end * 2


def with_strangers(events):
    """What a client must skip: unknown fields and events."""
    for number, event in enumerate(events):
        if isinstance(event.data, dict):
            if event.name:
                yield Event({"type": "brand_new.thing", "weird": [1, {"two": None}]},
                            "brand_new.thing")
            event = Event({**event.data, "brand_new": {"n": number}}, event.name)
        yield event


def encode_array(events):
    """Gemini without alt=sse: one JSON array, an element at a time."""
    return [b"[%s" % e.text().encode() if n == 0 else b",\r\n%s" % e.text().encode()
            for n, e in enumerate(events)] + [b"]\n" if events else b"[]\n"]


def pieces(text, count):
    """text in at most count pieces of about the same length; at least one, maybe empty."""
    count = max(1, min(count, len(text)))
    step, more = divmod(len(text), count)
    out, begin = [], 0
    for number in range(count):
        end = begin + step + (number < more)
        out.append(text[begin:end])
        begin = end
    return out
