"""Strict validators of requests: what the real services refuse, and a little more.

    validate("chat", "/v1/chat/completions", headers, body, dialect="openai") -> list of problems

body is bytes, text or the parsed value; without headers (None) those are not looked at, likewise
the path. A problem reads "messages[2].tool_calls[0].id: must not be empty". memory (memory.py) adds
what only the server that gave the answers can know: which signatures are its own.
"""
from fake_llm import (validate_anthropic, validate_chat, validate_gemini, validate_responses)
from fake_llm.checks import Problems, parse

FORMATS = {"chat": validate_chat.check, "responses": validate_responses.check,
           "anthropic": validate_anthropic.check, "gemini": validate_gemini.check}
DIALECTS = validate_chat.DIALECTS


def validate(format, path, headers, body, dialect="openai", memory=None):
    problems = Problems()
    if not isinstance(body, dict):
        try:
            body = parse(body)
        except ValueError as error:
            return [f"the body is not JSON: {error}"]
        if not isinstance(body, dict):
            return ["the body must be an object"]
    if headers is not None:
        headers = {name.lower(): value for name, value in headers.items()}
        problems.content_type(headers)
    FORMATS[format](problems, path, headers, body, dialect)
    if memory is not None and not problems:
        memory.check(problems, format, path, body, dialect)
    return list(problems)
