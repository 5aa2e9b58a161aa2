"""Images in the interactive program: named, pasted and from the clipboard; their rows, and their
previews in terminals that said that they can show them."""
import base64
import hashlib
import json
import os
import re
import subprocess
import time
import unittest

from fake_llm import Answer, Call
from image_support import gif, png, sixel_pixels
from repl_support import ReplTest
from support import IKIGAI, PATIENCE, clean_env, tool_script
from terminal_support import (CELL, COLOURS, DA1, DARK, GRAPHICS, KITTY, MODERN, NO_GRAPHICS, SILENT,
                              SIMPLE, SIXEL_DA1, SYNCHRONISED, version)

SHOT = png(640, 480)
ABLE = [GRAPHICS, *MODERN]
PASTE = "\x1b[200~{}\x1b[201~"


class ImageTest(ReplTest):
    def setUp(self):
        super().setUp()
        self.put("shot.png", SHOT)

    def terminal(self, argv, graphics="asked", **options):
        t = super().terminal(argv, **options)
        t.graphics = graphics
        return t

    def put(self, name, data):
        path = os.path.join(self.project, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def messages(self, kind="user"):
        """The messages of the only session, as the export has them."""
        env = clean_env(IKIGAI_HOME=self.home)
        run = lambda *args: subprocess.run([IKIGAI, *args], env=env, cwd=self.project, check=True,
                                           capture_output=True).stdout.decode()
        (session,) = json.loads(run("session", "list", "--json"))
        lines = [json.loads(line) for line in run("session", "export",
                                                  session["id"]).splitlines()]
        return [line for line in lines if line.get("kind") == kind]

    def sent(self):
        """The names of the images of each message of the user."""
        return [[image["name"] for image in (message["data"] or {}).get("images", [])]
                for message in self.messages()]

    def rows_below(self, t, text):
        rows = t.all_rows()
        return rows[rows.index(text) + 1:]


class NamedTest(ImageTest):
    def test_a_message_shows_what_is_attached(self):
        t = self.start([Answer("A picture.")])
        self.say(t, "what is @shot.png?", "A picture.")
        self.assertRegex(self.rows_below(t, "> what is @shot.png?")[0],
                         r"^  \[shot\.png, image/png, 640x480, \d+(\.\d+)? (KB|bytes)\]$")
        self.leave(t)
        self.assertEqual(self.sent(), [["shot.png"]])
        self.assertEqual(self.messages()[0]["content"], "what is @shot.png?")

    def test_what_cannot_be_used_is_a_warning_and_the_text_is_sent(self):
        self.put("text.png", b"no image")
        t = self.start([Answer("No picture.")])
        self.say(t, "see @text.png and @missing.png ", "No picture.")
        t.wait_for("text.png: not a png")
        t.wait_for("missing.png: there is no such file")
        self.leave(t)
        self.assertEqual(self.sent(), [[]])

    def test_option(self):
        t = self.start([Answer("One."), Answer("Two.")], "--image", "shot.png")
        t.wait_for("The image is sent with your first message.")
        self.say(t, "first", "One.")
        self.say(t, "second", "Two.")
        self.assertIn("shot.png, image/png", self.rows_below(t, "> first")[0])
        self.leave(t)
        self.assertEqual(self.sent(), [["shot.png"], []])

    def test_option_with_a_prompt(self):
        t = self.start([Answer("One.")], "--image", "shot.png", "look here")
        t.wait_for("One.")
        self.leave(t)
        self.assertEqual(self.sent(), [["shot.png"]])

    def test_an_option_that_cannot_be_used_ends_with_status_2(self):
        self.serve([Answer("Never.")])
        t = self.terminal([IKIGAI, "--image", "missing.png"], cwd=self.project, answers=MODERN,
                          env=clean_env(IKIGAI_HOME=self.home, TERM="xterm-256color"))
        self.assertEqual(t.wait_exit(), 2)
        self.assertIn("missing.png: there is no such file", "\n".join(t.all_rows()))
        self.assertEqual(self.llm.requests, [])

    def test_fork(self):
        t = self.start([Answer("Hello."), Answer("A picture.")])
        self.say(t, "hi", "Hello.")
        self.settle(t)
        self.say(t, "/fork what is @shot.png ", "A picture.")
        self.leave(t)
        self.assertEqual(self.sent()[-1], ["shot.png"])

    def test_queued_and_steering(self):
        self.put("other.png", png(2, 2))
        t = self.start([Answer(calls=[Call("bash", {"command": "while [ ! -e go ]; do sleep 0.05; done"})]),
                        Answer("Seen."), Answer("Done.")])
        t.send("work\r")
        t.wait_for("bash")
        t.wait_for("esc to interrupt")
        t.send("look at @shot.png \r")
        t.wait_for("next: look at @shot.png")
        t.send("then @other.png \x1b\r")
        t.wait_for("queued: then @other.png")
        self.put("shot.png", b"somebody wrote over it")
        self.write("go", "")
        t.wait_for("Done.")
        self.leave(t)
        self.assertEqual(self.sent(), [[], ["shot.png"], ["other.png"]])
        (_, steering, _) = self.messages()
        self.assertEqual(steering["data"]["images"][0]["sha256"], hashlib.sha256(SHOT).hexdigest())

    def test_a_message_that_returns_to_the_draft_is_attached_when_it_is_sent(self):
        t = self.start([Answer(calls=[Call("bash", {"command": "sleep 60"})]), Answer("Seen.")])
        t.send("work\r")
        t.wait_for("esc to interrupt")
        t.wait_for("bash")
        t.send("look at @shot.png \r")
        t.wait_for("next: look at @shot.png")
        t.send("\x1b")
        t.wait_for("interrupted")
        t.wait_for(re.compile("^> look at @shot.png", re.M))
        t.send("\x05 please\r")
        t.wait_for("Seen.")
        self.leave(t)
        self.assertEqual(self.sent()[-1], ["shot.png"])

    def test_a_draft_keeps_it_over_a_restart(self):
        t = self.start([Answer("Hello."), Answer("A picture.")])
        self.say(t, "hi", "Hello.")
        t.send(PASTE.format(os.path.join(self.project, "shot.png")) + "what is it")
        t.wait_for(re.compile("^> @.*shot.png what is it", re.M))
        self.leave_with_draft(t)
        t = self.terminal([IKIGAI, "-c"], cwd=self.project, answers=MODERN,
                          env=clean_env(IKIGAI_HOME=self.home, TERM="xterm-256color"))
        t.wait_for(re.compile("^> @.*shot.png what is it", re.M))
        t.send("\r")
        t.wait_for("A picture.")
        self.leave(t)
        self.assertEqual(self.sent()[-1], ["shot.png"])

    def leave_with_draft(self, t):
        t.child.terminate()
        self.assertEqual(t.wait_exit(), 128 + 15)

    def test_resumed_and_in_the_pager(self):
        t = self.start([Answer("A picture.")])
        self.say(t, "what is @shot.png?", "A picture.")
        self.leave(t)
        t = self.start(None, "-c", env={"IKIGAI_MODEL": "local/qwen3"})
        t.wait_for("[shot.png, image/png, 640x480")
        t.send("\x0f")
        t.wait_until(lambda: self.in_pager(t), "pager")
        t.wait_until(lambda: any("[shot.png, image/png" in row for row in t.screen()), "row")
        self.close_pager(t)
        self.leave(t)

    def test_plain(self):
        self.serve([Answer("A picture.")])
        t = self.terminal([IKIGAI, "--plain"], cwd=self.project, answers=ABLE, plain=True,
                          env=clean_env(IKIGAI_HOME=self.home, TERM="xterm-256color"))
        t.wait_for("> ")
        t.send("what is @shot.png\r")
        t.wait_for("A picture.")
        t.wait_for("[shot.png, image/png, 640x480")
        t.send("\x04")
        t.wait_exit()


class PasteTest(ImageTest):
    def paste(self, text, expected):
        t = self.start([Answer("Seen.")])
        t.send(PASTE.format(text))
        t.wait_for(re.compile("^> " + re.escape(expected) + "$", re.M))
        return t

    def test_paths_as_terminals_paste_them(self):
        spaced = self.put("my shot (1).png", SHOT)
        plain = os.path.join(self.project, "shot.png")
        for text, expected in ((plain, "@" + plain), (plain + " ", "@" + plain),
                               (f"'{spaced}'", f'@"{spaced}"'), (spaced, f'@"{spaced}"'),
                               (re.sub(r"([ ()])", r"\\\1", spaced), f'@"{spaced}"'),
                               ("file://" + spaced.replace(" ", "%20") + "\r\n", f'@"{spaced}"'),
                               ("shot.png", "@shot.png")):
            with self.subTest(text):
                t = self.start([Answer("Seen.")], columns=200)
                t.send("see " + PASTE.format(text))
                t.wait_for(re.compile("^> see " + re.escape(expected), re.M))
                t.send("now\r")
                t.wait_for("Seen.")
                self.assertIn(re.sub("^@\"?(.*/)?([^/\"]*)\"?$", r"  [\2, image/png",
                                     expected), "\n".join(t.all_rows()))
                self.leave(t)
                subprocess.run(["rm", "-rf", self.home], check=True)

    def test_several_paths(self):
        self.put("other.gif", gif())
        t = self.start([Answer("Seen.")])
        t.send(PASTE.format("shot.png other.gif\n") + "compare\r")
        t.wait_for("Seen.")
        self.leave(t)
        self.assertEqual(self.sent(), [["shot.png", "other.gif"]])

    def test_a_sign_before_the_paste_is_not_doubled(self):
        t = self.start()
        t.send("@" + PASTE.format("shot.png"))
        t.wait_for(re.compile("^> @shot.png *$", re.M))
        t.send("\x03")
        t.send("see:" + PASTE.format("shot.png"))
        t.wait_for(re.compile("^> see: @shot.png *$", re.M))
        t.send("\x03")
        self.leave(t)

    def test_other_pastes_stay_as_they_are(self):
        self.put("notes.txt", b"no image")
        t = self.start()
        for text in ("notes.txt", "see shot.png", "missing.png", "shot.png notes.txt"):
            t.send(PASTE.format(text))
            t.wait_for(re.compile("^> " + re.escape(text) + "$", re.M))
            t.send("\x03")
            t.wait_gone(text)
        t.send("!ls " + PASTE.format("shot.png"))
        t.wait_for(re.compile("^! ?ls shot.png$|^> !ls shot.png$", re.M))
        t.send("\x03")
        self.leave(t)


class ClipboardTest(ImageTest):
    def program(self, name, body):
        folder = os.path.join(self.dir, "programs")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name)
        with open(path, "w") as f:
            f.write("#!/bin/sh\n" + body)
        os.chmod(path, 0o755)
        return f"{folder}:/usr/bin:/bin"

    def open(self, path, script=None, **env):
        return self.start(script, env={"PATH": path, "WAYLAND_DISPLAY": "", "DISPLAY": "", **env})

    def test_wayland(self):
        path = self.program("wl-paste", f'[ "$3" = image/png ] && exec cat {self.project}/shot.png\n'
                                        "exit 1\n")
        t = self.open(path, [Answer("Seen.")], WAYLAND_DISPLAY="wayland-0")
        t.send("look \x16")
        t.wait_for(re.compile(r"^> look @.*/pasted/clipboard-\d{8}-\d{6}\.png", re.M))
        t.send("please\r")
        t.wait_for("Seen.")
        t.wait_for(re.compile(r"^  \[clipboard-\d{8}-\d{6}\.png, image/png, 640x480", re.M))
        self.leave(t)
        (message,) = self.messages()
        self.assertEqual(message["data"]["images"][0]["sha256"], hashlib.sha256(SHOT).hexdigest())
        folder = os.path.join(self.home, "pasted")
        self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700)
        (name,) = os.listdir(folder)
        self.assertEqual(os.stat(os.path.join(folder, name)).st_mode & 0o777, 0o600)

    def test_x11_with_another_kind(self):
        self.put("anim.gif", gif())
        path = self.program("xclip", f'[ "$4" = image/jpeg ] && exec cat {self.project}/anim.gif\n'
                                     'echo "target not available" >&2\nexit 1\n')
        t = self.open(path, DISPLAY=":7")
        t.send("\x16")
        t.wait_for(re.compile(r"^> @.*/pasted/clipboard-\d{8}-\d{6}\.gif", re.M))
        t.send("\x03")
        self.leave(t)

    def test_without_an_image_nothing_is_inserted(self):
        path = self.program("xclip", "echo some text\n")
        t = self.open(path, DISPLAY=":7")
        t.send("draft\x16")
        t.wait_for("The clipboard holds no image.")
        t.wait_for(re.compile("^> draft$", re.M))
        t.send("\x03")
        self.leave(t)

    def test_a_missing_program_is_named(self):
        t = self.open(self.program("nothing", ""), WAYLAND_DISPLAY="wayland-0")
        t.send("\x16")
        t.wait_for("needs the package wl-clipboard")
        self.leave(t)

    def test_no_clipboard(self):
        t = self.open("/usr/bin:/bin")
        t.send("\x16")
        t.wait_for("There is no clipboard here")
        self.leave(t)

    def test_a_program_that_hangs_holds_up_nothing(self):
        path = self.program("xclip", "echo $$ >> " + self.project + "/pids\nexec sleep 1000\n")
        t = self.open(path, DISPLAY=":7")
        t.send("\x16and on")
        t.wait_for(re.compile("^> and on$", re.M))
        t.wait_until(lambda: os.path.exists(os.path.join(self.project, "pids")), "the program")
        t.send("\x16\x03")
        self.assertEqual(self.leave(t), 0)
        with open(os.path.join(self.project, "pids")) as f:
            pids = f.read().split()
        deadline = time.monotonic() + PATIENCE
        while any(os.path.exists(f"/proc/{pid}/cmdline") for pid in pids):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def paste_during(self, begin, end, **env):
        """Presses Ctrl-V after a draft and has the image arrive between begin and end, which get the
        terminal. A program that was given up on a busy machine is asked again. Returns the terminal."""
        gate = os.path.join(self.dir, "gate")
        pids = os.path.join(self.dir, "pids")
        pasted = os.path.join(self.home, "pasted")
        path = self.program("xclip", f"echo $$ >> {pids}\n"
                                     f"until [ -e {gate} ]; do sleep 0.05; done\n"
                                     f"exec cat {self.project}/shot.png\n")

        def is_given_up():
            if not os.path.exists(pids):
                return False
            with open(pids) as f:
                asked = f.read().split()
            return len(asked) == 2 and not any(os.path.exists(f"/proc/{pid}") for pid in asked)

        t = self.open(path, [], DISPLAY=":7", **env)
        t.send("see ")
        while not os.path.exists(pasted):
            t.send("\x16")
            begin(t)
            with open(gate, "w"):
                pass
            t.wait_until(lambda: os.path.exists(pasted) or is_given_up(), "the image")
            end(t)
            os.unlink(gate)
            if os.path.exists(pids):
                os.unlink(pids)
        return t

    def test_a_list_does_not_get_it(self):
        def begin(t):
            t.send("\x12")
            t.wait_for("search:")

        def end(t):
            t.send("\x1b")
            t.wait_gone("search:")

        t = self.paste_during(begin, end)
        t.wait_for(re.compile(r"^> see @.*/pasted/clipboard-\d{8}-\d{6}\.png", re.M))
        t.send("\x03")
        self.leave(t)

    def test_an_editor_keeps_it(self):
        opened = os.path.join(self.dir, "opened")
        closed = os.path.join(self.dir, "closed")
        editor = self.write("editor", f"#!/bin/sh\n: > {opened}\n"
                                      f"until [ -e {closed} ]; do sleep 0.05; done\n"
                                      f"rm {closed}\necho edited > \"$1\"\n", 0o755)

        def begin(t):
            t.send("\x07")
            t.wait_until(lambda: os.path.exists(opened), "the editor")

        def end(t):
            os.unlink(opened)
            with open(closed, "w"):
                pass
            t.wait_for("edited")

        t = self.paste_during(begin, end, EDITOR=editor)
        t.wait_for(re.compile(r"^> @.*/pasted/clipboard-\d{8}-\d{6}\.png\n  edited$", re.M))
        t.send("\x03")
        self.leave(t)

    def test_only_the_last_fifty_are_kept(self):
        folder = os.path.join(self.home, "pasted")
        os.makedirs(folder, mode=0o700)
        os.chmod(self.home, 0o700)
        for i in range(50):
            with open(os.path.join(folder, f"clipboard-20200101-0000{i:02}.png"), "wb") as f:
                f.write(b"")
        path = self.program("xclip", f"exec cat {self.project}/shot.png\n")
        t = self.open(path, DISPLAY=":7")
        t.send("\x16")
        t.wait_for("/pasted/clipboard-")
        t.wait_until(lambda: len(os.listdir(folder)) == 50, "fifty files")
        self.assertNotIn("clipboard-20200101-000000.png", os.listdir(folder))
        t.send("\x03")
        self.leave(t)


