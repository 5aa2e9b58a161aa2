"""`ikigai help`: every topic, every word a table knows, and how it looks on terminals and in pipes."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import unicodedata

from support import IKIGAI, OUT, ROOT, IkigaiTest

REFERENCE = ["options", "commands", "slash", "keys", "config", "environment", "files", "exit"]
CHAPTERS = ["coming-from", "configuration", "editors", "export", "extending", "headless", "images",
            "installing", "interactive", "limits", "permissions", "providers", "security", "serve",
            "servers", "sessions", "tool-protocol", "tools", "undo"]
ESCAPE = "\x1b"


def columns(row):
    """How wide a row is on a terminal; styles take no room."""
    plain = re.sub("\x1b\\[[0-9;]*m|\x1b\\]8;[^\x1b\x07]*(?:\x07|\x1b\\\\)", "", row)
    wide = {"W": 2, "F": 2}
    return sum(wide.get(unicodedata.east_asian_width(c), 1) for c in plain)


def rows_of_tables(markdown):
    """The first cells of all rows, with bars as they are meant."""
    rows = re.findall(r"^\| `((?:[^`|]|\\\|)+)` \|", markdown, re.M)
    return [row.replace("\\|", "|") for row in rows]


class HelpTest(IkigaiTest):
    def help(self, *words, **more):
        done = self.ikigai("help", *words, **more)
        if "status" not in more:
            self.assertEqual(done.err, "")
        return done.out

    def markdown(self, topic):
        return self.help("--markdown", topic)

    def on_terminal(self, *words, width=80, **env):
        """What a terminal of that width gets, as rows."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        env = {"TERM": "xterm-256color", **self.env(), **env}
        for name in [k for k, v in env.items() if v is None]:
            del env[name]
        program = subprocess.Popen([IKIGAI, "help", *words], stdout=slave, stdin=subprocess.DEVNULL,
                                   cwd=self.project, env=env)
        os.close(slave)
        output = b""
        try:
            while chunk := os.read(master, 65536):
                output += chunk
        except OSError:
            pass  # the end of a pseudo terminal
        os.close(master)
        self.assertEqual(program.wait(60), 0)
        return output.decode().replace("\r\n", "\n").splitlines()


class Overview(HelpTest):
    def test_it_is_the_help_and_the_topics(self):
        text = self.help()
        self.assertTrue(text.startswith(self.ikigai("--help").out), text)
        topics = text.partition("\nTopics:\n")[2].partition("\n\n")[0].splitlines()
        self.assertEqual([line.split()[0] for line in topics], REFERENCE + CHAPTERS)
        for line in topics:
            self.assertRegex(line, r"^  [a-z-]+ +\S.*")

    def test_help_says_where_the_manual_is(self):
        last = self.ikigai("--help").out.splitlines()[-1]
        self.assertIn("ikigai help", last)
        self.assertIn("man ikigai", last)

    def test_anywhere_on_the_command_line(self):
        for words in (["--help"], ["-h"], ["-m", "openai/x", "--help"], ["-p", "--help"],
                      ["--help", "--nonsense"], ["--json", "--fork", "-h"]):
            self.assertTrue(self.ikigai(*words).out.startswith("ikigai - "), words)
        self.assertRegex(self.ikigai("--no-tools", "--version").out, r"\Aikigai [\d.]+\n\Z")


