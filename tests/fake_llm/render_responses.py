"""Answers in OpenAI's Responses."""
import hashlib

from fake_llm.answer import Call, Text
from fake_llm.sse import Event, pieces

CREATED = 1794700000
INCOMPLETE = {"max_tokens": "max_output_tokens", "filtered": "content_filter",
              "context_full": "max_output_tokens"}


def content(answer, ask):
    """The complete output items."""
    items = [item_of(part, place, answer, ask) for place, part in enumerate(answer.parts)]
    if answer.refusal is not None:
        items.append({"id": ask.id("msg_", len(items)), "type": "message", "status": "completed",
                      "role": "assistant",
                      "content": [{"type": "refusal", "refusal": answer.refusal}]})
    return items


def item_of(part, place, answer, ask):
    if isinstance(part, Call):
        call_id = ask.id("call_", place) if part.id is None else part.id
        return {"id": ask.id("fc_", place), "type": "function_call", "status": "completed",
                "arguments": part.text(), "call_id": call_id, "name": part.name}
    if isinstance(part, Text):
        calls_follow = any(isinstance(p, Call) for p in answer.parts[place:])
        return {"id": ask.id("msg_", place), "type": "message", "status": "completed",
                "content": [{"type": "output_text", "annotations": [], "logprobs": [],
                             "text": part.text}],
                "phase": part.phase or ("commentary" if calls_follow else "final_answer"),
                "role": "assistant"}
    item = {"id": ask.id("rs_", place), "type": "reasoning", "summary": summary(part, ask)}
    if "reasoning_text" in answer.quirks:
        item.update(summary=[], content=[{"type": "reasoning_text", "text": part.text}])
    if part.signature != "":
        item["encrypted_content"] = part.signature or ask.signature(place)
    return item


def summary(thinking, ask):
    """Only a request that asks for a summary gets to read the reasoning."""
    if not thinking.text or not (ask.body.get("reasoning") or {}).get("summary"):
        return []
    return [{"type": "summary_text", "text": text} for text in thinking.text.split("\n\n")]


def usage_object(usage):
    return {"input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cached,
                                     "cache_write_tokens": usage.cache_write},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.input + usage.output}


def shell(ask, status, **more):
    body = ask.body
    return {"id": ask.id("resp_"), "object": "response", "created_at": CREATED, "status": status,
            "error": None, "incomplete_details": None,
            "instructions": body.get("instructions"),
            "max_output_tokens": body.get("max_output_tokens"), "model": ask.model, "output": [],
            "parallel_tool_calls": body.get("parallel_tool_calls", True),
            "previous_response_id": None,
            "reasoning": body.get("reasoning") or {"effort": None, "summary": None},
            "store": body.get("store", True), "temperature": 1.0,
            "text": body.get("text") or {"format": {"type": "text"}},
            "tool_choice": body.get("tool_choice", "auto"), "tools": body.get("tools", []),
            "top_p": 1.0, "truncation": "disabled", "usage": None, "user": None, "metadata": {},
            **more}


def finished(answer, ask, items):
    """The response at its end, and the name of the event that brings it."""
    usage = None if "no_usage" in answer.quirks else usage_object(answer.usage)
    output = [] if "empty_output" in answer.quirks else items
    if answer.stop in INCOMPLETE:
        reason = {"reason": INCOMPLETE[answer.stop]}
        return "incomplete", shell(ask, "incomplete", output=output, usage=usage,
                                   incomplete_details=reason)
    return "completed", shell(ask, "completed", output=output, usage=usage)


def whole(answer, ask, items):
    return finished(answer, ask, items)[1]


class Numbered:
    """Events with their sequence numbers."""

    def __init__(self, ask):
        options = ask.body.get("stream_options") or {}
        self.events, self.obfuscated = [], options.get("include_obfuscation", True)

    def add(self, name, **data):
        data = {"type": name, "sequence_number": len(self.events), **data}
        if self.obfuscated and "delta" in data:
            data["obfuscation"] = hashlib.sha256(b"%d" % len(self.events)).hexdigest()[:10]
        self.events.append(Event(data, name))


def events(answer, ask, items):
    out = Numbered(ask)
    out.add("response.created", response=shell(ask, "in_progress"))
    out.add("response.in_progress", response=shell(ask, "in_progress"))
    for index, item in enumerate(items):
        if "no_deltas" not in answer.quirks:
            STREAMS[item["type"]](out, item, index, answer.fragments)
        out.add("response.output_item.done", output_index=index, item=item)
    status, response = finished(answer, ask, items)
    out.add(f"response.{status}", response=response)
    out.events[-1].ending = True
    return out.events


def stream_message(out, item, index, fragments):
    part = item["content"][0]
    kind, field = (("refusal", "refusal") if part["type"] == "refusal" else ("output_text", "text"))
    place = {"item_id": item["id"], "output_index": index, "content_index": 0}
    out.add("response.output_item.added", output_index=index,
            item={**item, "status": "in_progress", "content": []})
    out.add("response.content_part.added", **place, part={**part, field: ""})
    extra = {"logprobs": []} if kind == "output_text" else {}
    for piece in pieces(part[field], fragments):
        out.add(f"response.{kind}.delta", **place, delta=piece, **extra)
    out.add(f"response.{kind}.done", **place, **{field: part[field]}, **extra)
    out.add("response.content_part.done", **place, part=part)


def stream_call(out, item, index, fragments):
    place = {"item_id": item["id"], "output_index": index}
    out.add("response.output_item.added", output_index=index,
            item={**item, "status": "in_progress", "arguments": ""})
    for piece in pieces(item["arguments"], fragments):
        out.add("response.function_call_arguments.delta", **place, delta=piece)
    out.add("response.function_call_arguments.done", **place, arguments=item["arguments"])


def stream_reasoning(out, item, index, fragments):
    out.add("response.output_item.added", output_index=index,
            item={"id": item["id"], "type": "reasoning", "summary": []})
    for number, part in enumerate(item["summary"]):
        place = {"item_id": item["id"], "output_index": index, "summary_index": number}
        out.add("response.reasoning_summary_part.added", **place, part={**part, "text": ""})
        for piece in pieces(part["text"], fragments):
            out.add("response.reasoning_summary_text.delta", **place, delta=piece)
        out.add("response.reasoning_summary_text.done", **place, text=part["text"])
        out.add("response.reasoning_summary_part.done", **place, part=part)
    for number, part in enumerate(item.get("content", [])):
        place = {"item_id": item["id"], "output_index": index, "content_index": number}
        for piece in pieces(part["text"], fragments):
            out.add("response.reasoning_text.delta", **place, delta=piece)
        out.add("response.reasoning_text.done", **place, text=part["text"])


STREAMS = {"message": stream_message, "function_call": stream_call, "reasoning": stream_reasoning}


def error_events(answer, ask, error, number):
    """Typed flat, but the live service nests it."""
    error = error["error"]
    flat = {k: error[k] for k in ("code", "message", "param")}
    failed = {"code": error["code"] or error["type"], "message": error["message"]}
    out = []
    if "failed" not in answer.quirks:
        data = flat if "flat_error" in answer.quirks else {"error": error}
        out.append(Event({"type": "error", "sequence_number": number, **data}, "error"))
    if "error_then_failed" in answer.quirks:
        failed = {"code": "server_error", "message": "The response failed."}
    if answer.quirks & {"failed", "error_then_failed"}:
        response = shell(ask, "failed", error=failed)
        out.append(Event({"type": "response.failed", "sequence_number": number + len(out),
                          "response": response}, "response.failed"))
    return out
