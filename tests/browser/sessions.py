"""Sessions for the browser to look at, in the form that import reads: an ordinary one, and one in
which every place that can hold foreign text holds text that would like to be more."""
import base64
import json

BEGUN = 1_769_850_300_000_000  # 2026-01-31 09:05 UTC

PYTHON = 'def answer():\n    """What is it?"""\n    return 42  # of course\n'
DIFF = ("diff --git a/orbit.c b/orbit.c\nindex 1f2e3d4..a0b1c2d 100644\n--- a/orbit.c\n"
        "+++ b/orbit.c\n@@ -1,3 +1,3 @@\n int main(void)\n-static double step_orbit(void)\n"
        "+double orbit_step(void)\n")
LONG_LINE = "long " * 200
ANSWER = """The function exists, but under **another name**:

| place | name |
|:--|--:|
| `orbit.h` | orbit_step |

1. rename it
2. build again

- [x] found
- [ ] fixed

# A heading of the model

~~Nothing~~ See [the manual](https://example.org/ld?a=1&b=2) and
![a picture](https://example.org/p.png).

```c
static int count = 0x10; /* how many */
```

```
""" + LONG_LINE + """
```
"""


class Session:
    def __init__(self, **facts):
        self.lines = [{"type": "session", "version": 1, "id": "00112233aabbccdd",
                       "cwd": "/home/ada/orbit", "host": "ada", "model": "openai/gpt-6-sol",
                       "created_us": BEGUN, **facts}]
        self.seq = 0
        self.agent(1, 0, 0)

    def agent(self, number, parent, forked_at):
        self.lines.append({"type": "agent", "number": number, "parent": parent,
                           "forked_at": forked_at, "created_us": BEGUN + forked_at})
        self.number, self.seq = number, forked_at

    def add(self, kind, content, data=None, **members):
        self.seq += 1
        self.lines.append({"type": "message", "agent": self.number, "seq": self.seq,
                           "created_us": BEGUN + self.seq * 1_000_000, "kind": kind,
                           "content": content, "data": data, **members})

    def answer(self, text, **data):
        self.add("assistant", text, {"model": "openai/gpt-6-sol", "stop": "end", **data})

    def call(self, name, arguments, output, summary="done", success=True, **data):
        """A call and its result."""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        number = f"call_{self.seq}"
        self.add("tool_call", f"{name}({text[:100]})",
                 {"id": number, "type": "function",
                  "function": {"name": name, "arguments": text}, **data})
        output = output if isinstance(output, str) else json.dumps(output)
        self.add("tool_result", summary,
                 {"tool_call_id": number, "name": name, "success": success, "wall_ms": 2480,
                  "output": output})

    def jsonl(self):
        return "".join(json.dumps(line) + "\n" for line in self.lines).encode()


def ordinary():
    s = Session()
    s.add("system", "You are a coding agent.")
    s.add("user", "Why does the build fail?\nKeep the <public> header.")
    s.call("bash", {"command": "make  # again"},
           {"tool_success": True, "result": {"output": "cc: error: undefined\n", "exit_code": 2}},
           "exit 2: cc: error: undefined", reasoning="Let me **think** about it.",
           model="openai/gpt-6-sol", usage={"in": 4210, "cached": 3968, "out": 187},
           cost_usd=0.0123)
    s.answer(ANSWER, usage={"in": 5120, "out": 240}, cost_usd=0.0041)
    s.call("file_read", {"path": "answer.py"},
           {"tool_success": True, "result": {"output": PYTHON}}, "def answer(): (3 lines)")
    s.call("file_edit", {"path": "orbit.c", "old_string": "int a;\nstatic int b;\n",
                         "new_string": "int a;\nint b;\n"},
           {"tool_success": True, "result": {"output": "Replaced 1 occurrence in orbit.c"}})
    s.call("bash", {"command": "git diff"},
           {"tool_success": True, "result": {"output": DIFF, "exit_code": 0}})
    s.call("bash", {"command": "seq 1000000"},
           {"tool_success": True, "result": {"output": "0123456789\n" * 30000, "exit_code": 0}})
    s.call("nope", {}, {"tool_success": False, "error": "no such tool",
                        "error_code": "TOOL_NOT_FOUND"}, "failed: no such tool", success=False)
    s.add("compaction", "4 tool results removed to fit the context", {"trimmed_results": 4})
    s.add("user", "Thank you.")
    s.answer("You are welcome.")
    s.agent(2, 1, 4)
    s.add("user", "And the other way round?")
    s.answer("Also possible.", incomplete=True)
    return s