class PreviewTest(ImageTest):
    def pictures(self, t):
        """What was sent to the terminal as pictures: (rows, bytes)."""
        found = []
        for control, data in re.findall(rb"\x1b_G([^;\x1b]*);([^\x1b]*)\x1b\\", t.raw):
            if control.startswith(b"a=T"):
                found.append([int(re.search(rb"r=(\d+)", control)[1]), b""])
            if not control.startswith(b"i="):
                found[-1][1] += data
        return [(rows, base64.b64decode(data)) for rows, data in found]

    def show(self, answers, name="shot.png", **options):
        t = self.start([Answer("Seen."), Answer("Again.")], answers=answers, **options)
        self.say(t, f"what is @{name} ", "Seen.")
        return t

    def test_a_terminal_that_says_it_can(self):
        t = self.show(ABLE, graphics="shown")
        self.assertEqual(self.pictures(t), [(8, SHOT)])
        rows = self.rows_below(t, "> what is @shot.png")
        self.assertIn("[shot.png, image/png", rows[0])
        self.assertEqual(rows[1:11], [""] * 8 + ["", "Seen."])
        self.say(t, "and again @shot.png ", "Again.")
        self.assertEqual(len(self.pictures(t)), 2)
        self.assertEqual(t.raw.count(b"a=q"), 1)  # it is asked once
        self.leave(t)

    def test_results_of_tools(self):
        self.put("text.png", b"no image")
        os.makedirs(os.path.join(self.home, "tools"))
        path = os.path.join(self.home, "tools", "shots")
        with open(path, "w") as f:
            f.write(tool_script("shots", 'echo \'{"images": [{"path": "text.png"}]}\''))
        os.chmod(path, 0o755)
        t = self.start([Answer(calls=[Call("file_read", {"file_path": "shot.png"})]),
                        Answer(calls=[Call("shots")]), Answer("Seen.")], answers=ABLE,
                       graphics="shown")
        self.say(t, "read it", "Seen.")
        rows = t.all_rows()
        at = next(i for i, row in enumerate(rows) if row.startswith("[shot.png, image/png"))
        self.assertEqual(rows[at + 1:at + 10], [""] * 9)
        self.assertEqual(self.pictures(t), [(8, SHOT)])
        self.assertNotIn("images:", "\n".join(rows[:at]))
        self.assertIn("INVALID_IMAGE", "\n".join(rows[at:]))
        self.leave(t)

    def test_no_picture_asks_nothing(self):
        t = self.start([Answer("Hello.")], answers=ABLE)
        self.say(t, "hi", "Hello.")
        self.leave(t)
        self.assertNotIn(b"\x1b_", t.raw)

    def test_a_large_picture_is_sent_in_parts(self):
        data = png(300, 300, comment=os.urandom(200_000))
        self.put("noise.png", data)
        t = self.show(ABLE, "noise.png", graphics="shown")
        self.assertEqual(self.pictures(t), [(8, data)])
        self.assertEqual(self.rows_below(t, "> what is @noise.png")[1:11],
                         [""] * 8 + ["", "Seen."])
        self.leave(t)

    def test_terminals_that_say_they_cannot(self):
        for answers in ([NO_GRAPHICS, *MODERN], MODERN):
            t = self.show(answers, graphics="asked")
            self.assertIn(b"a=q", t.raw)
            self.assertEqual(self.pictures(t), [])
            self.assertEqual(self.rows_below(t, "> what is @shot.png")[1:3], ["", "Seen."])
            self.leave(t)
            subprocess.run(["rm", "-rf", self.home], check=True)

    def test_terminals_that_are_not_asked(self):
        """Those that told no name might print the question; tmux passes nothing on."""
        tmux = [KITTY, SYNCHRONISED, DARK, version("tmux 3.4"), DA1]
        for answers in (SILENT, SIMPLE, [GRAPHICS, *tmux]):
            t = self.show(answers)
            self.assertNotIn(b"\x1b_", t.raw)
            self.leave(t)
            subprocess.run(["rm", "-rf", self.home], check=True)

    def test_a_terminal_that_falls_silent_delays_nothing_for_long(self):
        answers = [KITTY, SYNCHRONISED, DARK,
                   (rb"\x1b\[>q\x1b\[c", b"\x1bP>|test(1)\x1b\\\x1b[?62c")]
        t = self.show(answers, graphics="asked")
        self.assertEqual(self.pictures(t), [])
        self.leave(t)

    def test_plain_and_other_kinds_have_none(self):
        self.put("anim.gif", gif())
        t = self.show(ABLE, "anim.gif")
        self.assertNotIn(b"\x1b_", t.raw)
        self.leave(t)

    def test_small_windows(self):
        t = self.show(ABLE, graphics="shown", columns=40, rows=12)
        self.assertEqual([rows for rows, _ in self.pictures(t)], [4])
        self.leave(t)

    def test_hostile_bytes_and_names(self):
        data = png(40, 40, comment=b"\x1b]0;owned\x07\x1b\\\x1b[2J")
        self.put("\x1b[2Jx\x9b.png", data)
        t = self.start([Answer("Seen.")], "--image", "\x1b[2Jx\x9b.png", "look", answers=ABLE,
                       graphics="shown")
        t.wait_for("Seen.")
        self.assertEqual(self.pictures(t), [(2, data)])
        self.assertNotIn(b"owned", t.raw)
        self.leave(t)