class Topics(HelpTest):
    def test_each_is_shown(self):
        for topic in REFERENCE + CHAPTERS:
            with self.subTest(topic=topic):
                markdown, text = self.markdown(topic), self.help(topic)
                self.assertRegex(markdown, r"\A# \S")
                self.assertNotIn(ESCAPE, markdown + text)
                title = markdown.splitlines()[0].replace("`", "")
                self.assertEqual(text.splitlines()[0], title)

    def test_the_marks_of_a_chapter_are_not_seen(self):
        for chapter in CHAPTERS:
            self.assertNotIn("<!--", self.help(chapter) + self.markdown(chapter))

    def test_references_fit_into_eighty_columns_of_a_pipe(self):
        for topic in REFERENCE:
            for row in self.help(topic).splitlines():
                self.assertLessEqual(columns(row), 80, row)

    def test_nothing_of_a_table_is_lost_on_the_way_to_the_screen(self):
        """Words of every row of the Markdown come out in the same order, whatever the width."""
        for topic in REFERENCE:
            markdown = self.markdown(topic)
            rows = re.findall(r"^\| (`.*) \|$", markdown, re.M)
            self.assertTrue(rows)
            for width in (40, 60, 80, 120):
                shown = "\n".join(self.on_terminal(topic, width=width, NO_COLOR="1"))
                letters = re.sub(r"[^\w/]", "", shown)
                for row in rows:
                    text = re.split(r"(?<!\\)\|", row)[-1]
                    for word in text.replace("`", "").replace("\\|", "|").split():
                        word = re.sub(r"[^\w/]", "", word)
                        self.assertIn(word, letters, f"{topic} {width}")

    def test_a_group_of_commands(self):
        text = self.help("session")
        for name in ("list", "show", "search", "export", "import", "fork", "delete", "prune"):
            self.assertIn(f"ikigai session {name}", text)
        self.assertNotIn("ikigai tool", text)

    def test_a_group_of_a_topic(self):
        self.assertIn("IKIGAI_PROGRESS_FD", self.help("environment", "tools"))
        self.assertNotIn("OPENAI", self.help("environment", "tools"))
        self.assertEqual(self.help("keys", "pager").splitlines()[0], "# In the pager")

    def test_the_default_values_are_those_of_the_program(self):
        rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \|", self.markdown("config"), re.M)
        self.assertGreater(len(rows), 8)
        doctor = self.ikigai("doctor").out
        for key, value in rows:
            value = value.replace("~", self.path("home"))
            self.assertRegex(doctor, rf"(?m)^  {key} +{re.escape(value)} \((built-in|system)\)$")

    def test_the_chapters_are_the_documents(self):
        for chapter in CHAPTERS:
            with open(os.path.join(ROOT, "docs", chapter + ".md")) as f:
                written = re.sub(r"^<!--.*-->\n", "", f.read(), flags=re.M)
            self.assertEqual(self.markdown(chapter), written)

    def test_chapters_refer_to_chapters(self):
        """What a link names can be read offline, but for the proofs and figures of the release. On
        the screen a link becomes the command that shows it, if its words are the name."""
        for chapter in CHAPTERS:
            for name in re.findall(r"\]\(([\w-]+)\.md[)#]", self.markdown(chapter)):
                self.assertIn(name, CHAPTERS + ["promises", "benchmarks"], chapter)
            shown = " ".join(self.help(chapter).split())
            for name in re.findall(r"ikigai help ([a-z-]+)", shown):
                self.assertIn(name, CHAPTERS + REFERENCE, chapter)

    def test_the_output_of_another_folder_is_the_same(self):
        """Nothing of this machine or user is in the reference."""
        for topic in REFERENCE:
            text = self.markdown(topic)
            self.assertNotIn(self.dir, text)
            self.assertNotIn(OUT, text)


class Words(HelpTest):
    """Whatever a table knows can be asked for."""

    def ask(self, name):
        # Behind -- a word is never an option of `help` itself.
        return self.help("--markdown", "--", *name.split(" "))

    def test_every_command(self):
        names = re.findall(r"^## ikigai (.+)$", self.markdown("commands"), re.M)
        self.assertIn("tool run", names)
        self.assertIn("help", names)
        for name in names:
            self.assertIn(f"ikigai {name}\n", self.ask(name))

    def test_every_row(self):
        for topic in REFERENCE:
            terms = rows_of_tables(self.markdown(topic))
            self.assertTrue(terms)
            for term in terms:
                names = (term.split(", ") if topic == "keys" else
                         re.findall(r"(?<!\S)-[-\w]+", term) if topic == "options" else
                         [term.split(" ")[0]])
                for name in names:
                    with self.subTest(topic=topic, name=name):
                        self.assertIn(term, rows_of_tables(self.ask(name)))

    def test_options_need_no_dashes_before_them(self):
        for name in ("-m", "--format", "--json", "--older-than"):
            self.assertIn(name, self.help(name))
            self.assertIn(f"`{name}", self.help("--markdown", name))

    def test_case_does_not_count(self):
        self.assertEqual(self.help("ctrl-g"), self.help("Ctrl-G"))
        self.assertEqual(self.help("OPTIONS"), self.help("options"))
        self.assertIn("IKIGAI_HOME", self.help("ikigai_home"))

    def test_keys_of_the_configuration_by_any_name(self):
        for name in ("base_url", "providers.NAME.base_url", "providers.ollama.base_url"):
            self.assertIn("providers.NAME.base_url", self.help(name))
        self.assertIn("tools.NAME.enabled", self.help("tools.bash.enabled"))
        self.assertIn("hooks.FILE.on_failure", self.help("hooks.no-force.sh.on_failure"))

    def test_a_word_of_several_tables(self):
        text = self.help("--markdown", "model")
        self.assertEqual(re.findall("^#+ .*$", text, re.M),
                         ["# model", "## Slash commands", "## Configuration"])

    UNKNOWN = [
        (["confgi"], "Did you mean 'config'?"), (["toll", "run"], "Did you mean 'tool run'?"),
        (["--fromat"], "Did you mean '--format'?"), (["/frok"], "Did you mean '/fork'?"),
        (["max_tool_turn"], "Did you mean 'max_tool_turns'?"),
        (["IKIGAI_HOM"], "Did you mean 'IKIGAI_HOME'?"),
        (["interactiv"], "Did you mean 'interactive'?"), (["Ctrl-"], "Did you mean 'Ctrl-"),
        (["nonsense"], "Run ikigai help"), ([""], "Run ikigai help"), (["x" * 3000], "Run ikigai"),
        (["../../../etc/passwd"], "Run ikigai help"), (["a\x1b[2Jb"], "Run ikigai help"),
    ]

    def test_words_that_nobody_knows(self):
        for words, hint in self.UNKNOWN:
            with self.subTest(words=words):
                done = self.ikigai("help", *words, status=2)
                self.assertEqual(done.out, "")
                self.assertEqual(len(done.err.splitlines()), 1)
                self.assertIn(hint, done.err)
                self.assertNotIn(ESCAPE, done.err)