RUN = "document.title='pwned';window.pwned=1"
HOSTILE = [
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"</style><script>{RUN}</script>",
    f"</details></summary></section></main></body><script>{RUN}</script>",
    f"</code></pre></div></div></div><script>{RUN}</script>",
    f"\"'><svg onload=\"{RUN}\">",
    f"<img src=x onerror=\"{RUN}\">",
    f"<body onload={RUN}>",
    f"<details open ontoggle={RUN}><summary>x",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<a href=\"javascript:{RUN}\">click</a>",
    "<style>*{display:none!important}</style>",
    "<p style='position:fixed;inset:0;background:red'>",
    "}*{display:none}",
    "<!-- never closed",
    "<![CDATA[ never closed",
    "<plaintext>", "<textarea>", "<title>", "<noscript>", "<template>", "<select><option>",
    "<base href='http://127.0.0.1:9/'>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "<link rel=stylesheet href=http://127.0.0.1:9/x.css>",
    "<form action=http://127.0.0.1:9/><input name=a autofocus>",
    "<object data=http://127.0.0.1:9/></object><embed src=http://127.0.0.1:9/>",
    "&lt;script&gt; &#60;script&#62; &colon; &NewLine; &lpar;",
]
# Markdown that would like to be more; what of it must be read by people stands behind.
MARKDOWN = [
    (f"[a](javascript:{RUN})", f"javascript:{RUN}"),
    (f"[b](&#106;avascript:{RUN})", f"javascript:{RUN}"),
    (f"[c](JaVaScRiPt:{RUN})", f"JaVaScRiPt:{RUN}"),
    (f"<javascript:{RUN}>", f"javascript:{RUN}"),
    (f"[d](data:text/html,{RUN})", f"data:text/html,{RUN}"),
    (f"[e](vbscript:{RUN})", f"vbscript:{RUN}"),
    ("[f](file:///etc/passwd)", "file:///etc/passwd"),
    ("![g](http://127.0.0.1:9/pixel.png)", "g"),
    (f"![h](javascript:{RUN})", f"javascript:{RUN}"),
    ("[![i](http://127.0.0.1:9/i.png)](https://example.org/i)", "i"),
    ("[https://bank.example](https://evil.example/?https://bank.example)",
     "(https://evil.example/?https://bank.example)"),
    ("[](https://evil.example/empty)", "https://evil.example/empty"),
    (f'[j](https://example.org/"onmouseover="{RUN})', "j"),
    (f"[k](<https://example.org/ \"' onclick={RUN}>)", "k"),
    (f'```"><script>{RUN}</script>\ncode\n```', "code"),
    ("| a |\n|---|\n| <b onclick=x> |", "<b onclick=x>"),
    ("> " * 300 + "deep", "deep"),
    ("*" * 300 + "stars" + "*" * 300, "stars"),
]
INVISIBLE = {"\u202e": "U+202E", "\u2066": "U+2066", "\u200b": "U+200B", "\u00ad": "U+00AD",
             "\ufeff": "U+FEFF", "\u2028": "U+2028", "\U000e0041": "U+E0041"}


def hostile():
    every = " ".join(HOSTILE)
    hidden = "".join(f"a{c}b " for c in INVISIBLE)
    s = Session(cwd=f"/{every}", host=HOSTILE[0], model=f"x/{every}")
    s.add("user", HOSTILE[0] + hidden + every)
    s.add("system", every)
    for text in HOSTILE:
        s.add("user", text)
        s.add("assistant", text, {"model": text, "reasoning": text, "stop": text})
        s.call(text, {text: text, "path": text, "command": text, "content": text + "\n" + text},
               {"tool_success": True, "result": {"output": text + "\n" + text, text: text}}, text)
        s.call("file_edit", {"path": text, "old_string": text + "\nold", "new_string": text},
               {"tool_success": False, "error": text, "stderr": text + "\n"}, text, success=False)
        s.call(text, text, text, text)  # no JSON anywhere
        s.add(text, text, {text: text})
        s.add("compaction", text)
    for text, _ in MARKDOWN:
        s.answer(text)
    s.answer("The last words. " + hidden)
    s.add("user", None, content_base64=base64.b64encode(b"bytes \xff\x01\x1b[31m end").decode())
    return s
