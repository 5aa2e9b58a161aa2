"""Random histories: sessions as several providers leave them, and what crashes, imports and edits
make of them.

A message is a list [kind, content, data], data being JSON text or None; a history is a list of
messages. A byte that is no UTF-8 is written as Python does it, 0xff as U+DCFF. Steps of models come from a pool: answers that tests/fake_llm renders for each API, read by
ikigai's own code, so that what a provider wants back is in them as it really is.
"""
import base64
import hashlib
import json
import struct
import subprocess

from fake_llm import Answer, Call, Memory, Text, Thinking
from fake_llm.render import Ask, render
from fake_llm.sse import encode

# What a server streams depends on what it was asked for.
ASKED = {"chat": {"messages": [], "stream_options": {"include_usage": True}},
         "responses": {"input": ["?"], "reasoning": {"summary": "auto"}},
         "anthropic": {"messages": [], "thinking": {"type": "adaptive", "display": "summarized"}},
         "gemini": {"contents": [], "generationConfig": {
             "thinkingConfig": {"includeThoughts": True}}}}
ENVELOPES = (
    '{"tool_success":true,"result":{"output":"a.c\\nb.c","count":2}}',
    '{"tool_success":true,"result":"plain"}',
    '{"tool_success":false,"error":"no such file","error_code":"FILE_NOT_FOUND"}',
    '{"tool_success":true,"result":{"x":1,"x":2,"deep":[[[{}]]]}}',
    '{"tool_success":true,"result":{"half":"\\ud83d","pair":"\\ud83d\\ude00"}}',
    '{"tool_success":true,"result":' + '[' * 40 + ']' * 40 + '}',
    '{"output":"no envelope","count":1}', "plain text", "", "[1]", '{"tool_success":')
ARGUMENTS = ("", "{", "[]", "null", "5", '"x"', '{"a":1,"a":2}', '{"h":"\\ud800"}',
             '{"a":' * 40 + "1" + "}" * 40, "\x00")  # what no call may be sent with
NAMES = ("", " ", "a b", "1x", "-x", "n" * 80, "caf\u00e9", "x.y", "a\u0000b", "\U0001f600")
IDS = ("", " ", "i" * 70, "with space", "qu\"ote\\", "\u00e9", "a\u0000b", "x" * 41, "/", "call-1")
BLANKS = (None, "", " ", "\n\t", "\u00a0", "\u2003\u3000", "\u2028", "\x1f")
TEXTS = ("Do it.", "\u00fcber \U0001f600", "a\u0000b", "no text: \udc80\udcff", "\ufffd",
         "line\nline", '"quoted" \\ back', "x" * 300)


PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWj"
                       "R9awAAAABJRU5ErkJggg==")
FRAME = b"\x2c\0\0\0\0\1\0\1\0\0\x02\x02\x44\x01\0"
GIF, ANIMATED = (b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff" + FRAME * frames + b";"
                 for frames in (1, 2))
CONTENTS = tuple(PNG[:16] + struct.pack(">II", 1 + 7 * n, 3) + PNG[24:] + bytes([n])
                 for n in range(60))
# What the store of blobs holds, as base64 by its SHA-256: some were lost.
STORED = {hashlib.sha256(content).hexdigest(): base64.b64encode(content).decode()
          for content in CONTENTS[:50] + (GIF, ANIMATED)}


class HistoryMemory(Memory):
    """The memory of all servers at once. Which signatures were given out is known, but the
    histories were never sent as they are, so what stood before a step is not (preserved=False),
    and what compatible chat servers want back is only looked at when it comes back: of the texts
    they thought, each may only be sent to its own server."""

    def __init__(self):
        super().__init__(preserved=False)
        self.thoughts = {}  # dialect: texts and signatures

    def remember_thoughts(self, dialect, message):
        self.thoughts.setdefault(dialect, set()).update(thoughts_of(message))

    def check_chat(self, problems, path, body, dialect):
        known = self.thoughts.get(dialect, ())
        for n, message in enumerate(body["messages"]):
            for text in thoughts_of(message):
                if text not in known:
                    problems.add(f"messages[{n}]", f"reasoning of another server: {text[:60]}")


def thoughts_of(message):
    """Everything in a message that only its own server may see again."""
    texts = [message.get("reasoning_content"), message.get("reasoning")]
    texts += [json.dumps(detail, sort_keys=True) for detail in message.get("reasoning_details", ())]
    texts += [json.dumps(call["extra_content"]) for call in message.get("tool_calls", ())
              if "extra_content" in call]
    return [text for text in texts if text]


