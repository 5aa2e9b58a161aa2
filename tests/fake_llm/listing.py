"""The lists of models that each vendor serves."""
import re

MODELS = {
    "openai": ["gpt-6.1-sol", "gpt-6-luna", "gpt-5.1"],
    "anthropic": ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-4-5"],
    "google": ["gemini-4-argon", "gemini-3.8-flash", "gemini-2.5-pro"],
}
OPENAI_STYLE = re.compile(r"/v1/models(?:/([^/?]+))?(?:\?|\Z)")
GOOGLE_STYLE = re.compile(r"/v1beta/models(?:/([^/?:]+))?(?:\?|\Z)")


def find(path, headers, models):
    """The body of the answer, or None when this is no list of models."""
    google = GOOGLE_STYLE.match(path)
    if google:
        return _answer([_google(name) for name in models["google"]], google[1], _google_list)
    found = OPENAI_STYLE.match(path)
    if not found:
        return None
    if "anthropic-version" in headers:
        return _answer([_anthropic(name) for name in models["anthropic"]], found[1],
                       _anthropic_list)
    return _answer([_openai(name) for name in models["openai"]], found[1],
                   lambda entries: {"object": "list", "data": entries})


def _answer(entries, wanted, whole):
    if wanted is None:
        return whole(entries)
    return next((e for e in entries if wanted in (e.get("id"), e.get("name", "")[7:])), None)


def _openai(name):
    return {"id": name, "object": "model", "created": 1790000000, "owned_by": "openai"}


def _anthropic(name):
    return {"type": "model", "id": name, "display_name": name, "created_at": "2026-09-01T00:00:00Z",
            "max_input_tokens": 1000000, "max_tokens": 128000,
            "capabilities": {"thinking": {"supported": True, "types": {
                "adaptive": {"supported": "haiku-4-5" not in name},
                "enabled": {"supported": "haiku-4-5" in name}}}}}


def _anthropic_list(entries):
    return {"data": entries, "has_more": False, "first_id": entries[0]["id"],
            "last_id": entries[-1]["id"]}


def _google(name):
    return {"name": f"models/{name}", "version": "001", "displayName": name,
            "inputTokenLimit": 1048576, "outputTokenLimit": 65536, "thinking": True,
            "supportedGenerationMethods": ["generateContent", "countTokens"]}


def _google_list(entries):
    return {"models": entries}
