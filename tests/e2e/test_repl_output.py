"""What the interactive program shows, on terminals of all kinds: answers, tools, sizes, slow and poor terminals,
and output that would like to drive the terminal."""
import fcntl
import os
import re
import signal
import subprocess
import time
import unittest

import hostile
from fake_llm import Answer, Call, Wire
from repl_support import ReplTest, words_of
from support import IKIGAI, clean_env
from terminal_support import PATIENCE, SILENT

MARKDOWN = """# Title

A **bold** and *slanted* word, `code` and a [link](https://example.org/page).

- one
- two

> said

| a | b |
|---|---|
| 1 | 22 |

```python
def f(x):
    return "text"  # note
```

End.
"""


def calls(*calls, then="Done."):
    return [Answer("", calls=list(calls)), Answer(then)]


class AnswerTest(ReplTest):
    GOLDEN = """\
> show

# Title

A bold and slanted word, code and a link (https://example.org/page).

• one
• two

│ said

a  b
─  ──
1  22

python
def f(x):
    return "text"  # note

End.
"""

    def rows_after(self, t, first):
        rows = t.all_rows()
        begin = rows.index(first)
        return "\n".join(rows[begin:])

    def test_markdown_whatever_the_chunks(self):
        for fragments in (1, 7, len(MARKDOWN)):
            with self.subTest(fragments=fragments):
                t = self.ready([Answer(MARKDOWN, fragments=fragments)], rows=50)
                self.say(t, "show", re.compile("^End.$", re.M))
                t.wait_until(lambda: self.rows_after(t, "> show").startswith(self.GOLDEN),
                             "golden screen")
                t.close()

    def test_the_same_bytes_in_tmux(self):
        t = self.ready([Answer(MARKDOWN, fragments=50)], rows=24)
        self.say(t, "show", re.compile("^End.$", re.M))
        t.wait_idle()
        tmux = self.tmux(columns=80, rows=24)
        tmux.feed(t.raw)
        tmux.wait_for("End.")
        self.assertIn(self.GOLDEN.rstrip(), "\n".join(tmux.rows()))

    def test_a_first_message_on_the_command_line(self):
        t = self.start([Answer("Yes.")], "is this a prompt")
        t.wait_for("> is this a prompt")
        t.wait_for("Yes.")

    def test_many_rows_each_once_and_in_order(self):
        lines = [f"row {i} of the answer" for i in range(1, 301)]
        t = self.ready([Answer("```\n" + "\n".join(lines) + "\n```\n", fragments=900)])
        self.say(t, "go", "row 300 of the answer")
        t.wait_idle()
        shown = [row for row in t.all_rows() if row.startswith("row ")]
        self.assertEqual(shown, lines)

    def test_code_is_never_wrapped(self):
        line = "x" * 300
        t = self.ready([Answer(f"```\n{line}\n```\nAfter.")])
        self.say(t, "go", "After.")
        self.assertIn(line.encode(), t.raw)


