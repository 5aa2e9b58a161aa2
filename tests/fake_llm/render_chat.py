"""Answers in OpenAI's Chat Completions, and in what compatible servers make of it."""
import hashlib

from fake_llm.answer import Call, Text, Thinking
from fake_llm.sse import Event, pieces

FINISH = {"end": "stop", "tool_use": "tool_calls", "max_tokens": "length",
          "context_full": "length", "refusal": "stop", "filtered": "content_filter",
          "bad_tool_call": "stop", "incomplete": None}
CREATED = 1794700000
THINKING = ("reasoning_content", "reasoning", "reasoning_details", "think_tags", "content_array")


def thinking_quirks(answer, ask):
    """Where thinking goes: nowhere at OpenAI, unless the answer says otherwise."""
    chosen = answer.quirks & set(THINKING)
    thinks = any(isinstance(part, Thinking) for part in answer.parts)
    if chosen or ask.dialect == "openai" or not thinks:
        return chosen
    return {"content_array"} if ask.dialect == "mistral" else {"reasoning_content"}


def content(answer, ask):
    """The complete message."""
    message = {"role": "assistant", "content": texts(answer, Text) or None, "refusal": None}
    if answer.refusal is not None:
        message["refusal"] = answer.refusal
    thinking = texts(answer, Thinking)
    where = thinking_quirks(answer, ask) if thinking else ()
    for field in ("reasoning_content", "reasoning"):
        if field in where:
            message[field] = thinking
    if "reasoning_details" in where:
        message["reasoning_details"] = [detail(thinking, ask)]
    if "think_tags" in where:
        message["content"] = f"<think>{thinking}</think>{message['content'] or ''}"
    if "content_array" in where:
        message["content"] = [thinking_chunk(thinking), text_chunk(message["content"] or "")]
    calls = whole_calls(answer, ask)
    if calls:
        message["tool_calls"] = calls
    return message


def texts(answer, kind):
    return "".join(part.text for part in answer.parts if isinstance(part, kind))


def detail(text, ask):
    return {"type": "reasoning.text", "text": text, "signature": ask.signature(), "index": 0,
            "format": "anthropic-claude-v1"}


def text_chunk(text):
    return {"type": "text", "text": text}


def thinking_chunk(text):
    return {"type": "thinking", "thinking": [text_chunk(text)]}


def whole_calls(answer, ask):
    calls = []
    for call in answer.parts:
        if not isinstance(call, Call):
            continue
        place = len(calls)
        entry = {"id": call_id(call, ask, place), "type": "function",
                 "function": {"name": call.name, "arguments": call.text()}}
        if "extra_content" in answer.quirks and place == 0:
            entry["extra_content"] = {"google": {"thought_signature": ask.signature()}}
        calls.append(entry)
    return calls


def call_id(call, ask, place):
    if call.id is not None:
        return call.id
    if ask.dialect == "mistral":
        return f"m{ask.number:06d}{place:02d}"
    return ask.id("call_", place)


def usage_object(usage, ask):
    out = {"prompt_tokens": usage.input, "completion_tokens": usage.output,
           "total_tokens": usage.input + usage.output}
    if ask.dialect == "deepseek":
        out["prompt_cache_hit_tokens"] = usage.cached
        out["prompt_cache_miss_tokens"] = usage.input - usage.cached
    if ask.dialect == "openai":
        out["prompt_tokens_details"] = {"cached_tokens": usage.cached, "audio_tokens": 0,
                                        "cache_write_tokens": usage.cache_write}
    if ask.dialect in ("openai", "deepseek"):
        out["completion_tokens_details"] = {
            "reasoning_tokens": usage.reasoning, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}
    return out


def whole(answer, ask, message):
    return {"id": ask.id("chatcmpl-"), "object": "chat.completion", "created": CREATED,
            "model": ask.model, "service_tier": "default",
            "choices": [{"index": 0, "message": message, "logprobs": None,
                         "finish_reason": FINISH[answer.stop]}],
            "usage": usage_object(answer.usage, ask)}


class Chunks:
    """Makes the chunks of one stream."""

    def __init__(self, answer, ask):
        self.answer, self.ask, self.events = answer, ask, []
        options = ask.body.get("stream_options") or {}
        self.wants_usage = bool(options.get("include_usage")) and "no_usage" not in answer.quirks
        self.obfuscated = ask.dialect == "openai" and options.get("include_obfuscation", True)

    def add(self, choices, **more):
        ask = self.ask
        chunk = {"id": ask.id("chatcmpl-"), "object": "chat.completion.chunk", "created": CREATED,
                 "model": ask.model, "choices": choices}
        if ask.dialect == "openai":
            chunk.update(service_tier="default", system_fingerprint="fp_fake")
        if self.wants_usage and "usage_with_finish" not in self.answer.quirks:
            chunk["usage"] = None
        if "usage_every_chunk" in self.answer.quirks:
            chunk["usage"] = usage_object(self.answer.usage, ask)
            chunk["usage"]["completion_tokens"] = len(self.events)
        chunk.update(more)
        if self.obfuscated:
            seed = hashlib.sha256(b"%d %d" % (ask.number, len(self.events))).hexdigest()
            chunk["obfuscation"] = seed[:8 + len(self.events) % 8]
        self.events.append(Event(chunk))

    def delta(self, delta, finish=None, **more):
        field = "message" if "message_field" in self.answer.quirks else "delta"
        if "finish_everywhere" in self.answer.quirks:
            finish = finish or FINISH[self.answer.stop]
        choice = {"index": 0, field: delta, "finish_reason": finish}
        if self.ask.dialect == "openai":
            choice["logprobs"] = None
        self.add([choice], **more)