class Screen(HelpTest):
    def test_words_are_styled_on_a_terminal_only(self):
        styled = "\n".join(self.on_terminal("options"))
        self.assertIn(ESCAPE + "[1", styled)
        self.assertRegex(styled, "\x1b\\[[\\d;]*3\\dm")
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn(ESCAPE, "\n".join(self.on_terminal("options", **env)))
        self.assertIn(ESCAPE, "\n".join(self.on_terminal("options", NO_COLOR="")))

    def test_no_colour_changes_no_word(self):
        plain = self.on_terminal("commands", NO_COLOR="1")
        styled = [re.sub("\x1b\\[[0-9;]*m", "", row) for row in self.on_terminal("commands")]
        self.assertEqual(plain, styled)

    def test_every_width(self):
        for width in (20, 33, 60, 80, 100):
            for topic in REFERENCE:
                rows = self.on_terminal(topic, width=width)
                self.assertLessEqual(max(map(columns, rows)), width, topic)

    def test_wide_terminals_are_not_filled(self):
        rows = self.on_terminal("sessions", width=300)
        prose = [row for row in rows if row.startswith("ikigai stores every conversation")]
        self.assertLessEqual(columns(prose[0]), 100)
        self.assertGreater(columns(prose[0]), 80)

    def test_long_first_columns_become_lists_where_there_is_no_room(self):
        narrow = self.on_terminal("slash", width=60, NO_COLOR="1")
        at = narrow.index("• /export [FILE] [--format jsonl|md|html]")
        self.assertEqual(narrow[at + 1], "  Writes this session to a new file.")
        self.assertIn("/exit" + " " * 36 + "Exits; ikigai -c continues the session. Also: /quit",
                      self.on_terminal("slash", width=100, NO_COLOR="1"))

    def test_chapters_name_each_other_by_the_command(self):
        text = re.sub(r"\s+", " ", self.help("configuration"))
        self.assertIn("ikigai help providers describes how to set up each provider.", text)
        self.assertNotRegex(text, r"\]\([\w-]+\.md")  # a link, unlike "(or CLAUDE.md)"


class Whatever(HelpTest):
    def test_a_broken_configuration(self):
        self.config("{")
        self.assertIn("max_tool_turns", self.help("config", env={}))
        self.assertIn("Topics:", self.help())

    def test_a_terminal_that_is_gone(self):
        with open("/dev/full", "wb") as full:
            for words in (["options"], ["--markdown", "options"], []):
                done = self.ikigai("help", *words, status=1, stdout=full)
                self.assertIn("cannot write to standard output", done.err)

    def test_an_installation_without_chapters(self):
        """The tables are in the program itself."""
        moved = self.path("moved")
        os.makedirs(os.path.join(moved, "bin"))
        os.makedirs(os.path.join(moved, "libexec", "ikigai"))
        program = os.path.join(moved, "bin", "ikigai")
        with open(IKIGAI, "rb") as source, open(program, "wb") as copy:
            copy.write(source.read())
        os.chmod(program, 0o755)
        self.assertIn("max_tool_turns", self.ikigai("help", "config", program=program).out)
        done = self.ikigai("help", "interactive", program=program, status=2)
        self.assertIn("No help topic 'interactive'", done.err)

    WRONG = [(["--markdown"], "--markdown needs a topic"),
             (["--expand"], "--expand needs a value"),
             (["--expand", "x", "keys"], "cannot be used with a topic or --markdown"),
             (["--expand", "x", "--markdown"], "cannot be used with a topic or --markdown")]

    def test_wrong_usage(self):
        for words, complaint in self.WRONG:
            with self.subTest(words=words):
                done = self.ikigai("help", *words, status=2)
                self.assertEqual(done.out, "")
                self.assertIn(complaint, done.err.splitlines()[0])
                self.assertTrue(done.err.splitlines()[1].startswith("Usage: ikigai help "))


class Pages(HelpTest):
    def test_topics_are_put_in(self):
        page = self.help("--expand", self.write("page.md", "# Exit\n\n<!-- topic: exit -->\n"))
        self.assertIn("wrong usage or configuration", page)
        self.assertNotIn("<!--", page)

    def test_what_cannot_be_done(self):
        done = self.ikigai("help", "--expand", self.path("none.md"), status=1)
        self.assertIn("none.md", done.err)
        done = self.ikigai("help", "--expand", self.write("p.md", "<!-- topic: nonsense -->\n"),
                           status=1)
        self.assertIn("No help topic 'nonsense'", done.err)
        self.assertEqual(done.out, "")