class ToolTest(ReplTest):
    def test_every_argument_and_the_whole_result(self):
        self.write("a.txt", "alpha\nbeta\n")
        t = self.ready(calls(Call("grep", {"pattern": "beta", "path": ".", "ignore_case": True})))
        self.say(t, "go", "Done.")
        t.wait_for(re.compile(r"● grep  pattern: beta  path: \.  ignore_case: true"))
        t.wait_for(re.compile(r"└ #1 ok.*count: 1"))
        t.wait_for("a.txt:2: beta")

    def test_error_codes_are_visible(self):
        t = self.ready(calls(Call("file_read", {"file_path": "missing"}), Call("nothing", {}),
                             Call("bash", {"command": "exit 3"})))
        self.say(t, "go", "Done.")
        t.wait_for(re.compile(r"#1 failed.*FILE_NOT_FOUND"))
        t.wait_for(re.compile(r"#2 failed.*TOOL_NOT_FOUND"))
        t.wait_for(re.compile(r"#3 .*exit_code: 3"))

    def test_what_held_a_call_and_what_it_left_is_visible(self):
        t = self.ready(calls(Call("bash", {"command": "touch .envrc; exit 3"})), columns=200)
        self.say(t, "go", "Done.")
        t.wait_for(re.compile(r"#1 .*exit_code: 3.*note: Protected places appeared: \.envrc"))
        t.wait_for(re.compile(r"^ *confined: writes only in /.*, no network", re.M))

    def test_a_tool_of_the_users_says_so(self):
        hostile.sh_tool(os.path.join(self.home, "tools"), "mine", "echo '{\"output\": \"own\"}'")
        t = self.ready(calls(Call("mine", {})))
        self.say(t, "go", "Done.")
        t.wait_for("mine [user]")

    def test_a_spinner_writes_its_own_cells_and_not_often(self):
        t = self.ready(calls(Call("bash", {"command": "sleep 3"})))
        self.say(t, "go", "1 tool running")
        t.wait_for(re.compile("1s ● bash"))
        before = len(t.raw)
        t.wait_for(re.compile("2s ● bash"))
        self.assertLess(len(t.raw) - before, 400)  # some six frames, none of a whole row

    def test_live_tail_and_time_while_it_runs(self):
        gate = os.path.join(self.project, "gate")  # a room may not see what appears in /tmp
        command = f"echo working; until [ -e {gate} ]; do sleep 0.1; done; echo over"
        t = self.ready(calls(Call("bash", {"command": command})))
        self.say(t, "go", re.compile(r"[12]s ● bash"))
        t.wait_for(re.compile("^working$", re.M))
        open(gate, "w").close()
        t.wait_for("Done.")
        t.wait_until(lambda: not re.search(r"\ds ● bash", "\n".join(t.screen())), "end of the call")

    def test_several_at_once_each_with_its_own_line(self):
        gate = os.path.join(self.project, "gate")  # a room may not see what appears in /tmp
        for name in ("left", "right"):
            hostile.sh_tool(os.path.join(self.home, "tools"), name,
                            f"until [ -e {gate} ]; do sleep 0.05; done; echo '{{\"output\": \"{name} done\"}}'",
                            parallel=True)
        t = self.ready(calls(Call("left", {}), Call("right", {})))
        self.say(t, "go", re.compile(r"s ● left \[user\]\n.*s ● right \[user\]"))
        open(gate, "w").close()
        t.wait_for("Done.")

    def test_edits_are_diffs(self):
        self.write("f.c", "int a;\nint b;\n")
        t = self.ready([
            Answer("", calls=[Call("file_edit", {"file_path": "f.c", "old_string": "int b;",
                                                 "new_string": "long c;"})]),
            Answer("", calls=[Call("file_write", {"file_path": "f.c",
                                                  "content": "int a;\nlong c;\nchar d;\n"})]),
            Answer("Done.")])
        self.say(t, "go", "Done.")
        t.wait_for(re.compile(r"^@@ -1,2 \+1,2 @@\n int a;\n-int b;\n\+long c;$", re.M))
        t.wait_for(re.compile(r"^ long c;\n\+char d;$", re.M))
        self.assertIn(b"\x1b]8;;file://", t.raw)

    def marked(self, t, row):
        """The row of the screen with its marked cells in brackets."""
        at = t.screen().index(row)
        cells = [t.cell(at, column) for column in range(len(row))]
        return re.sub(r"\]\[", "", "".join(f"[{cell['text']}]" if cell["reverse"] else cell["text"] or " "
                                           for cell in cells))

    def test_changed_words_are_marked(self):
        """With and without colours, live, in a resumed session and in the pager."""
        edit = Call("file_edit", {"file_path": "f.c", "old_string": "return alpha + 1;",
                                  "new_string": "return beta + 1;"})
        for env in ({}, {"NO_COLOR": "1"}):
            with self.subTest(env=env):
                self.write("f.c", "int f() {\n\treturn alpha + 1; // why\n}\n")
                t = self.ready(calls(edit), env=env)
                self.say(t, "go", "Done.")
                self.assertEqual(self.marked(t, "-       return alpha + 1; // why"),
                                 "-       return [alpha] + 1; // why")
                self.assertEqual(self.marked(t, "+       return beta + 1; // why"),
                                 "+       return [beta] + 1; // why")
                colours = re.search(rb"\+(\x1b\[[0-9;]*m)?\t(\x1b\[[0-9;]*m)?return", t.raw)
                self.assertEqual(colours[2] is not None, not env)  # a keyword
                self.assertEqual(self.leave(t), 0)
                t = self.ready(None, "-c", env=env)
                t.wait_for("+return beta + 1;")
                self.assertEqual(self.marked(t, "+return beta + 1;"), "+return [beta] + 1;")
                self.show(t, 1, "result 1  END")
                self.assertEqual(self.marked(t, "-return alpha + 1;"), "-return [alpha] + 1;")
                self.close_pager(t)
                t.close()

    def test_a_diff_drives_no_terminal(self):
        evil = "x = \x1b]0;pwned\x07\u202e\x1b[2J1"
        self.write("f.c", "x = 0\n")
        t = self.ready(calls(Call("file_edit", {"file_path": "f.c", "old_string": "x = 0",
                                                "new_string": evil})))
        self.say(t, "go", "Done.")
        t.wait_for(re.compile(r"^\+x = <U\+202E>1$", re.M))
        self.assertNotIn(b"pwned", t.raw)
        self.assertNotIn(b"\x1b[2J", t.raw)

    def test_one_report_of_one_edit(self):
        self.write("f.c", "int a;\nint b;\nint b;\n")
        edit = {"file_path": "f.c", "old_string": "int a;", "new_string": "long a;"}
        both = {"file_path": "f.c", "old_string": "int b;", "new_string": "c", "replace_all": True}
        t = self.ready(calls(Call("file_edit", edit), Call("file_edit", both),
                             Call("file_write", {"file_path": "g.c", "content": "new\n"}),
                             Call("file_edit", edit)))
        self.say(t, "go", "Done.")
        rows = re.sub(r"  \d[\d.]* m?s", "", "\n".join(t.all_rows()))
        self.assertIn("""
● file_edit  file_path: f.c
@@ -1,3 +1,3 @@
-int a;
+long a;
 int b;
 int b;
└ #1 ok

● file_edit  file_path: f.c  replace_all: true
@@ -1,3 +1,3 @@
 long a;
-int b;
-int b;
+c
+c
└ #2 ok  replacements: 2

● file_write  file_path: g.c
@@ -0,0 +1,1 @@
+new
└ #3 ok

● file_edit""", rows)
        t.wait_for(re.compile("#4 failed.*NOT_FOUND"))
        self.show(t, 1, "Replaced 1 occurrence")

    def test_a_backslash_and_an_n_are_no_line_end(self):
        t = self.ready(calls(Call("grep", {"pattern": "a\\nb\\\\", "path": "."}),
                             Call("grep", {"pattern": "a\nb", "path": "."})))
        self.say(t, "go", "Done.")
        t.wait_for(re.compile(r"^● grep  pattern: a\\nb\\\\  path: \.$", re.M))
        t.wait_for(re.compile(r"^● grep  path: \.\npattern:\na\nb$", re.M))

    def test_what_was_interrupted_has_not_failed(self):
        t = self.ready([Answer("", calls=[Call("bash", {"command": "echo begun; sleep 600"}),
                                          Call("bash", {"command": "echo second"})])])
        self.say(t, "go", re.compile("^begun$", re.M))
        t.send("\x1b")
        t.wait_for(re.compile("^interrupted$", re.M))
        rows = "\n".join(t.all_rows())
        self.assertRegex(rows, r"(?m)^└ #1 interrupted  [\d.]+ m?s$")
        self.assertRegex(rows, r"(?m)^└ #2 interrupted  The call was interrupted before the tool")
        for noise in ("failed", "exit_code", "stdout", "stderr", "error", "confined"):
            self.assertNotIn(noise, rows)

    def test_calls_that_wait_are_seen_and_why(self):
        gate = os.path.join(self.project, "gate")  # a room may not see what appears in /tmp
        hostile.sh_tool(os.path.join(self.home, "tools"), "look", "echo '{\"output\": \"\"}'", parallel=True)
        wait = f"until [ -e {gate} ]; do sleep 0.05; done"
        t = self.ready(calls(Call("bash", {"command": wait}), Call("look", {}),
                             Call("bash", {"command": "echo two"})), rows=30)
        t.send("go\r")
        t.wait_for(re.compile(r"s ● bash .*\n"
                              r"waiting, bash runs alone: ● look \[user\]\n"
                              r"waiting, bash runs alone: ● bash  command: echo two\n"))
        t.wait_for("1 tool running")
        open(gate, "w").close()
        t.wait_for("Done.")
        t.wait_gone("waiting")

    def test_many_calls_that_wait(self):
        gate = os.path.join(self.project, "gate")  # a room may not see what appears in /tmp
        wait = f"until [ -e {gate} ]; do sleep 0.05; done"
        t = self.ready(calls(Call("bash", {"command": wait}),
                             *[Call("bash", {"command": f"echo {i}"}) for i in range(9)]))
        t.send("go\r")
        t.wait_for(re.compile("command: echo 1\n… 7 more calls waiting"))
        open(gate, "w").close()
        t.wait_for("Done.")

    def test_a_long_result_is_cut_and_shown_on_demand(self):
        t = self.ready(calls(Call("bash", {"command": "seq 1 1000"})))
        self.say(t, "go", "… 600 more lines, /show 1")
        self.assertNotIn("401", t.all_rows())
        self.show(t, 1, "● bash  command: seq 1 1000")
        t.send("G")
        t.wait_for(re.compile("^1000$", re.M))

    def test_ten_megabytes_freeze_nothing(self):
        self.serve([Answer("", calls=[Call("bash", {"command": "yes 0123456789 | head -c 10000000"})]),
                    Answer("Done.")])
        self.configure(model="local/qwen3", max_output_size=10485760, providers={"local": {
            "type": "openai", "base_url": self.llm.base_url("openai")}})
        t = self.ready()
        self.say(t, "go", "more lines, /show 1")
        t.send("still here")
        t.wait_for("> still here")
        self.assertLess(len(t.raw), 300_000)


