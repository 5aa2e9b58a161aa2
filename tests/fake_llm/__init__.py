"""A scripted model server for tests; README.md shows how to use it."""
from fake_llm.answer import Answer, Call, Failure, Raw, Text, Thinking, Usage
from fake_llm.memory import Memory
from fake_llm.validators import validate
from fake_llm.wire import Wire

__all__ = ["Answer", "Call", "Failure", "FakeLLM", "Memory", "Raw", "Text", "Thinking", "Usage",
           "Wire", "validate"]


def __getattr__(name):
    """The server is imported only when it is used: it is also run as a program of its own."""
    if name == "FakeLLM":
        from fake_llm.server import FakeLLM
        return FakeLLM
    raise AttributeError(name)
