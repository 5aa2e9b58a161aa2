"""What the promises about the model loop share: the four wire formats, a turn with tools, ikigai as
a process that is watched line by line and may be killed, what a request says whatever its format,
and going on with a session."""
import json
import os
import re
import select
import signal
import subprocess
import time
from dataclasses import dataclass, field

from fake_llm import Answer, Call, FakeLLM, Text, Thinking, Usage, Wire
from saved import Saved, copy_database, missing, told_as_saved
from support import IKIGAI, Sandbox


PATIENCE = 240  # seconds for what takes a moment, however busy the machine is


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
ENVIRONMENT = {"OPENAI_API_KEY": "key", "ANTHROPIC_API_KEY": "key", "GEMINI_API_KEY": "key",
               "no_proxy": "127.0.0.1"}


# Runs a program and writes into a file how much memory it had at most; ends as the program did.
APART = ["/usr/bin/python3", "-IS", "-c", """
import os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
with open(sys.argv[1], "w") as f:
    f.write(str(usage.ru_maxrss))
code = os.waitstatus_to_exitcode(status)
os.kill(os.getpid(), -code) if code < 0 else os._exit(code)
"""]


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

    def headless(self, model, *args, prompt="Do it."):
        return [IKIGAI, "-p", prompt, "--json", "-m", model, *args]

    def run(self, argv, seconds, apart=False):
        """Runs it to its end. What it prints goes to files, so that it never waits for a reader.
        apart: by a small process of its own, so that rss_kb is the program's own. Of a child that
        this process starts, it is at least what this process has."""
        with open(self.path("out"), "w+b") as out, open(self.path("err"), "w+b") as err:
            argv = [*APART, self.path("rss"), *argv] if apart else argv
            child = self.spawn(argv, stdout=out, stderr=err, start_new_session=apart)
            watch = os.pidfd_open(child.pid)
            in_time = bool(select.select([watch], [], [], seconds)[0])
            os.close(watch)
            if not in_time:
                (os.killpg if apart else os.kill)(child.pid, signal.SIGKILL)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            rss = int(self.read("rss")) if apart and in_time else usage.ru_maxrss
            return Run(child.returncode, in_time, rss, self.read("out"), self.read("err"))


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


# ---- a turn with tools

SLOWLY = Wire(delay_event=0.002)  # so that there are moments between the events
# Three times tools and a last word: texts before and between calls and none at all, a tool that
# fails, one that reports progress, parallel ones.
TURN = [
    Answer(parts=[Thinking("First I look around."), Text("Let me look."),
                  Call("file_read", {"file_path": "a.txt"}), Call("glob", {"pattern": "*.txt"}),
                  Call("bash", {"command": "echo one; sleep 0.02; echo two"})], wire=SLOWLY),
    Answer(parts=[Thinking("Then I try."), Text("Now this."),
                  Call("bash", {"command": "echo three; exit 3"}), Text("And that."),
                  Call("file_read", {"file_path": "missing"})], wire=SLOWLY),
    Answer(parts=[Thinking("Only calls."), Call("grep", {"pattern": "x"}),
                  Call("glob", {"pattern": "*"})], wire=SLOWLY),
    Answer("All done.", thinking="I am done.", wire=SLOWLY),
]
CALLS = [sum(isinstance(part, Call) for part in answer.parts) for answer in TURN]


class TurnScript:
    """Answers every "Do it." with that turn, also several in one session and from several programs
    at once when each says which one it is: "Do it. (7)". It goes by what a request holds, so that
    a request of a killed ikigai takes no answer away; anything else said gets one word."""

    def __init__(self):
        self.before = {}  # what was said -> results that the session had then

    def __call__(self, request):
        history = history_of(request)
        said = re.findall(r"Do it\.(?: \(\w+\))?|Go on\.", "\n".join(history.texts))[-1]
        if said == GO_ON:
            return Answer("Gone on.")
        results = len(history.results)
        results -= self.before.setdefault(said, results)
        return TURN[[sum(CALLS[:n]) for n in range(len(TURN))].index(results)]


# ---- a turn that fills the context

WINDOW = 1000  # tokens
SUMMARY = "It was looked at."
FULL_TURN = [
    Answer(parts=[Thinking("Hm."), Text("One."), Call("bash", {"command": "seq 300"})], wire=SLOWLY),
    Answer(parts=[Text("Two."), Call("file_read", {"file_path": "a.txt"})],
           usage=Usage(input=900, output=10), wire=SLOWLY),
    Answer("All done.", wire=SLOWLY),
]