class ShortTest(ReplTest):
    """tool_output: short, and Ctrl-T."""
    CTRL_T = "\x14"
    ROWS = r"""(?m)^● file_read  src/f.c  3 lines  [\d.]+ m?s  /show 1
● grep  int \[ab\] in src  2 matches found  [\d.]+ m?s  /show 2
● glob  \*\*/\*.c  1 file found  [\d.]+ m?s  /show 3

● file_read  file_path: gone.c
└ #4 failed .*error_code: FILE_NOT_FOUND
  confined: no writes except in /tmp, no network

● bash  command: seq 20
└ #5 ok  .*
… 12 more lines, /show 5
13
14
15
16
17
18
19
20

● bash  command: seq 8
└ #6 ok  .*
1
2
3
4
5
6
7
8

● file_edit  file_path: src/f.c
@@ -1,3 \+1,13 @@
-int a;
\+1
\+2
\+3
\+4
\+5
\+6
\+7
\+8
\+9
\+10
\+11
 int b;
 int c;
└ #7 ok  .*$"""

    def script(self):
        self.write("src/f.c", "int a;\nint b;\nint c;\n")
        many = "\n".join(str(i) for i in range(1, 12))
        return [Answer("", calls=[Call("file_read", {"file_path": "src/f.c"}),
                                  Call("grep", {"pattern": "int [ab]", "path": "src"})]),
                *calls(Call("glob", {"pattern": "**/*.c"}),
                       Call("file_read", {"file_path": "gone.c"}),
                       Call("bash", {"command": "seq 20"}), Call("bash", {"command": "seq 8"}),
                       Call("file_edit", {"file_path": "src/f.c", "old_string": "int a;",
                                          "new_string": many}))]

    def test_live_and_resumed(self):
        self.serve(self.script(), tool_output="short")
        t = self.ready(columns=120, rows=60)
        self.say(t, "go", "Done.")
        self.assertRegex("\n".join(t.all_rows()), self.ROWS)
        self.assertEqual(self.leave(t), 0)
        resumed = self.ROWS.replace(r"@@ -1,3 \+1,13 @@", r"@@ -1,1 \+1,11 @@")
        resumed = resumed.replace(" int b;\n int c;\n", "")
        t = self.ready(None, "-c", columns=120, rows=60)
        t.wait_for(re.compile("└ #7 ok"))
        self.assertRegex("\n".join(t.all_rows()), resumed)
        rows = self.show(t, 5, "result 5  END")
        self.assertEqual(rows[2:22], [str(i) for i in range(1, 21)])
        self.close_pager(t)
        self.show(t, 1, re.compile("^int a;\nint b;\nint c;$", re.M))

    def test_plain(self):
        self.serve(self.script(), tool_output="short")
        t = self.start(None, "--plain", plain=True, columns=120)
        self.say(t, "go", "Done.")
        self.assertRegex("\n".join(t.all_rows()), self.ROWS)
        self.say(t, "/show 5", re.compile("^12\n13\n", re.M))

    def test_a_narrow_window(self):
        self.serve(self.script(), tool_output="short")
        t = self.ready(columns=40, rows=60)
        self.say(t, "go", "Done.")
        rows = t.all_rows()
        self.assertIn("● file_read  src/f.c  3 lines  /show 1", [re.sub(r"  [\d.]+ m?s", "", r)
                                                                 for r in rows])
        for row in rows:
            if row.startswith(("● file_read  src", "● grep", "● glob")):
                self.assertRegex(row, "  /show [123]$")

    def test_the_key_switches_and_touches_nothing_printed(self):
        count = [Answer("", calls=[Call("bash", {"command": "seq 20"})]), Answer("Counted.")]
        t = self.ready(count * 3, rows=60)
        self.enter(t, "one", "Counted.")
        before = t.all_rows()
        printed = before[:before.index("Counted.") + 1]
        t.send("draft" + self.CTRL_T)
        t.wait_for(re.compile("^tool_output: short$", re.M))
        t.wait_for("> draft")
        self.assertEqual(t.all_rows()[:len(printed)], printed)
        t.send("\x15")
        rows = self.enter(t, "two", "Counted.")
        self.assertEqual(rows[3:12], ["… 12 more lines, /show 2", *map(str, range(13, 21))])
        t.send(self.CTRL_T)
        t.wait_for(re.compile("^tool_output: full$", re.M))
        rows = self.enter(t, "three", "Counted.")
        self.assertEqual(rows[3:23], [str(i) for i in range(1, 21)])
        self.assertEqual(t.all_rows()[:len(printed)], printed)

    def test_the_key_beside_a_list_and_as_a_modern_terminal_sends_it(self):
        t = self.ready([], rows=40)
        t.send("/usa")
        t.wait_for("/usage")
        t.send(self.CTRL_T)
        t.wait_for(re.compile("^tool_output: short$", re.M))
        t.wait_for(re.compile("^> /usa$", re.M))
        t.send("\x1b[116;5u")
        t.wait_for(re.compile("^tool_output: full$", re.M))
        t.wait_for(re.compile("^> /usa$", re.M))

    def test_the_key_while_the_agent_works(self):
        gate = os.path.join(self.project, "gate")  # a room may not see what appears in /tmp
        wait = f"until [ -e {gate} ]; do sleep 0.05; done; seq 20"
        t = self.ready(calls(Call("bash", {"command": wait})), rows=40)
        t.send("go\r")
        t.wait_for(re.compile(r"s ● bash"))
        t.send(self.CTRL_T)
        t.wait_for(re.compile("^tool_output: short$", re.M))
        open(gate, "w").close()
        t.wait_for("Done.")
        t.wait_for(re.compile("^… 12 more lines, /show 1\n13$", re.M))

    def test_a_project_cannot_choose_it(self):
        self.write(".ikigai/config.json", '{"tool_output": "short"}', 0o600)
        t = self.ready(calls(Call("bash", {"command": "seq 9"})), rows=40)
        self.say(t, "go", "Done.")
        t.wait_for(re.compile("^1\n2\n3$", re.M))

    def test_a_command_of_the_user_is_shown_as_ever(self):
        self.serve([], tool_output="short")
        t = self.ready(rows=40)
        rows = self.enter(t, "!seq 12", re.compile("^12$", re.M), below="! seq 12")
        self.assertEqual(rows[1:], [str(i) for i in range(1, 13)])

    def test_headless_output_is_the_same(self):
        shown = []
        for value in ("full", "short"):
            self.serve(calls(Call("bash", {"command": "seq 20"})), tool_output=value)
            done = subprocess.run([IKIGAI, "-p", "go"], cwd=self.project, capture_output=True,
                                  env=clean_env(IKIGAI_HOME=self.home), check=True)
            shown.append((done.stdout, re.sub(rb"\d", b"", done.stderr)))
        self.assertEqual(shown[0], shown[1])


