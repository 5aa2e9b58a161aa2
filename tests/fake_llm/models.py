"""What the names of models tell about what they accept."""
import re

GEMINI = re.compile(r"gemini-(\d+)")
OPENAI = re.compile(r"gpt-(\d+)(?:\.(\d+))?")
OPENAI_REASONING = re.compile(r"(o\d|gpt-([5-9]|\d\d))")


def gemini_generation(model):
    """3 for gemini-3-flash; 0 for what is no Gemini."""
    found = GEMINI.match(model)
    return int(found[1]) if found else 0


def openai_version(model):
    """(5, 6) for gpt-5.6-sol; (0, 0) for other names."""
    found = OPENAI.match(model)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def reasons(model):
    """Whether it is one of OpenAI's reasoning models."""
    return bool(OPENAI_REASONING.match(model))