# ---- the pool

class Pool:
    """targets: dicts of wire, provider, base_url, model, format, dialect; several models of each
    provider. steps[target's name] is a list of lists of messages."""

    def __init__(self, driver, targets, rng, size):
        self.memory, self.steps, asks = HistoryMemory(), {}, []
        for target in targets:
            for _ in range(size):
                asks.append((target, random_answer(rng, target, len(asks))))
        lines = [json.dumps(self.stream(n, *ask)) for n, ask in enumerate(asks, 1)]
        done = subprocess.run([driver, "steps"], input="\n".join(lines).encode() + b"\n",
                              stdout=subprocess.PIPE, check=True)
        for (target, _), line in zip(asks, done.stdout.decode().split("\n")):
            messages = json.loads(line)
            if messages:
                self.steps.setdefault(name_of(target), []).append(messages)

    def stream(self, number, target, answer):
        ask = Ask(target["format"], ASKED[target["format"]], target["model"], number=number,
                  dialect=target["dialect"])
        done = render(answer, ask)
        self.memory.remember(ask.format, ask.body, done.content, ask.model)
        if ask.format == "chat":
            self.memory.remember_thoughts(ask.dialect, done.content)
        data = b"".join(encode(done.events, answer.quirks))
        return [target["wire"], target["provider"], target["base_url"], target["model"],
                data.decode()]


def name_of(target):
    return f"{target['provider']}/{target['model']}"


def random_answer(rng, target, number):
    chat, plain = target["format"] == "chat", target["dialect"] == "plain"
    quirks = set()
    if chat and plain:
        quirks |= set(rng.sample(["reasoning_content", "reasoning_details", "extra_content",
                                  "no_ids", "whole_calls", "think_tags", "finish_stop"], 2))
    if target["format"] == "gemini":
        quirks |= set(rng.sample(["signature_at_end", "no_ids", "no_parts"], rng.randrange(2)))
    calls = [random_call(rng) for _ in range(rng.choice((0, 0, 1, 1, 1, 2, 3)))]
    parts = list(calls)
    if not calls or rng.random() < 0.5:
        parts.insert(0, Text(f"Answer {number}."))
    if calls and rng.random() < 0.15:
        parts.append(Text(f"After {number}."))
    if rng.random() < 0.7:
        parts.insert(0, Thinking(f"Thought {number}."))
    if calls and rng.random() < 0.2:
        parts.insert(rng.randrange(len(parts)), Thinking(f"Second thought {number}."))
    if target["format"] == "anthropic" and rng.random() < 0.15:
        parts.insert(0, Thinking("", redacted=True))
    if rng.random() < 0.05:
        parts = [part for part in parts if isinstance(part, Thinking)]
    stop = rng.choice(("max_tokens", "incomplete", "filtered")) if rng.random() < 0.08 else None
    refusal = "No." if not calls and rng.random() < 0.05 else None
    return Answer(parts=parts, stop=stop, refusal=refusal, quirks=quirks,
                  fragments=rng.choice((1, 2, 3)))


def random_call(rng):
    raw = rng.choice(ARGUMENTS + ('{"a":"\x7f\u2028"}', " {} ")) if rng.random() < 0.08 else None
    name = rng.choice(NAMES) if rng.random() < 0.05 else rng.choice(("glob", "bash", "file_read"))
    return Call(name, {"path": rng.choice(TEXTS[:2]), "n": rng.randrange(100)}, raw=raw)


# ---- sessions