def set_window(stage, tokens):
    """The window of all models of the stage; None: as it is known to be."""
    models = {form.model: {"limits": {"context": tokens}} for form in FORMATS.values()}
    stage.write("home/.ikigai/models.json", json.dumps({"models": models if tokens else {}}))


def full_script(request):
    """The turn, whose second step fills the window, and the summary."""
    history = history_of(request)
    if "about to be shortened" in "\n".join(history.texts):
        return Answer(SUMMARY, usage=Usage(input=900, output=5), wire=SLOWLY)
    if SUMMARY in "\n".join(history.texts):
        return FULL_TURN[2]
    return FULL_TURN[len(history.results)]


def compare_summary(log, request):
    """As compare, after a summary or not: it is sent if it was stored, with all that the user said,
    and no call is sent without its result."""
    history = history_of(request)
    stored = [m["data"] for m in messages(log, "compaction")]
    wrong = [f"{call} has no result" for call, envelope in zip(history.calls, history.answers())
             if envelope is None]
    if ([SUMMARY] if stored else []) != re.findall(re.escape(SUMMARY), "\n".join(history.texts)):
        wrong.append(f"{len(stored)} summaries are stored, the texts are {history.texts}")
    calls = messages(log, "tool_call")
    if len(history.calls) != len(calls) - (1 if stored else 0):
        wrong.append(f"the calls are {history.calls}")
    said = [m["content"] for m in messages(log, "user")]
    if [text for text in history.texts if text in said] != said:
        wrong.append(f"the user said {said}, the texts are {history.texts}")
    return wrong


# ---- being killed

def read_lines(child, count, seconds):
    """What it prints until that many lines are there (None: to its end)."""
    text, deadline = b"", time.monotonic() + seconds
    while count is None or text.count(b"\n") < count:
        if not select.select([child.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
            raise AssertionError(f"ikigai does not end: {text[-2000:]}")
        block = os.read(child.stdout.fileno(), 1 << 16)
        if not block:
            break
        text += block
    return text


def run_killed(stage, argv, count=None, after=None, group=False, seconds=PATIENCE):
    """(all lines it printed, whether it was killed in time): killed when count lines were read, or
    after so many seconds, or not at all; alone, or with its process group."""
    child = stage.spawn(argv, stderr=subprocess.DEVNULL, start_new_session=True)
    if after is not None:
        time.sleep(after)
    text = b"" if after is not None else read_lines(child, count, seconds)
    if group:
        os.killpg(child.pid, signal.SIGKILL)
    elif count is not None or after is not None:
        child.kill()
    text += read_lines(child, None, seconds)
    child.stdout.close()
    status = child.wait()
    if status not in (0, -signal.SIGKILL):
        raise AssertionError(f"ikigai ended with {status}: {text[-2000:]}")
    return lines_of(text), status == -signal.SIGKILL


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


def go_on(stage, lines, name, memory, source=None, seconds=PATIENCE, check=None):
    """Goes on with the session that printed these lines, with a server of that format that has this
    memory: in its own home, or with a copy of the database of another stage. check looks at the
    request instead of compare. Returns what is wrong with it."""
    if source is not None:
        copy_database(source.home, stage.home)
    before = Saved(stage.home)
    told = told_as_saved(lines)
    session = lines[0]["id"] if lines else next(iter(before.sessions), None)
    log = before.sessions.get(session, [])
    wrong = before.wrong + [f"{n} messages are lost" for n in [missing(told, [], log)] if n]
    with FakeLLM(lambda _: Answer("Gone on."), FORMATS[name].dialect,
                 memory=memory) as llm:
        stage.serve(llm)
        # What was killed before it said anything left no session: the next run begins one.
        resume = ["-r", session] if log else []
        run = stage.run(stage.headless(FORMATS[name].model, *resume, prompt=GO_ON), seconds)
    after = lines_of(run.out)
    if run.status != 0 or after[-1] != {"type": "done", "reason": "end_turn"}:
        return wrong + [f"ikigai ended with {run.status}: {run.out[-2000:]} {run.err}"]
    wrong += llm.problems + [f"it said {line}" for line in after if line["type"] == "error"]
    if [m["content"] for m in messages(after, "assistant")] != ["Gone on."]:
        wrong.append(f"the turn was {after}")
    now = Saved(stage.home)
    if now.wrong or now.sessions.get(after[0]["id"]) != log + messages(after):
        wrong.append(f"it is not stored: {now.wrong} {now.sessions} {after}")
    if len(llm.requests) != 1:
        return wrong + [f"{len(llm.requests)} requests"]
    return wrong + (check or compare)(log, llm.requests[0])