class SizeTest(ReplTest):
    def test_resizing_loses_and_doubles_nothing(self):
        lines = [f"row {i} of the answer" for i in range(1, 121)]
        t = self.ready([Answer("```\n" + "\n".join(lines) + "\n```\n", fragments=240,
                               wire=Wire(delay_event=0.005))])
        t.send("go\r")
        t.wait_for("row 3 of")
        for columns, rows in ((60, 20), (100, 30), (40, 12), (80, 24)):
            t.resize(columns, rows)
            t.wait_idle(0.1)
        t.wait_for("row 120 of the answer")
        t.wait_idle()
        shown = [row for row in t.all_rows() if row.startswith("row ")]
        self.assertEqual(shown, lines)

    def test_a_storm_of_resizes(self):
        t = self.ready()
        t.send("a draft that is here to stay")
        for i in range(60):
            t.resize(50 + i % 40, 15 + i % 20)
        t.resize(80, 24)
        t.wait_until(lambda: t.screen().count("> a draft that is here to stay") == 1, "one draft")

    def test_a_tiny_terminal(self):
        t = self.start([Answer("A few words of an answer.")], columns=20, rows=5)
        self.say(t, "hi", re.compile("few"))
        self.assertEqual(self.leave(t), 0)

    def test_our_own_sentences_are_wrapped_at_words(self):
        t = self.start([Answer("Hi.")], columns=30, rows=24)
        t.wait_for("Type a message and press\nEnter. /help shows commands\nand keys.")

    def test_reflow_in_tmux(self):
        """On a terminal that reflows, nothing is lost when it becomes narrower and wider."""
        self.serve([Answer("\n\n".join(f"Paragraph {i} with some words in it." for i in range(1, 9)))])
        tmux = self.tmux([IKIGAI], columns=80, rows=24, cwd=self.project,
                         env=clean_env(IKIGAI_HOME=self.home))
        tmux.wait_for("/help")
        tmux.send_text("hello")
        tmux.send_keys("Enter")
        tmux.wait_for("Paragraph 8")
        tmux.send_text("a draft that is a little longer than forty columns are wide")
        for columns in (40, 70, 30, 80):
            tmux.resize(columns, 24)
            time.sleep(0.5)  # until the size is settled
        tmux.wait_for("> a draft that is a little longer than forty columns are wide")
        text = "\n".join(tmux.rows())
        for i in range(1, 9):
            self.assertEqual(text.count(f"Paragraph {i} with"), 1, text)

    def test_the_window_gets_its_title_back(self):
        """While ikigai is stopped, and when it has ended; saved once, however often that is."""
        self.decline_setup()
        tmux = self.tmux(["sh", "-i"], cwd=self.project,
                         env=clean_env(IKIGAI_HOME=self.home, PS1="$ "))
        tmux.run("select-pane", "-T", "mine")
        tmux.send_keys(IKIGAI, "Enter")
        for keys in (["C-z"], ["fg", "Enter"], ["C-z"], ["fg", "Enter"], ["C-d"]):
            tmux.wait_title("mine" if keys[0] == "fg" else f"ikigai: {self.project}")
            if keys[0] != "fg":
                tmux.wait_for(re.compile("^>$", re.M))
            tmux.send_keys(*keys)
        tmux.wait_title("mine")


