"""A scripted model for several agents: each plays a part that is found by its task."""
import threading

from agent_support import sent_messages


def user_words(request):
    """The texts of the user's messages in a request, in order."""
    words = []
    for message in sent_messages(request):
        content = message.get("content", message.get("parts"))
        if message.get("role") != "user":
            continue
        parts = [content] if isinstance(content, str) else [
            part["text"] for part in content if "text" in part]
        words += parts
    return words


class Cast:
    """parts: {first words of the user: [answers]}. An answer may be a function of the request. The
    number of answers that a request has decides which one is next."""

    def __init__(self, parts):
        self.parts = parts
        self.requests = {name: [] for name in parts}
        self.lock = threading.Lock()
        self.open = self.most = 0

    def __call__(self, request):
        name = user_words(request)[0]
        with self.lock:
            self.requests[name].append(request)
            answer = self.parts[name][len(self.requests[name]) - 1]
            self.open += 1
            self.most = max(self.most, self.open)
        try:
            return answer(request) if callable(answer) else answer
        finally:
            with self.lock:
                self.open -= 1