def compact(value):
    """As ikigai writes it; with escapes where there are halves of surrogate pairs."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode("utf-8", "surrogateescape")
        return text
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))


def parsed(message):
    """The data as an object, or None."""
    try:
        data = json.loads(message[2]) if message[2] else None
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def random_images(rng):
    """What a message says about its images: right, or damaged."""
    entries = []
    for _ in range(rng.choice((1, 1, 1, 2, 3, 25))):
        content = rng.choice(CONTENTS + (GIF, ANIMATED) * 20)
        sha256 = hashlib.sha256(content).hexdigest()
        kind = "image/png" if content[:1] == b"\x89" else "image/gif"
        entry = {"name": rng.choice(TEXTS[:2] + ("a.png", "b]c.png", "")), "sha256": sha256,
                 "media_type": kind, "bytes": len(content), "width": 1, "height": 3}
        if rng.random() < 0.1:
            entry[rng.choice(sorted(entry))] = rng.choice((
                "image/jpeg", "image/bmp", 1, 0, -1, 10**20, None, "", "0" * 64, [], {}))
        entries.append(entry if rng.random() < 0.97 else rng.choice((1, None, "x", [], {})))
    return entries


def results_of(rng, step):
    """A result for each call of a step, as a tool leaves it."""
    out = []
    for message in step:
        call = parsed(message) if message[0] == "tool_call" else None
        if call:
            output = rng.choice(ENVELOPES[:5] if rng.random() < 0.9 else ENVELOPES)
            out.append(["tool_result", "done", compact({
                "tool_call_id": call["id"], "name": call["function"]["name"],
                "provider": call.get("provider"), "success": "true" in output, "wall_ms": 3,
                **({"images": random_images(rng)} if rng.random() < 0.1 else {}),
                "output": output})])
    return out


def session(rng, pool):
    """What one or a few models leave behind when nothing goes wrong."""
    models = rng.sample(sorted(pool.steps), rng.choice((1, 1, 1, 2, 2, 3)))
    history = [["system", "You are a coding agent.", None]] if rng.random() < 0.8 else []
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        model = rng.choice(models)
        images = {"images": random_images(rng)} if rng.random() < 0.15 else None
        history.append(["user", rng.choice(TEXTS[:2] + (" ",) if images else TEXTS[:2]),
                        images and compact(images)])
        for _ in range(rng.choice((1, 2, 2, 3, 4))):
            step = [list(message) for message in rng.choice(pool.steps[model])]
            results = results_of(rng, step)
            history += step + results
            if not results:
                break
            if rng.random() < 0.1:
                history.append(summary(rng, rng.randrange(len(history) + 3)))
        if rng.random() < 0.2:
            history.append(summary(rng, rng.randrange(len(history) + 3)))
    return history


def summary(rng, covers):
    """A compaction that stands for so many messages, or anything that looks like one."""
    data = {"reason": rng.choice(("full", "overflow", "user")), "summary": rng.choice(TEXTS),
            "tokens_before": 900, "tokens_after": 90, "covers": covers,
            "words_limit": rng.choice((32768, 32768, 10, 0))}
    for key in list(data):
        if rng.random() < 0.03:
            data[key] = rng.choice((None, -1, 1e99, "", [], "7"))
    if rng.random() < 0.1:
        del data[rng.choice(("covers", "words_limit", "tokens_after"))]
    if rng.random() < 0.5:
        data |= {"model": "openai/x", "usage": {"in": 900, "out": 3}}
    return ["compaction", "The conversation was summarised", compact(data)]


# ---- damage: each function changes a history in place

def place(rng, history):
    return rng.randrange(len(history) + 1)


def cut_end(rng, history, pool):
    del history[place(rng, history):]


def cut_begin(rng, history, pool):
    del history[:rng.randrange(1, 4)]


def drop(rng, history, pool):
    del history[rng.randrange(len(history))]


def double(rng, history, pool):
    begin = place(rng, history)
    copies = [list(message) for message in history[begin:begin + rng.choice((1, 1, 2, 3, 6))]]
    at = rng.choice((begin, begin + len(copies), place(rng, history)))
    history[at:at] = copies


def move(rng, history, pool):
    message = history.pop(rng.randrange(len(history)))
    history.insert(place(rng, history), message)


def shuffle(rng, history, pool):
    begin = place(rng, history)
    piece = history[begin:begin + rng.choice((2, 3, 5))]
    rng.shuffle(piece)
    history[begin:begin + len(piece)] = piece


def splice(rng, history, pool):
    step = [list(message) for message in rng.choice(pool.steps[rng.choice(sorted(pool.steps))])]
    history[(at := place(rng, history)):at] = step + (results_of(rng, step) if rng.random() < 0.5 else [])


def insert(rng, history, pool):
    history.insert(place(rng, history), list(rng.choice((
        ["compaction", "removed", compact({"trimmed_results": rng.randrange(5)})],
        ["compaction", "removed", None], ["compaction", "", '{"trimmed_results":-1}'],
        summary(rng, rng.randrange(30)), ["compaction", "", '{"summary":""}'],
        ["compaction", "", '{"trimmed_results":1e99}'],
        ["compaction", "refused", compact({"trimmed_results": 0, "dropped": "images",
                                           "images": rng.sample(sorted(STORED), 9)})],
        ["compaction", "refused", '{"trimmed_results":0,"dropped":"images","images":[1,"x"]}'],
        ["system", "Be brief.", None], ["system", "", None], ["event", "x", "{}"], ["", None, None],
        ["user", rng.choice(TEXTS), None], ["user", rng.choice(BLANKS), None],
        ["assistant", rng.choice(BLANKS), None], ["assistant", rng.choice(TEXTS), "[]"],
        ["assistant", rng.choice(BLANKS), '{"model":"openai/x","step":1,"calls":[]}'],
        ["tool_call", "x", '{"id":"q","function":{"name":"glob","arguments":"{}"}}'],
        ["tool_call", "x", '{"id":7,"function":{"name":"glob","arguments":"{}"}}'],
        ["tool_call", "x", '{"function":{"name":"glob"}}'],
        ["tool_result", "x", '{"tool_call_id":"q","output":"x"}'],
        ["tool_result", "x", '{"output":"x"}'], ["tool_result", "x", None]))))


def break_data(rng, history, pool):
    message = rng.choice(history)
    if message[2]:
        at = rng.randrange(len(message[2]))
        odd = rng.choice(("\udcff", "\\ud800", "\\udc00"))  # a byte, halves of a surrogate pair
        message[2] = rng.choice((message[2][:at], None, message[2][:at] + odd + message[2][at:],
                                 "[" + message[2] + "]"))


def change_content(rng, history, pool):
    rng.choice(history)[1] = rng.choice(TEXTS + BLANKS)


def edited(change):
    """Damage to the data of a message of some kinds: change(rng, data, pool, message) edits it."""
    def damage(rng, history, pool):
        message = rng.choice(history)
        data = parsed(message)
        if data is not None:
            change(rng, data, pool, message)
            message[2] = compact(data)
    return damage


@edited
def change_id(rng, data, pool, message):
    key = "id" if message[0] == "tool_call" else "tool_call_id"
    if key in data:
        data[key] = rng.choice(IDS + (7, None))
        known_id(pool, data[key])


def known_id(pool, value):
    """For all anyone can tell, the model gave it."""
    if isinstance(value, str):
        pool.memory.call_ids.add(value)


@edited
def change_name(rng, data, pool, message):
    if isinstance(data.get("function"), dict):
        data["function"]["name"] = rng.choice(NAMES + (7,))
    elif "name" in data:
        data["name"] = rng.choice(NAMES + ("other", 7))


@edited
def change_arguments(rng, data, pool, message):
    if isinstance(data.get("function"), dict):
        data["function"]["arguments"] = rng.choice(ARGUMENTS + ({"a": 1}, None))


@edited
def change_result(rng, data, pool, message):
    if message[0] == "tool_result":
        data[rng.choice(("output", "success"))] = rng.choice(ENVELOPES + (5, True, None))


@edited
def change_maker(rng, data, pool, message):
    if "provider" in data and rng.random() < 0.5:
        data["provider"] = rng.choice(("openai", "anthropic", "google", "local", "", 5, None))
        known_id(pool, data.get("id", data.get("tool_call_id")))
    elif "model" in data:
        data["model"] = rng.choice(sorted(pool.steps) + ["", "x", 5])


@edited
def change_step(rng, data, pool, message):
    """One or the other: what fits in every respect is the step, for all anyone can tell."""
    if "step" in data and rng.random() < 0.5:
        data["step"] = rng.choice((0, -1, 1, 2, 3, 10**20, "1", None))
    elif isinstance(data.get("calls"), list):
        data["calls"] = rng.choice(([], ["x"], {}, None, data["calls"][:1]))


@edited
def change_images(rng, data, pool, message):
    data["images"] = rng.choice((random_images(rng), random_images(rng), [], {}, 5,
                                 None, "x", [[]]))


@edited
def lose_field(rng, data, pool, message):
    if data:
        del data[rng.choice(sorted(data))]


@edited
def refuse(rng, data, pool, message):
    data["refused"] = rng.choice((True, True, "true", 1))


def rewrite_all(rng, history, pool):
    """As a database that keeps JSON by its meaning gives it back."""
    for message in history:
        data = parsed(message)
        if data is not None:
            message[2] = json.dumps(dict(sorted(data.items())))


DAMAGE = (cut_end, cut_end, cut_begin, drop, drop, double, double, move, move, shuffle, splice,
          insert, insert, break_data, change_content, change_id, change_name, change_arguments,
          change_result, change_maker, change_step, change_images, lose_field, refuse, rewrite_all)


def random_history(rng, pool):
    history = session(rng, pool)
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4, 6))):
        if history:
            rng.choice(DAMAGE)(rng, history, pool)
    return history