class PoorTerminalTest(ReplTest):
    def test_no_color(self):
        t = self.ready([Answer(MARKDOWN)], env={"NO_COLOR": "1"})
        self.say(t, "show", re.compile("^End.$", re.M))
        self.assertIsNone(re.search(rb"\x1b\[[0-9;]*(3[0-8]|4[0-8]|9[0-7])[;m]", t.raw))
        self.assertIn(b"\x1b[1m", t.raw)

    def test_dumb(self):
        t = self.start([Answer(MARKDOWN), Answer("Second.")], env={"TERM": "dumb"}, dumb=True)
        self.say(t, "show", re.compile("^End.$", re.M))
        self.say(t, "more", "Second.")
        self.assertNotIn(b"\x1b", t.raw)
        self.assertEqual(self.leave(t), 0)

    def test_plain(self):
        t = self.start([Answer(MARKDOWN)], "--plain", plain=True)
        self.say(t, "show", re.compile("^End.$", re.M))
        t.wait_for(re.compile(r"End\.\n> ?$"))
        self.assertIsNone(re.search(rb"\x1b\[[0-9;?]*[A-HJKSThl]", t.raw))
        t.send("/tool\r")
        t.wait_for("Available tools:")
        self.assertEqual(self.leave(t), 0)

    def test_plain_loses_no_part_of_a_line(self):
        """After a NUL byte, and at the end of input in a line that was to be continued."""
        t = self.start([Answer("One."), Answer("Two.")], "--plain", plain=True)
        self.say(t, "be\0fore and after\0", "One.")
        t.wait_for(re.compile(r"One\.\n> ?$"))
        t.send("first\\\nsecond\\\x04\x04")
        self.assertEqual(t.wait_exit(), 0)
        self.assertEqual(words_of(self.llm.requests[1]),
                         ["before and after", "One.", "first\nsecond\\"])

    def test_plain_shares_the_terminal_as_it_was(self):
        """A terminal that does not block would make a shell's other programs fail: tee, cat."""
        t = self.start(None, "--plain", plain=True)
        self.assertEqual(fcntl.fcntl(t.slave, fcntl.F_GETFL) & os.O_NONBLOCK, 0)
        self.say(t, "/tool", "Available tools:")
        self.assertEqual(self.leave(t), 0)
        self.assertEqual(fcntl.fcntl(t.slave, fcntl.F_GETFL) & os.O_NONBLOCK, 0)

    def test_plain_interrupt_and_end(self):
        t = self.start([Answer("word " * 400, fragments=400, wire=Wire(delay_event=0.05))], "--plain",
                       plain=True)
        t.send("go\r")
        self.llm.wait_for_requests(1)
        t.send("\x03")
        t.wait_for("interrupted")
        t.send("\x03")
        self.assertEqual(t.wait_exit(), 130)

    def test_a_terminal_that_answers_nothing(self):
        t = self.ready([Answer("Fine.")], answers=SILENT)
        self.say(t, "hi", "Fine.")
        self.assertEqual(self.leave(t), 0)

    def test_without_a_terminal_stdin_is_one_prompt(self):
        self.serve([Answer("Piped.")])
        done = subprocess.run([IKIGAI], input=b"a question", cwd=self.project, timeout=PATIENCE,
                              env=clean_env(IKIGAI_HOME=self.home), capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (0, b"Piped.\n"))