def events(answer, ask, message):
    chunks = Chunks(answer, ask)
    first = {"content": None if message["content"] is None and answer.has_calls() else ""}
    if "no_role" not in answer.quirks:
        first = {"role": "assistant", **first}
    if ask.dialect == "openai":
        first["refusal"] = None
    chunks.delta(first)
    for delta in deltas(answer, ask, message):
        chunks.delta(delta)
    finish(chunks, answer, ask)
    return chunks.events


def deltas(answer, ask, message):
    where = thinking_quirks(answer, ask)
    for part in answer.parts:
        if isinstance(part, Thinking) and where:
            yield from thinking_deltas(part.text, answer, ask, where)
        elif isinstance(part, Text):
            for piece in pieces(part.text, answer.fragments):
                yield {"content": [text_chunk(piece)] if "content_array" in where else piece}
    if answer.refusal is not None:
        for piece in pieces(answer.refusal, answer.fragments):
            yield {"refusal": piece}
    for entries in call_deltas(answer, message.get("tool_calls", [])):
        yield {"tool_calls": entries}


def thinking_deltas(text, answer, ask, where):
    if "think_tags" in where:
        for piece in pieces(f"<think>{text}</think>", answer.fragments):
            yield {"content": piece}
        return
    for piece in pieces(text, answer.fragments):
        delta = {field: piece for field in ("reasoning_content", "reasoning") if field in where}
        if "content_array" in where:
            delta["content"] = [thinking_chunk(piece)]
        elif delta:
            delta["content"] = None
        if delta:
            yield delta
    if "reasoning_details" in where:
        yield {"reasoning_details": [detail(text, ask)]}


def call_deltas(answer, calls):
    """Lists of entries of delta.tool_calls, one list per chunk."""
    quirks = answer.quirks
    own = [part for part in answer.parts if isinstance(part, Call)]
    streams = [list(call_entries(call, entry, place, answer))
               for place, (call, entry) in enumerate(zip(own, calls))]
    if "interleave" not in quirks:
        return [[entry] for stream in streams for entry in stream]
    rounds = max(map(len, streams), default=0)
    return [[stream[n] for stream in streams if n < len(stream)] for n in range(rounds)]


def call_entries(call, entry, place, answer):
    quirks = answer.quirks
    text, name = entry["function"]["arguments"], entry["function"]["name"]
    if "object_arguments" in quirks:
        yield dressed(entry, place, quirks, {"name": name, "arguments": call.args})
    elif "null_arguments" in quirks and not call.args:
        yield dressed(entry, place, quirks, {"name": name, "arguments": None})
    elif "whole_calls" in quirks:
        yield dressed(entry, place, quirks, {"name": name, "arguments": text})
    elif "arguments_first" in quirks:
        for piece in pieces(text, answer.fragments):
            yield dressed(entry, place, quirks, {"arguments": piece}, opening=False)
        yield dressed(entry, place, quirks, {"name": name})
    else:
        yield dressed(entry, place, quirks, {"name": name, "arguments": ""})
        for piece in pieces(text, answer.fragments):
            again = {"name": name} if "repeat_ids" in quirks else {}
            yield dressed(entry, place, quirks, {**again, "arguments": piece},
                          opening="repeat_ids" in quirks)


def dressed(entry, place, quirks, function, opening=True):
    """One entry of delta.tool_calls with all that belongs around the function."""
    out = {} if "no_index" in quirks else {"index": 0 if "index_zero" in quirks else place}
    if opening:
        if "no_ids" not in quirks:
            out["id"] = "" if "empty_ids" in quirks else entry["id"]
        out["type"] = "function"
        if "extra_content" in entry:
            out["extra_content"] = entry["extra_content"]
    return {**out, "function": function}


def finish(chunks, answer, ask):
    begin = len(chunks.events)
    reason = FINISH[answer.stop]
    if "finish_stop" in answer.quirks:
        reason = "stop"
    if "finish_empty" in answer.quirks:
        reason = ""
    usage = usage_object(answer.usage, ask)
    with_finish = {"usage": usage} if "usage_with_finish" in answer.quirks else {}
    for _ in range(2 if "repeat_finish" in answer.quirks else 1):
        chunks.delta({}, reason, **with_finish)
    if chunks.wants_usage and not with_finish:
        chunks.add(None if "null_choices" in answer.quirks else [], usage=usage)
    elif ask.dialect == "mistral" and "no_usage" not in answer.quirks:  # though not asked for
        chunks.events[-1].data["usage"] = usage
    if "no_done" not in answer.quirks:
        chunks.events.append(Event("[DONE]"))
    for event in chunks.events[begin:]:
        event.ending = True


def error_events(answer, ask, error, number):
    if "error_with_choices" not in answer.quirks:
        return [Event(error)]
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    return [Event({"id": ask.id("gen-"), **error, "choices": [choice]}), Event("[DONE]")]