class SixelTest(ImageTest):
    """Terminals that announce Sixel in DA1. A cell has 10 by 20 pixels, the screen 80 by 24 cells."""
    SOME = [SYNCHRONISED, DARK, SIXEL_DA1]

    def pictures(self, t):
        """(width, height, pixels) of what was sent to the terminal."""
        return [(int(width), int(height), sixel_pixels(data.decode())) for width, height, data in
                re.findall(rb'\x1bP0;1;0q"1;1;(\d+);(\d+)([^\x1b]*)\x1b\\', t.raw)]

    def show(self, answers, name="shot.png", **options):
        t = self.start([Answer("Seen."), Answer("Again.")], answers=answers, **options)
        self.say(t, f"what is @{name} ", "Seen.")
        return t

    def test_a_terminal_that_announces_it(self):
        """With and without a name; one that told its name is asked for kitty's protocol first."""
        for answers in ([CELL, COLOURS, *self.SOME], [CELL, *self.SOME],
                        [CELL, COLOURS, version("XTerm(379)"), *self.SOME],
                        [CELL, COLOURS, NO_GRAPHICS, version("foot(1.16)"), *self.SOME]):
            t = self.show(answers, graphics="shown")
            ((width, height, pixels),) = self.pictures(t)
            self.assertEqual((width, height), (213, 156))
            self.assertEqual(pixels, {(x, y): (78, 12, 24) for x in range(213) for y in range(156)})
            rows = self.rows_below(t, "> what is @shot.png")
            self.assertIn("[shot.png, image/png", rows[0])
            self.assertEqual(rows[1:11], [""] * 9 + ["Seen."])
            self.say(t, "and again @shot.png ", "Again.")
            self.assertEqual(len(self.pictures(t)), 2)
            self.assertEqual(t.raw.count(b"\x1b[16t"), 1)  # it is asked once
            self.leave(t)
            subprocess.run(["rm", "-rf", self.home], check=True)

    def test_kitty_comes_first(self):
        t = self.show([CELL, COLOURS, GRAPHICS, version("both(1)"), *self.SOME], graphics="shown")
        self.assertEqual(self.pictures(t), [])
        self.assertIn(b"\x1b_Ga=T", t.raw)
        self.leave(t)

    def test_without_the_size_of_a_cell_there_is_no_picture(self):
        """Nor for one that says it has none, or in tmux."""
        none = (CELL[0], b"\x1b[6;0;0t")
        tmux = [CELL, COLOURS, version("tmux 3.5"), *self.SOME]
        for answers in ([COLOURS, *self.SOME], [none, COLOURS, *self.SOME], tmux):
            t = self.show(answers, graphics="asked")
            self.assertEqual(self.pictures(t), [])
            self.assertEqual(self.rows_below(t, "> what is @shot.png")[1:3], ["", "Seen."])
            self.leave(t)
            subprocess.run(["rm", "-rf", self.home], check=True)

    def test_a_terminal_without_it_is_not_asked(self):
        """The first number of DA1 is a class: 4 there is not Sixel."""
        for da1 in (DA1, (SIXEL_DA1[0], b"\x1b[?4;22c")):
            t = self.show([SYNCHRONISED, DARK, da1])
            self.assertNotIn(b"\x1b[16t", t.raw)
            self.leave(t)
            subprocess.run(["rm", "-rf", self.home], check=True)

    def test_other_cells_after_a_resize(self):
        t = self.show([CELL, COLOURS, *self.SOME], graphics="shown")
        t.resize(100, 30)
        self.settle(t)
        self.say(t, "and again @shot.png ", "Again.")
        self.assertEqual([p[:2] for p in self.pictures(t)], [(213, 156), (266, 198)])
        self.assertEqual(t.raw.count(b"\x1b[16t"), 2)
        self.leave(t)

    def test_a_damaged_picture_is_a_row_only(self):
        """Its header is enough for the model; the rest cannot be shown."""
        self.put("half.png", SHOT[:-40])
        t = self.show([CELL, COLOURS, *self.SOME], "half.png", graphics="asked")
        self.assertEqual(self.pictures(t), [])
        self.assertIn("Seen.", self.rows_below(t, "> what is @half.png")[1:4])
        self.leave(t)


if __name__ == "__main__":
    unittest.main()
