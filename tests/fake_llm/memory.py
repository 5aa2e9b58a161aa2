"""What a server knows about its own answers: which signatures, encrypted reasoning and ids it gave
out, and to what they belong. A request that alters them, moves them, or drops them where they are
needed is refused, as the real services do.
"""
import hashlib
import json
import threading

from fake_llm.validate_gemini import PLACEHOLDERS


def digest(previous, value):
    """The digest of a sequence from that of the sequence without its last element."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(previous + text.encode("utf-8", "surrogatepass")).digest()


class Memory:
    """One per server; servers that stand for the same account can share one. preserved: whether
    Anthropic's signatures cover all that was before them, as with the newest models."""

    def __init__(self, preserved=True):
        self.preserved = preserved
        self.lock = threading.RLock()
        self.call_ids = set()  # Gemini
        self.forget()

    def forget(self):
        """All reasoning becomes worthless, as when a vendor rotates its keys. What comes after
        must not contain it."""
        with self.lock:
            self.thinking = {}  # Anthropic: signature or data -> (block, model, prefix)
            self.turns = {}  # Anthropic: tool_use id -> (model, prefix, its thinking blocks)
            self.reasoning = {}  # Responses: id -> (item, the item after it)
            self.needs = {}  # Responses: call_id -> (ids of its response's reasoning, prefix)
            self.parts = {}  # Gemini: signature -> part
            self.chats = {}  # Chat: id of the first call -> message

    def remember(self, format, body, content, model=""):
        """What was answered to a request with this body."""
        with self.lock:
            getattr(self, f"remember_{format}")(body, content, model)

    def check(self, problems, format, path, body, dialect):
        with self.lock:
            getattr(self, f"check_{format}")(problems, path, body, dialect)

    # ---- Chat Completions: reasoning that compatible servers want back with the calls

    def remember_chat(self, body, message, model):
        for call in message.get("tool_calls", ())[:1]:
            self.chats[call["id"]] = message

    def check_chat(self, problems, path, body, dialect):
        for n, message in enumerate(body["messages"]):
            calls = message.get("tool_calls")
            known = self.chats.get(calls[0]["id"]) if calls else None
            if known is None:
                continue
            where = f"messages[{n}]"
            if dialect == "deepseek" and message.get("reasoning_content", "") \
                    != known.get("reasoning_content", ""):
                problems.add(f"{where}.reasoning_content", "is not what the model thought")
            if dialect == "plain":
                if "reasoning_details" in known \
                        and message.get("reasoning_details") != known["reasoning_details"]:
                    problems.add(f"{where}.reasoning_details", "must come back unchanged")
                extra = known["tool_calls"][0].get("extra_content")
                if extra is not None and calls[0].get("extra_content") != extra:
                    problems.add(f"{where}.tool_calls[0].extra_content", "must come back unchanged")

    # ---- Responses

    def remember_responses(self, body, items, model):
        prefix = self.input_prefix(body)
        ids = [item["id"] for item in items if item["type"] == "reasoning"]
        for n, item in enumerate(items):
            if item["type"] == "reasoning":
                self.reasoning[item["id"]] = (item, items[n + 1] if n + 1 < len(items) else None)
            elif item["type"] == "function_call" and ids:
                self.needs[item["call_id"]] = (ids, prefix)

    @staticmethod
    def input_prefix(body, count=None):
        items = body.get("input")
        value = b""
        for item in (items if isinstance(items, list) else [items])[:count]:
            value = digest(value, item)
        return value

    def check_responses(self, problems, path, body, dialect):
        items = body["input"]
        if isinstance(items, str):
            return
        present = {item.get("id") for item in items if item.get("type") == "reasoning"}
        for n, item in enumerate(items):
            if item.get("type") == "reasoning":
                following = items[n + 1] if n + 1 < len(items) else None
                self.check_reasoning(problems, item, following, f"input[{n}]")
        self.check_dropped(problems, items, present)

    def check_reasoning(self, problems, item, following, where):
        known, after = self.reasoning.get(item["id"], (None, None))
        if known is None or known.get("encrypted_content") != item.get("encrypted_content"):
            problems.add(f"{where}.encrypted_content",
                         f"invalid_encrypted_content: {item['id']} could not be verified")
        elif known["summary"] != item["summary"]:
            problems.add(f"{where}.summary", "was changed")
        elif after is not None and not same_item(after, following):
            problems.add(where, f"Item '{item['id']}' of type 'reasoning' was provided without "
                         "its required following item, or that was changed")

    def check_dropped(self, problems, items, present):
        """Reasoning may be dropped only for everything before some point, which compaction makes:
        where the history before a response is what it was, its reasoning must be there."""
        kept, prefix, start = None, b"", b""
        for n, item in enumerate(items):
            called = item.get("type") == "function_call"
            answered = called or item.get("type") == "reasoning" or item.get("role") == "assistant"
            start = start or prefix if answered else b""  # before the whole response
            if called and item["call_id"] in self.needs:
                ids, known_prefix = self.needs[item["call_id"]]
                if set(ids) <= present:
                    kept = item["call_id"]
                elif kept is not None or item.get("id") is not None or start == known_prefix:
                    name = item.get("id") or item["call_id"]
                    problems.add(f"input[{n}]", f"Item '{name}' of type 'function_call' was "
                                 f"provided without its required 'reasoning' item: '{ids[0]}'.")
            prefix = digest(prefix, item)

    # ---- Anthropic

    def remember_anthropic(self, body, blocks, model):
        prefix = start = self.anthropic_prefix(body)
        thinking = []
        for block in blocks:
            key = block.get("signature") or block.get("data")
            if block["type"] in ("thinking", "redacted_thinking"):
                thinking.append(block)
                self.thinking[key] = (block, model, prefix)
            prefix = digest(prefix, plain_block(block))
        for block in blocks:
            if block["type"] == "tool_use":
                self.turns[block["id"]] = (model, start, thinking)

    @staticmethod
    def anthropic_prefix(body):
        """Of tools, system and all messages."""
        value = Memory.anthropic_base(body)
        for message in body["messages"]:
            value = digest(value, message["role"])
            for block in plain_blocks(message["content"]):
                value = digest(value, block)
        return digest(value, "assistant")

    @staticmethod
    def anthropic_base(body):
        tools = [plain_block(tool) for tool in body.get("tools", ())]
        return digest(digest(b"", tools), plain_blocks(body.get("system") or []))

    def check_anthropic(self, problems, path, body, dialect):
        model, value = body["model"], self.anthropic_base(body)
        last_user = last_words(body["messages"])
        for n, message in enumerate(body["messages"]):
            value = start = digest(value, message["role"])
            blocks = plain_blocks(message["content"])
            for k, block in enumerate(blocks):
                if block["type"] in ("thinking", "redacted_thinking"):
                    self.check_thinking(problems, block, value, model,
                                        f"messages[{n}].content[{k}]")
                value = digest(value, block)
            if message["role"] == "assistant" and n > last_user:
                self.check_kept(problems, blocks, start, model, f"messages[{n}]")

    def check_thinking(self, problems, block, prefix, model, where):
        known = self.thinking.get(block.get("signature") or block.get("data"))
        if known is None:
            problems.add(where, "Invalid `signature` in `thinking` block")
            return
        own, maker, own_prefix = known
        if own != block:
            problems.add(where, "`thinking` blocks in a message cannot be modified")
        elif maker == model and self.preserved and own_prefix != prefix:
            problems.add(where, "what was before this `thinking` block changed since it was made")

    def check_kept(self, problems, blocks, start, model, where):
        """Thinking of the current turn comes back, unless what was before it changed."""
        for block in blocks:
            if block["type"] != "tool_use" or block["id"] not in self.turns:
                continue
            maker, own_start, thinking = self.turns[block["id"]]
            if maker == model and own_start == start \
                    and [b for b in blocks if b["type"].endswith("thinking")] != thinking:
                problems.add(where, "`thinking` blocks of the current turn must come back")
            return

    # ---- Gemini

    def remember_gemini(self, body, parts, model):
        for part in parts:
            signature = part.get("thoughtSignature")
            if signature:
                self.parts[signature] = part
            if "functionCall" in part and "id" in part["functionCall"]:
                self.call_ids.add(part["functionCall"]["id"])

    def check_gemini(self, problems, path, body, dialect):
        for n, content in enumerate(body["contents"]):
            for k, part in enumerate(content["parts"]):
                where = f"contents[{n}].parts[{k}]"
                signature = part.get("thoughtSignature")
                if signature and signature not in PLACEHOLDERS:
                    self.check_signature(problems, part, self.parts.get(signature), where)
                call = part.get("functionCall")
                if call and "id" in call and call["id"] not in self.call_ids:
                    problems.add(f"{where}.functionCall.id", "is not an id the model gave")

    @staticmethod
    def check_signature(problems, part, known, where):
        if known is None:
            problems.add(f"{where}.thoughtSignature", "Corrupted thought signature")
        elif any(part.get(key) != known.get(key) for key in ("text", "functionCall")):
            problems.add(f"{where}.thoughtSignature",
                         "belongs to another part, or that was changed")


def same_item(own, sent):
    """Whether a client's item is the one that followed: ids and status may be left out."""
    if not isinstance(sent, dict) or sent.get("type", "message") != own["type"]:
        return False
    if own["type"] == "message":
        return sent.get("phase") == own.get("phase") and said(sent) == said(own)
    keys = ("id", "summary") if own["type"] == "reasoning" else ("call_id", "name", "arguments")
    return all(sent.get(key) == own[key] for key in keys)


def said(message):
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(part.get("text", part.get("refusal", "")) for part in content)


def plain_blocks(content):
    """Blocks as the model sees them: a string is a block of text, and no marks of the cache."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [plain_block(block) for block in content]


def plain_block(block):
    out = {key: value for key, value in block.items() if key != "cache_control"}
    if block.get("type") == "tool_result" and isinstance(block.get("content"), (str, list)):
        out["content"] = plain_blocks(block["content"])
    return out


def last_words(messages):
    """The index of the last message in which the user says something himself."""
    last = -1
    for n, message in enumerate(messages):
        if message["role"] == "user" and any(
                block["type"] != "tool_result" for block in plain_blocks(message["content"])):
            last = n
    return last
