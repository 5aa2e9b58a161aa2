"""Answers in Gemini's generateContent."""
import itertools

from fake_llm.answer import Text, Thinking
from fake_llm.models import gemini_generation
from fake_llm.sse import Event, pieces

FINISH = {"end": "STOP", "tool_use": "STOP", "max_tokens": "MAX_TOKENS",
          "context_full": "MAX_TOKENS", "refusal": "STOP", "filtered": "SAFETY",
          "bad_tool_call": "MALFORMED_FUNCTION_CALL", "incomplete": None}


def content(answer, ask):
    """The parts as a client must send them back: texts joined, but never across a signature."""
    parts, signed = [], False
    thought = [p for p in answer.parts if isinstance(p, Thinking)]
    for place, part in enumerate(answer.parts):
        if isinstance(part, Thinking):
            if part.text and shows_thoughts(ask):
                parts.append({"text": part.text, "thought": True})
        elif isinstance(part, Text):
            parts += signed_text(part.text, part.signature, answer, ask, place)
        else:
            first, signed = not signed, True
            parts.append(call_part(part, place, first, answer, ask))
    if answer.refusal is not None:
        parts.append({"text": answer.refusal})
    if thought and not signed:
        sign_text(parts, thought[0].signature, answer, ask)
    return parts


def shows_thoughts(ask):
    config = (ask.body.get("generationConfig") or {}).get("thinkingConfig") or {}
    return bool(config.get("includeThoughts"))


def call_part(call, place, first, answer, ask):
    function = {"name": call.name, "args": call.args}
    if "no_ids" not in answer.quirks and (call.id or gemini_generation(ask.model) >= 3):
        function = {"id": call.id or ask.id("call_", place), **function}
    wanted = first and gemini_generation(ask.model) >= 3
    signature = call.signature if call.signature is not None else None if wanted else ""
    return sign({"functionCall": function}, signature, ask, place)


def sign(part, signature, ask, place):
    if signature == "":
        return part
    return {**part, "thoughtSignature": signature or ask.signature(place)}


def sign_text(parts, signature, answer, ask):
    """Thinking before a text leaves its signature on the text or on an empty part at the end."""
    last = parts[-1] if parts else None
    if "signature_at_end" in answer.quirks or not last or last.get("thought"):
        parts.append(sign({"text": ""}, signature, ask, len(parts)))
    elif "thoughtSignature" not in last:
        parts[-1:] = signed_text(last["text"], signature, answer, ask, len(parts))


def signed_text(text, signature, answer, ask, place):
    """In a stream the signature comes with the last piece of the text, and stays with it."""
    if signature == "" or not ask.stream or answer.fragments < 2 or len(text) < 2:
        return [sign({"text": text}, signature, ask, place)]
    texts = pieces(text, answer.fragments)
    return [{"text": "".join(texts[:-1])}, sign({"text": texts[-1]}, signature, ask, place)]


def usage_object(usage):
    return {"promptTokenCount": usage.input,
            "candidatesTokenCount": usage.output - usage.reasoning,
            "totalTokenCount": usage.input + usage.output,
            "cachedContentTokenCount": usage.cached, "thoughtsTokenCount": usage.reasoning}


def response(answer, ask, candidate, last=True):
    out = {"candidates": [{**candidate, "index": 0}]} if candidate is not None else {}
    if candidate is None:
        out["promptFeedback"] = {"blockReason": "PROHIBITED_CONTENT"}
    if "no_usage" not in answer.quirks:
        usage = usage_object(answer.usage)
        out["usageMetadata"] = usage if last else {
            "promptTokenCount": answer.usage.input, "totalTokenCount": answer.usage.input}
    return {**out, "modelVersion": ask.model, "responseId": ask.id("resp")}


def blocked(answer, parts):
    return answer.stop == "filtered" and not parts


def finish_fields(answer):
    out = {"finishReason": FINISH[answer.stop]}
    if answer.stop == "bad_tool_call":
        out["finishMessage"] = "Malformed function call"
    return out


def whole(answer, ask, parts):
    if blocked(answer, parts):
        return response(answer, ask, None)
    return response(answer, ask, {"content": {"parts": parts, "role": "model"},
                                  **finish_fields(answer)})


def events(answer, ask, parts):
    if blocked(answer, parts):
        return [Event(response(answer, ask, None))]
    out = []
    for fragments in fragment_lists(parts, answer):
        body = {"content": {"parts": fragments, "role": "model"}}
        if "finish_everywhere" in answer.quirks:
            body.update(finish_fields(answer))
        out.append(Event(response(answer, ask, body, last=False)))
    last = {"content": {"parts": [{"text": ""}], "role": "model"}}
    if "no_parts" in answer.quirks or answer.stop == "bad_tool_call":
        last = {"content": {"role": "model"}}
    if "no_content" in answer.quirks:
        last = {}
    if parts and parts[-1].get("text") == "":  # the empty part that carries a signature
        out.pop()
        last = {"content": {"parts": [parts[-1]], "role": "model"}}
    out.append(Event(response(answer, ask, {**last, **finish_fields(answer)}), ending=True))
    return out


def fragment_lists(parts, answer):
    """The parts of each chunk: texts in pieces unless they are signed, parallel calls together."""
    for are_calls, run in itertools.groupby(parts, key=lambda part: "functionCall" in part):
        if are_calls:
            yield list(run)
            continue
        for part in run:
            count = 1 if "thoughtSignature" in part else answer.fragments
            for piece in pieces(part["text"], count):
                yield [{**part, "text": piece}]


def error_events(answer, ask, error, number):
    return [Event([error] if "error_in_array" in answer.quirks else error)]
