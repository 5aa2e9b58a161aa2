"""Answers in Anthropic's Messages."""
import re

from fake_llm.answer import Call, Text
from fake_llm.sse import Event, pieces

STOP = {"end": "end_turn", "tool_use": "tool_use", "max_tokens": "max_tokens",
        "context_full": "model_context_window_exceeded", "refusal": "refusal",
        "filtered": "content_filter", "bad_tool_call": "end_turn", "incomplete": None}
# Models that keep the text of their thoughts to themselves unless asked.
SILENT = re.compile(r"claude-(opus-5-5|fable-5-1)")


def content(answer, ask):
    """The complete blocks."""
    return [block_of(part, place, ask) for place, part in enumerate(answer.parts)]


def block_of(part, place, ask):
    if isinstance(part, Call):
        return {"type": "tool_use", "id": ask.id("toolu_", place) if part.id is None else part.id,
                "name": part.name, "input": part.args}
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if part.redacted:
        return {"type": "redacted_thinking", "data": part.text or ask.signature(place)}
    signature = ask.signature(place) if part.signature is None else part.signature
    return {"type": "thinking", "thinking": part.text if shown(ask) else "",
            "signature": signature}


def shown(ask):
    display = (ask.body.get("thinking") or {}).get("display")
    return display == "summarized" if display else not SILENT.match(ask.model)


def input_usage(usage):
    return {"input_tokens": usage.input - usage.cached - usage.cache_write,
            "cache_creation_input_tokens": usage.cache_write,
            "cache_read_input_tokens": usage.cached}


def output_usage(usage):
    return {"output_tokens": usage.output,
            "output_tokens_details": {"thinking_tokens": usage.reasoning}}


def message(answer, ask, blocks, stop, usage):
    return {"id": ask.id("msg_"), "type": "message", "role": "assistant", "model": ask.model,
            "content": blocks, "stop_reason": stop, "stop_sequence": None,
            "stop_details": details(answer) if stop else None, "container": None,
            "usage": usage}


def details(answer):
    if answer.stop != "refusal":
        return None
    return {"type": "refusal", "category": None, "explanation": answer.refusal}


def whole(answer, ask, blocks):
    return message(answer, ask, [read_block(block) for block in blocks], STOP[answer.stop],
                   {**input_usage(answer.usage), **output_usage(answer.usage)})


def read_block(block):
    """Blocks in a response have a few keys that those in a request need not have."""
    return {**block, "citations": None} if block["type"] == "text" else block


def events(answer, ask, blocks):
    out = [event("message_start", message=message(
        answer, ask, [], None, {**input_usage(answer.usage), "output_tokens": 1}))]
    calls = iter([part for part in answer.parts if isinstance(part, Call)])
    for index, block in enumerate(blocks):
        raw = next(calls).text() if block["type"] == "tool_use" else None
        out += block_events(block, index, raw, answer)
        if index == 0:
            out.insert(2, event("ping"))
    out.append(event("message_delta", delta={"stop_reason": STOP[answer.stop],
                                             "stop_sequence": None,
                                             "stop_details": details(answer)},
                     usage=last_usage(answer)))
    out.append(event("message_stop"))
    out[-1].ending = out[-2].ending = True
    if "pings" in answer.quirks:
        out = [each for one in out for each in (one, event("ping"))]
    return out


def last_usage(answer):
    if "no_usage" in answer.quirks:
        return {}
    if "null_usage" in answer.quirks:
        return {"input_tokens": None, "cache_creation_input_tokens": None,
                "cache_read_input_tokens": None, "output_tokens": answer.usage.output,
                "output_tokens_details": None}
    return {**input_usage(answer.usage), **output_usage(answer.usage)}


def event(name, **data):
    return Event({"type": name, **data}, name)


EMPTY = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""},
         "tool_use": {"input": {}}, "redacted_thinking": {}}


def block_events(block, index, raw, answer):
    opening = {**block, **EMPTY[block["type"]]}
    return [event("content_block_start", index=index, content_block=opening),
            *(event("content_block_delta", index=index, delta=delta)
              for delta in block_deltas(block, raw, answer)),
            event("content_block_stop", index=index)]


def block_deltas(block, raw, answer):
    kind = block["type"]
    if kind == "text":
        for piece in pieces(block["text"], answer.fragments):
            yield {"type": "text_delta", "text": piece}
    elif kind == "thinking":
        for piece in pieces(block["thinking"], answer.fragments) if block["thinking"] else ():
            yield {"type": "thinking_delta", "thinking": piece}
        if block["signature"]:
            yield {"type": "signature_delta", "signature": block["signature"]}
    elif kind == "tool_use":
        if "no_empty_delta" not in answer.quirks:
            yield {"type": "input_json_delta", "partial_json": ""}
        if raw != "{}":  # a call without arguments sends none
            for piece in pieces(raw, answer.fragments):
                yield {"type": "input_json_delta", "partial_json": piece}


def error_events(answer, ask, error, number):
    return [Event(error, "error")]
