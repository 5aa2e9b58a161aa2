"""What the promises about the model loop share: the four wire formats, ikigai as a process that is
watched line by line, and what a request says whatever its format."""
import json
import os
import select
import subprocess
from dataclasses import dataclass, field

from fake_llm import Answer, FakeLLM
from support import IKIGAI, OUT, ROOT, Sandbox


@dataclass(frozen=True)
class Format:
    model: str  # as -m takes it; its thinking is shown
    dialect: str  # of the fake server


FORMATS = {
    "chat": Format("box/thinker", "plain"),
    "responses": Format("openai/gpt-6-sol", "openai"),
    "anthropic": Format("anthropic/claude-opus-5-5", "openai"),
    "google": Format("google/gemini-3.8-flash", "openai"),
}
OBJECTS = os.path.join(ROOT, "build", "obj") if OUT == ROOT else os.path.join(OUT, "obj")
DRIVER = os.path.join(OBJECTS, "tests", "promises", "resume_driver")  # make drivers builds it
ENVIRONMENT = {"OPENAI_API_KEY": "key", "ANTHROPIC_API_KEY": "key", "GEMINI_API_KEY": "key",
               "no_proxy": "127.0.0.1"}


class Stage(Sandbox):
    """A home and a project whose models are all on one fake server. The system prompt is short:
    Responses repeats it three times in every stream."""
    settings = {}  # of the configuration, beside where the models are

    def serve(self, llm):
        base = {"openai": {"api": "responses", "base_url": llm.base_url("openai")},
                "box": {"type": "openai", "api": "chat", "base_url": llm.base_url("openai")},
                "anthropic": {"base_url": llm.base_url("anthropic")},
                "google": {"base_url": llm.base_url("google")}}
        self.config({"providers": base, "system_prompt": "You are a test.", **self.settings})

    def spawn(self, argv, **more):
        """A process in the project with nothing on its standard input."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, **more}
        return subprocess.Popen(argv, cwd=self.project, env=self.env(**ENVIRONMENT), **options)

    def headless(self, model, *args):
        return [IKIGAI, "-p", "Do it.", "--json", "-m", model, *args]

    def run(self, argv, seconds):
        """Runs it to its end. What it prints goes to files: nobody here has to keep up with it."""
        with open(self.path("out"), "w+b") as out, open(self.path("err"), "w+b") as err:
            child = self.spawn(argv, stdout=out, stderr=err)
            watch = os.pidfd_open(child.pid)
            in_time = bool(select.select([watch], [], [], seconds)[0])
            os.close(watch)
            if not in_time:
                child.kill()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            return Run(child.returncode, in_time, usage.ru_maxrss, self.read("out"),
                       self.read("err"))


@dataclass
class Run:
    status: int  # negative: a signal
    in_time: bool
    rss_kb: int  # most that was resident, of it or of what it waited for
    out: bytes
    err: bytes


def lines_of(text):
    """The complete lines of what `--json` printed."""
    return [json.loads(line) for line in text.split(b"\n")[:-1]]


def messages(lines, kind=None):
    return [line for line in lines
            if line["type"] == "message" and kind in (None, line["kind"])]


def unanswered(lines):
    """Ids of the calls without exactly one result behind them."""
    results = [m["data"]["tool_call_id"] for m in messages(lines, "tool_result")]
    return [call["data"]["id"] for call in messages(lines, "tool_call")
            if results.count(call["data"]["id"]) != 1]


# ---- what a request says

@dataclass
class History:
    """In the order of the request. An id is None where the format needs none."""
    texts: list = field(default_factory=list)  # of user and model
    calls: list = field(default_factory=list)  # (id, name)
    results: list = field(default_factory=list)  # (id, envelope)

    def answers(self):
        """The envelopes in the order of the calls; None where a call has no result, or several."""
        if len(self.calls) != len(self.results):
            return [None] * len(self.calls)
        if all(call[0] is None for call in self.calls):
            return [envelope for _, envelope in self.results]
        found = [[e for i, e in self.results if i == call[0]] for call in self.calls]
        return [each[0] if len(each) == 1 else None for each in found]


def history_of(request):
    history = History()
    READERS[request.format](history, request.json)
    return history


def read_chat(history, body):
    for message in body["messages"]:
        if message["role"] == "tool":
            history.results.append((message["tool_call_id"], json.loads(message["content"])))
        elif message["role"] != "system":
            read_content(history, message.get("content"))
        for call in message.get("tool_calls", ()):
            history.calls.append((call["id"], call["function"]["name"]))


def read_responses(history, body):
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind == "function_call":
            history.calls.append((item["call_id"], item["name"]))
        elif kind == "function_call_output":
            history.results.append((item["call_id"], json.loads(item["output"])))
        elif kind == "message":
            read_content(history, item["content"])


def read_anthropic(history, body):
    for message in body["messages"]:
        read_content(history, message["content"])


def read_content(history, content):
    if isinstance(content, str):
        history.texts.append(content)
    for part in content if isinstance(content, list) else ():
        if part["type"] == "tool_use":
            history.calls.append((part["id"], part["name"]))
        elif part["type"] == "tool_result":
            inner = History()
            read_content(inner, part["content"])
            history.results.append((part["tool_use_id"], json.loads("".join(inner.texts))))
        elif part["type"].endswith("text"):
            history.texts.append(part["text"])


def read_gemini(history, body):
    for content in body["contents"]:
        for part in content["parts"]:
            if "functionCall" in part:
                call = part["functionCall"]
                history.calls.append((call.get("id"), call["name"]))
            elif "functionResponse" in part:
                response = part["functionResponse"]
                history.results.append((response.get("id"), response["response"]))
            elif not part.get("thought"):
                history.texts.append(part["text"])


READERS = {"chat": read_chat, "responses": read_responses, "anthropic": read_anthropic,
           "gemini": read_gemini}


# ---- going on with a session

GO_ON = "Go on."


def compare(log, request):
    """What is wrong with the request that goes on with this log: [] when nothing is."""
    wrong = []
    history = history_of(request)
    calls = messages(log, "tool_call")
    stored = {m["data"]["tool_call_id"]: m["data"]["output"] for m in messages(log, "tool_result")}
    if [name for _, name in history.calls] != [c["data"]["function"]["name"] for c in calls]:
        wrong.append(f"the calls are {history.calls}")
    for call, envelope in zip(calls, history.answers()):
        output = stored.get(call["data"]["id"])
        if envelope is None:
            wrong.append(f"{call['content']} has no result")
        elif output is None and envelope.get("error_code") != "INTERRUPTED":
            wrong.append(f"{call['content']} was not said to be interrupted: {envelope}")
        elif output is not None and envelope != json.loads(output):
            wrong.append(f"{call['content']} has another result: {envelope}")
    said = [m["content"] for m in messages(log) if m["kind"] in ("user", "assistant")]
    if bare(history.texts) != bare(said + [GO_ON]):
        wrong.append(f"the texts are {history.texts}")
    return wrong


def bare(texts):
    """Chat makes one text of several, Gemini splits one at a signature: only the words count."""
    return "".join("".join(texts).split())


def go_on(stage, log, name, memory, seconds=60):
    """Goes on with what was printed, in another process, with a server of that format that has this
    memory. Returns what is wrong with it."""
    stored = b"".join(json.dumps(m, ensure_ascii=False).encode() + b"\n" for m in messages(log))
    with FakeLLM(lambda _: Answer("Gone on."), FORMATS[name].dialect, memory=memory) as llm:
        stage.serve(llm)
        child = stage.spawn([DRIVER, IKIGAI, FORMATS[name].model, GO_ON], stdin=subprocess.PIPE)
        out, err = child.communicate(stored, seconds)
    if child.returncode != 0:
        return [f"resume_driver ended with {child.returncode}: {err.decode(errors='replace')}"]
    wrong = list(llm.problems)
    end = json.loads(out)
    if (end["reason"], end["text"], end["errors"]) != ("end_turn", "Gone on.", ""):
        wrong.append(f"the turn ended so: {end}")
    if len(llm.requests) != 1:
        return wrong + [f"{len(llm.requests)} requests"]
    return wrong + compare(log, llm.requests[0])