class SlowTerminalTest(ReplTest):
    def test_a_stopped_terminal_blocks_no_tool_and_loses_no_row(self):
        mark = os.path.join(self.project, "mark")
        lines = [f"row {i} of a long answer that fills the buffers of the terminal" for i in range(4000)]
        t = self.ready([Answer("```\n" + "\n".join(lines) + "\n```\n", calls=[
            Call("bash", {"command": f"touch {mark}"})]), Answer("Finished.")])
        t.pause_reading()
        t.send("go\r")
        deadline = time.monotonic() + PATIENCE
        while not os.path.exists(mark) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertTrue(os.path.exists(mark), "the tool did not run")
        t.resume_reading()
        t.wait_for("Finished.")
        shown = [row for row in t.all_rows() if row.startswith("row ")]
        self.assertEqual(shown, lines)

    def test_leaving_a_stopped_terminal(self):
        t = self.ready([Answer("x\n" * 200_000)])
        t.pause_reading()
        t.send("go\r")
        self.llm.wait_for_outcome(1)
        t.check = False
        t.signal(signal.SIGTERM)
        self.assertEqual(t.child.wait(PATIENCE), 143)


class HostileOutputTest(ReplTest):
    EVIL = "\x1b[2Jbad\x1b]0;title\x07\x1b]52;c;eA==\x07\x9b31m\u009b1m\x1bc\x1bP1$r\x1b\\\u202etxt"

    def check_clean(self, t):
        for evil in (b"\x1b[2J", b"]0;title", b"]52;c;eA", b"\x1bc", b"\x1bP", b"\xc2\x9b"):
            self.assertNotIn(evil, t.raw)
        self.assertNotIn("\u202e".encode(), t.raw)

    def test_model_text(self):
        t = self.ready([Answer(self.EVIL + " end"), ])
        self.say(t, "go", "<U+202E>txt end")
        self.check_clean(t)

    def test_tool_output_and_arguments(self):
        self.write("evil.txt", self.EVIL + "\n\x1b[31mred\x1b[m\n")
        self.write("na\x1b[2Jme\x07.txt", "")
        t = self.ready(calls(Call("bash", {"command": "cat evil.txt; ls"}),
                             Call("file_read", {"file_path": self.EVIL})))
        self.say(t, "go", "Done.")
        t.wait_for(re.compile("^red$", re.M))
        self.check_clean(t)

    def test_the_model_gets_no_escapes(self):
        self.write("evil.txt", "\x1b[31mred\x1b[m plain\n")
        t = self.ready(calls(Call("file_read", {"file_path": "evil.txt"})))
        self.say(t, "go", "Done.")
        self.assertIn("red plain", str(self.llm.requests[1].json))
        self.assertNotIn("\\u001b", self.llm.requests[1].body.decode())


if __name__ == "__main__":
    unittest.main()
