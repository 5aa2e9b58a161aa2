"""Completion in real shells: bash, zsh and fish load what `ikigai completion` prints and complete
lines that are typed. What a shell inserts is run by that shell, so that quoting is proved and not
looked at."""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import IKIGAI, SHIPPED as TOOLS, IkigaiTest, tool_script
from terminal_support import PATIENCE, TerminalTest

BASH_COMPLETION = "/usr/share/bash-completion/bash_completion"
A, B = 16 * "a", 16 * "b"  # ids of sessions
# What a shell could obey, in the order in which it would hurt; each leaves a file behind.
HOSTILE = ["$(touch pwned)", "`touch pwned`", "; touch pwned", "'; touch pwned; '",
           '"; touch pwned; "', "a:b[c]d\\e{f}", "%F{red}%(?.x.y)", "~/* ? & | < > # !!", "-n",
           "(a)"]


def need(program):
    return unittest.skipUnless(shutil.which(program), f"needs {program}")
# Servers that are known without configuration, with their ports.
KNOWN = {"ollama": 11434, "lmstudio": 1234, "llama": 8080, "vllm": 8000}


class CompletionTest(IkigaiTest):
    """ikigai is in PATH, and the shell's script in a file."""
    shell = None

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        os.symlink(IKIGAI, self.path("bin", "ikigai"))
        if self.shell is not None:
            self.script = self.write(f"script.{self.shell}", self.script_text(self.shell))

    def env(self, **more):
        path = self.path("bin") + ":" + os.environ["PATH"]
        return super().env(PATH=path, LC_ALL="C.UTF-8", TERM="xterm", **more)

    def script_text(self, shell):
        return self.ikigai("completion", shell).out

    def listed(self, kind, **more):
        """[(word, note)] of --list, which must be silent."""
        done = self.ikigai("completion", "--list", kind, **more)
        self.assertEqual(done.err, "")
        return [tuple(line.split("\t")) for line in done.out.splitlines()]

    def usages(self):
        """{command: its usage} and [option of talking], as --help lists them."""
        text = self.ikigai("--help").out
        options, commands = re.search(r"^Options:\n(.*)^Commands:\n(.*?)^\n", text,
                                      re.S | re.M).groups()
        usages = re.findall(r"^  (\S.*)$", commands, re.M)
        return ({re.match(r"[a-z]+( [a-z]+(?=$| ))?", usage)[0]: usage for usage in usages},
                [name for line in re.findall(r"^  (-.*)$", options, re.M)
                 for name in re.findall(r"(?<!\S)-[-\w]+", line)])

    def first_words(self):
        return list(dict.fromkeys(name.split()[0] for name in self.usages()[0]))

    def talk(self, *prompts):
        """A session per prompt, with the offline model; returns their ids, the last one first."""
        for prompt in prompts:
            self.ikigai("-p", prompt)
        return [s["id"] for s in self.ikigai("session", "list", "--json").json()]

    def import_sessions(self, titles):
        """Sessions with these ids and titles, the last one the newest."""
        lines = []
        for number, (key, title) in enumerate(titles.items()):
            at = {"created_us": 1_700_000_000_000_000 + number * 1_000_000}
            lines += [{"type": "session", "version": 1, "id": key, "cwd": "/p", "host": "h",
                       "model": "m/m", **at},
                      {"type": "agent", "number": 1, "parent": 0, "forked_at": 0, **at},
                      {"type": "message", "agent": 1, "seq": 1, "kind": "user", "content": title,
                       "data": None, **at}]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        self.ikigai("session", "import", "-", input=text.encode())

    def odd_models(self, *names):
        """A server whose models are called so."""
        self.config({"providers": {"local": {"type": "openai", "base_url": "http://127.0.0.1:9"}}})
        self.write("home/.ikigai/models.json",
                   json.dumps({"models": {f"local/{name}": {} for name in names}}), 0o600)

    def assert_unharmed(self):
        for folder in (self.project, self.dir, self.path("home")):
            self.assertNotIn("pwned", os.listdir(folder))


# ---- what completes, the same in every shell

class Cases:
    """complete(line) gives the words that are offered where the line ends."""

    def offers(self, line, *words):
        """Not all shells mark a folder when several candidates are inserted at once."""
        found = [word.rstrip("/") for word in self.complete(line)]
        self.assertEqual(sorted(found), sorted(words), line)

    def test_first_words(self):
        self.offers("ikigai ", *self.first_words())
        self.offers("ikigai se", "session", "setup")
        self.offers("ikigai t", "tool", "trust")
        self.offers("ikigai zzz")

    def test_second_words(self):
        self.offers("ikigai tool ", "list", "show", "run", "check", "new")
        self.offers("ikigai session s", "show", "search")
        self.offers("ikigai session list show")

    def test_options_of_commands(self):
        self.offers("ikigai tool show --", "--json", "--trust", "--help")
        self.offers("ikigai tool show bash --t", "--trust")
        self.offers("ikigai session prune --o", "--older-than")
        self.offers("ikigai tool new --l", "--lang")

    def test_options_where_no_argument_may_stand(self):
        self.offers("ikigai tool list ", "--json", "--trust", "--refresh", "--help")
        self.offers("ikigai session show 0123 ", "--full", "--json", "--db", "--help")

    def test_an_option_is_offered_once(self):
        self.offers("ikigai tool show --json --", "--trust", "--help")
        self.offers("ikigai session export --format md --", "--json", "--output", "--force",
                    "--db", "--help")
        self.offers("ikigai -m offline/offline --no-tools --no")

    def test_options_of_talking(self):
        everything = self.complete("ikigai -")
        for option in ("-p", "-m", "--model", "-r", "--resume", "--json", "--max-turns", "-v",
                       "--version"):
            self.assertIn(option, everything)
        self.offers("ikigai --max-turns 3 'a prompt' --n", "--no-tools")
        self.offers("ikigai -p --js", "--json")
        self.offers("ikigai -r --fo", "--fork")
        self.offers("ikigai -r --fork --no", "--no-tools")
        self.assertNotIn("--json", self.complete("ikigai -p 'a prompt' --json -"))

    def test_no_option_of_talking_behind_a_command(self):
        self.offers("ikigai tool list --no")
        self.offers("ikigai doctor -m")

    def test_a_command_is_the_first_word(self):
        self.offers("ikigai --json tool --no", "--no-tools")

    def test_choices(self):
        self.offers("ikigai session export --format ", "jsonl", "md", "html")
        self.offers("ikigai session export --format h", "html")
        self.offers("ikigai tool new x --lang ", "sh", "python", "c")
        self.offers("ikigai --mode ", "auto", "ask", "plan", "full")
        self.offers("ikigai acp --mode p", "plan")
        self.offers("ikigai -p --allow ", "network", "all")
        self.offers("ikigai mcp serve --tools file_e", "file_edit")
        self.offers("ikigai completion ", "bash", "zsh", "fish")
        self.offers("ikigai completion --list ", "models", "servers", "sessions", "tools", "topics",
                    "words")

    def test_files(self):
        for name in ("one.jsonl", "two words", "folder/three"):
            self.write(f"project/{name}")
        self.offers("ikigai session import o", "one.jsonl")
        self.offers("ikigai session import ", "one.jsonl", "two words", "folder")
        self.offers("ikigai tool check folder/", "folder/three")
        self.offers("ikigai session export --output t", "two words")

    def test_folders(self):
        self.write("project/file")
        self.write("project/folder/inner/file")
        self.offers("ikigai trust f", "folder")
        self.offers("ikigai untrust folder/", "folder/inner")

    def test_tools(self):
        self.user_tool("my-tool", tool_script("my_tool"))
        self.offers("ikigai tool run ", "my_tool", *TOOLS)
        self.offers("ikigai tool show file_e", "file_edit")
        self.offers("ikigai tool show --json gl", "glob")

    def test_sessions(self):
        ids = self.talk("run true", "run false")
        self.offers("ikigai session show ", *ids)
        self.offers(f"ikigai session export {ids[0][:9]}", ids[0])
        self.offers("ikigai -r ", *ids)
        self.offers("ikigai session search --session ", *ids)
        self.offers(f"ikigai session delete --yes {ids[0]} {ids[1][:9]}", ids[1])

    def test_models(self):
        self.offers("ikigai -m ", "offline/offline", *KNOWN)
        self.odd_models("llama3:8b", "llama3:70b", "other")
        self.offers("ikigai -m local/l", "local/llama3:8b", "local/llama3:70b")
        self.offers("ikigai -m local/llama3:8", "local/llama3:8b")

    def test_topics(self):
        topics = [word for word, *_ in self.listed("topics")]
        self.assertIn("configuration", topics)
        self.offers("ikigai help ", *topics)
        self.offers("ikigai help config", *[t for t in topics if t.startswith("config")])

    def test_nothing_is_due(self):
        self.write("project/file")
        for line in ("ikigai -p ", "ikigai --json -p f", "ikigai --max-turns ",
                     "ikigai session list --limit ", "ikigai session prune --older-than ",
                     "ikigai session search ", "ikigai session search f", "ikigai tool new ",
                     "ikigai tool run bash ", "ikigai -- ", "ikigai -- --", "ikigai tool list -- -",
                     "ikigai tool wrong ", "ikigai wrong f"):
            self.offers(line)

    def test_behind_a_double_dash_arguments_go_on(self):
        self.offers("ikigai tool show -- gl", "glob")

    def test_names_with_special_characters(self):
        self.odd_models(*HOSTILE, "p'q\"r", "two words")
        self.offers("ikigai -m local/tw", "local/two words")
        self.offers("ikigai -m ", "offline/offline", *KNOWN, "local/p'q\"r", "local/two words",
                    *[f"local/{name}" for name in HOSTILE])
        self.assert_unharmed()

    def test_hostile_titles_and_descriptions_are_only_text(self):
        ids = self.talk(*HOSTILE)
        for number, text in enumerate(HOSTILE):
            self.user_tool(f"t{number}", tool_script(f"t{number}", description=text))
        self.ikigai("tool", "list")
        names = [f"t{number}" for number in range(len(HOSTILE))]
        self.offers("ikigai -r ", *ids)
        self.offers("ikigai tool run ", *TOOLS, *names)
        self.assert_unharmed()

    def test_the_program_on_the_line_is_not_run(self):
        self.write("project/ikigai", "#!/bin/sh\ntouch pwned\n", 0o755)
        self.assertEqual(self.complete("./ikigai tool run b"), ["bash"])
        self.assert_unharmed()


class Samples:
    """A little of everything, where it could only go wrong altogether."""

    def test_samples(self):
        [key] = self.talk("say $(touch pwned)")
        self.odd_models("llama3:8b", "two words", "$(touch pwned)")
        self.write("project/some file")
        for line, *words in [
                ("ikigai ", *self.first_words()), ("ikigai tool sh", "show"),
                ("ikigai tool list --json --", "--trust", "--refresh", "--help"),
                ("ikigai session export --format ", "jsonl", "md", "html"),
                ("ikigai session show ", key), ("ikigai tool run ", *TOOLS),
                ("ikigai -m local/", "local/llama3:8b", "local/two words", "local/$(touch pwned)"),
                ("ikigai -m local/llama3:", "local/llama3:8b"),
                ("ikigai session import so", "some file"), ("ikigai -p ",), ("ikigai -- -",)]:
            self.assertEqual(sorted(self.complete(line)), sorted(words), line)
        self.assert_unharmed()


class Typing(TerminalTest, CompletionTest):
    """A shell in a terminal. Ctrl-X a inserts all that is offered; the line then runs a function
    that writes its arguments down."""
    setup = ""  # of the shell

    def setUp(self):
        super().setUp()
        self.result = self.path("result")
        self.terminal_of_shell = None

    def start(self):
        t = self.terminal(self.argv(), columns=100, rows=40, cwd=self.project,
                          env=self.env(RESULT=self.result, **self.more_env()))
        t.check = False  # a shell draws as it likes
        self.addCleanup(t.signal, signal.SIGHUP)  # and does not care about SIGTERM
        t.wait_for("READY")
        return t

    def more_env(self):
        return {}

    def complete(self, line):
        self.terminal_of_shell = self.terminal_of_shell or self.start()
        self.terminal_of_shell.send(line + "\x18a\r")
        before = shlex.split(re.sub(r"\S*$", "", line))[1:]
        typed = line.rpartition(" ")[2]
        args = self.wait_result()
        self.assertEqual(args[:len(before)], before, line)
        found = args[len(before):]
        return [] if found == [typed] else found  # nothing was inserted

    def wait_result(self):
        deadline = time.monotonic() + PATIENCE
        while not os.path.exists(self.result):
            if time.monotonic() > deadline:
                self.fail(self.terminal_of_shell.describe())
            time.sleep(0.01)
        with open(self.result, encoding="utf-8") as f:
            args = f.read().split("\0")[:-1]
        os.remove(self.result)
        return args


class TypedCases(Cases):
    """The same, and what is seen only while typing."""

    def test_the_program_on_the_line_is_not_run(self):
        self.write("project/ikigai", "#!/bin/sh\ntouch pwned\n", 0o755)
        t = self.start()
        t.send("./ikigai tool run b\tX")
        t.wait_for("> ./ikigai tool run bash X")
        self.assert_unharmed()

    def test_a_provider_without_known_models_is_gone_on_with(self):
        self.odd_models()
        t = self.start()
        t.send("ikigai -m loc\tx")
        t.wait_for("> ikigai -m local/x")


# ---- bash

RECORD = r"""() {
    printf '%s\0' "$@" > "$RESULT.new"
    command mv "$RESULT.new" "$RESULT"
}
"""


class Bash(Typing):
    shell = "bash"

    def argv(self):
        rc = self.write("rc", "PS1='> '\nbind 'set bell-style none'\n"
                        f"bind '\"\\C-xa\": insert-completions'\n{self.setup}\n"
                        f"source {self.script}\nikigai{RECORD}\necho READY\n")
        return ["bash", "--noprofile", "--rcfile", rc, "-i"]


@need("bash")
class BashTest(Bash, TypedCases):
    def test_typing(self):
        self.import_sessions({A: "say $(touch pwned)", B: "second"})
        t = self.start()
        t.send("ikigai sess\t")
        t.wait_for("> ikigai session ")
        t.send("sh\t")
        t.wait_for("> ikigai session show")
        # What the titles are is shown with the candidates, and only shown.
        t.send("\t\t")
        t.wait_for(f"{A}  (say $(touch pwned))")
        t.send("a\t")
        t.wait_for(f"> ikigai session show {A}")
        self.assert_unharmed()

    def test_a_folder_is_gone_on_with(self):
        self.write("project/folder/inner/file")
        t = self.start()
        t.send("ikigai trust fol\tinn\tx")
        t.wait_for("> ikigai trust folder/inner/x")

    def test_behind_a_colon(self):
        self.odd_models("llama3:8b", "llama3:8b-large", "llama3:70b")
        t = self.start()
        t.send("ikigai -m local/llama3:\t\t")
        t.wait_for(re.compile("70b .*8b .*8b-large"))
        t.send("8\t-\tx")
        t.wait_for("> ikigai -m local/llama3:8b-large x")

    def test_files_behind_an_operator(self):
        self.write("project/only-one")
        t = self.start()
        t.send("ikigai completion bash > on\tX")
        t.wait_for("bash > only-one X")
        t.send("\x15ikigai tool list --json >on\tX")
        t.wait_for("--json >only-one X")
        t.send("\x15ikigai tool list > only-one --t\tX")
        t.wait_for("only-one --trust X")
        t.send("\x15ikigai session import $RESUL\tX")
        t.wait_for("import $RESULT X")

    def test_within_a_line_and_in_quotes(self):
        t = self.start()
        t.send("ikigai tool lis --json" + 7 * "\x1b[D" + "\tX")
        t.wait_for("> ikigai tool listX --json")
        t.send("\x15\x0bikigai tool run \"file_e\tX")
        t.wait_for('run "file_edit" X')
        t.send("\x15true; X=1 ikigai tool sh\tX")
        t.wait_for("ikigai tool show X")


@need("bash")
@unittest.skipUnless(os.path.exists(BASH_COMPLETION), "needs bash-completion")
class BashWithPackageTest(Bash, Samples):
    """The package loads the script when ikigai is completed first."""

    def argv(self):
        os.makedirs(self.path("data/bash-completion/completions"), exist_ok=True)
        shutil.copy(self.script, self.path("data/bash-completion/completions/ikigai"))
        argv = super().argv()
        with open(argv[3], encoding="utf-8") as f:
            text = f.read().replace(f"source {self.script}", f"source {BASH_COMPLETION}")
        self.write("rc", text)
        return argv

    def more_env(self):
        return {"BASH_COMPLETION_USER_DIR": self.path("data/bash-completion")}


@need("bash")
class BashOddTest(Bash, Samples):
    """Settings people have."""
    setup = ("set -u; set -o posix; shopt -s failglob nocasematch; IFS=:; "
             "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}")


# ---- zsh

class Zsh(Typing):
    shell = "zsh"
    load = "autoload -Uz compinit; compinit -u -d $DUMP"

    @classmethod
    def setUpClass(cls):
        cls.dump = tempfile.NamedTemporaryFile(prefix="ikigai-zsh-")
        cls.addClassCleanup(cls.dump.close)

    def argv(self):
        os.makedirs(self.path("functions"), exist_ok=True)
        shutil.copy(self.script, self.path("functions/_ikigai"))
        self.write("zdot/.zshrc", f"""
PS1='> '; unsetopt beep; LISTMAX=1000
fpath=({self.path('functions')} $fpath)
{self.load}
zle -C all complete-word _generic
bindkey '^Xa' all
zstyle ':completion:all:*' completer _all_matches _complete
zstyle ':completion:all:*' insert true
ikigai{RECORD}
{self.setup}
echo READY
""")
        return ["zsh", "-i"]

    def more_env(self):
        return {"ZDOTDIR": self.path("zdot"), "DUMP": self.dump.name}


@need("zsh")
class ZshTest(Zsh, TypedCases):
    def test_typing(self):
        self.import_sessions({A: "say $(touch pwned) %F{red}:b", B: "second"})
        self.setup = "setopt nounset"
        t = self.start()
        t.send("ikigai sess\t")
        t.wait_for("> ikigai session ")
        t.send("\t")
        t.wait_for(re.compile(r"prune +-- Deletes sessions that were not used for some time"))
        t.send("show \t")
        t.wait_for(re.compile(A + r" +-- say \$\(touch pwned\) %F{red}:b"))
        t.send("a\t")
        t.wait_for(f"> ikigai session show {A}")
        t.send("\x15ikigai tool show --\t")
        t.wait_for(re.compile(r"--trust +-- trust what the project adds for this run"))
        self.assert_unharmed()

    def test_files_behind_an_operator(self):
        self.write("project/only-one")
        t = self.start()
        t.send("ikigai completion zsh > on\tX")
        t.wait_for("zsh > only-one X")


@need("zsh")
class ZshSourcedTest(Zsh, Samples):
    """The script can also be sourced, when completion is there already."""
    load = "rm $fpath[1]/_ikigai; " + Zsh.load + "; source ../script.zsh"


@need("zsh")
class ZshOddTest(Zsh, Samples):
    """Settings people have."""
    load = "setopt nounset; " + ZshSourcedTest.load + "; unsetopt nounset"
    setup = "setopt ksh_arrays sh_word_split glob_subst no_short_loops"


# ---- fish

@need("fish")
class FishTest(TerminalTest, CompletionTest, Cases):
    shell = "fish"

    def candidates(self, line):
        """{word: note}"""
        done = subprocess.run(["fish", "--no-config", "-c",
                               f"source {self.script}; complete -C $argv[1]", line],
                              env=self.env(), cwd=self.project, timeout=60, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        self.assertEqual(done.stderr, b"")
        lines = [line.partition("\t") for line in done.stdout.decode().splitlines()]
        self.assertEqual(len(lines), len({word for word, _, _ in lines}), lines)
        return {word: note for word, _, note in lines}

    def complete(self, line):
        """Without what fish makes up when nothing begins so: it then looks for the letters
        anywhere, in notes, too."""
        typed = re.search(r"\S*$", line)[0]
        return [word for word in self.candidates(line) if word.startswith(typed)]

    def test_notes(self):
        ids = self.talk("say $(touch pwned) 'a' \\b")
        self.assertEqual(self.candidates("ikigai -r "), {ids[0]: "say $(touch pwned) 'a' \\b"})
        self.import_sessions({A: "older", B: "newer"})
        self.assertEqual(list(self.candidates("ikigai -r ")), [ids[0], B, A])
        self.assertEqual(self.candidates("ikigai tool list --t"),
                         {"--trust": "trust what the project adds for this run"})
        self.assertIn("JSON", self.candidates("ikigai session ")["export"])
        self.assert_unharmed()

    def test_typing(self):
        self.odd_models("two words$(touch pwned)")
        self.write("home/.config/fish/config.fish",
                   f"source {self.script}\nfunction fish_prompt; echo '> '; end\n"
                   "set fish_greeting READY\n")
        t = self.terminal(["fish", "-i"], columns=100, rows=40, cwd=self.project,
                          env=self.env(XDG_CONFIG_HOME=self.path("home/.config")))
        t.check = False
        self.addCleanup(t.signal, signal.SIGHUP)
        t.wait_for("READY")
        t.send("ikigai sess\tsho\t-")
        t.wait_for("ikigai session show -")
        t.send("\x15ikigai -m local/tw\t")
        t.wait_for("ikigai -m local/two\\ words\\$\\(touch\\ pwned\\)")
        self.assert_unharmed()


# ---- the scripts themselves

class ScriptTest(CompletionTest):
    SHELLS = ["bash", "zsh", "fish"]

    def options_of(self, *command):
        done = self.ikigai("completion", "--list", "words", "--", *command, "-")
        return [line.split("\t")[0] for line in done.out.splitlines()]

    def test_everything_of_help_is_offered(self):
        commands, options = self.usages()
        self.assertGreater(len(commands), 15)
        self.assertEqual(self.options_of(), options)
        for command, usage in commands.items():
            expected = re.findall(r"(?<![\w-])--?[a-z][a-z-]*", usage) + ["--help"]
            self.assertEqual(self.options_of(*command.split()), expected, command)

    def test_the_shells_find_nothing_wrong(self):
        for shell in self.SHELLS:
            with self.subTest(shell):
                if not shutil.which(shell):
                    self.skipTest(f"needs {shell}")
                path = self.write("script", self.script_text(shell))
                done = subprocess.run([shell, "-n", path], stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT)
                self.assertEqual((done.returncode, done.stdout), (0, b""))

    @need("shellcheck")
    def test_shellcheck_finds_nothing(self):
        path = self.write("script.bash", self.script_text("bash"))
        done = subprocess.run(["shellcheck", "-s", "bash", path], stdout=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout), (0, b""))

    def test_the_script_needs_no_configuration_and_no_home(self):
        self.config('{"broken')
        done = self.ikigai("completion", "bash")
        self.assertEqual(done.err, "")
        self.assertEqual(self.ikigai("completion", "zsh", env={"IKIGAI_HOME": "/nowhere"}).err, "")

    def test_misuse(self):
        usage = ("Usage: ikigai completion [bash|zsh|fish] "
                 "[--list models|servers|sessions|tools|topics|words]\n")
        for args, why in [((), "name one shell, or use --list"),
                          (("bash", "--list", "tools"), "name one shell, or use --list"),
                          (("tcsh",), "there is no script for that shell"),
                          (("--list", "secrets"), "there is no such list")]:
            done = self.ikigai("completion", *args, status=2)
            self.assertEqual((done.out, done.err), ("", f"ikigai completion: {why}\n{usage}"))

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "wb") as full:
            self.ikigai("completion", "bash", status=1, stdout=full)


# ---- --list

class ListTest(CompletionTest):
    def test_nothing_where_nothing_is(self):
        self.assertEqual(self.listed("sessions"), [])
        self.assertEqual(self.listed("models"),
                         [("offline/offline", "not a language model; runs tools by name")] +
                         [(f"{name}/", f"any model of http://127.0.0.1:{port}/v1")
                          for name, port in KNOWN.items()])
        self.assertEqual([word for word, *_ in self.listed("tools")], TOOLS)
        self.assertTrue(self.listed("topics"))
        self.assertEqual(os.listdir(self.path("home")), [])
        self.assertEqual(os.listdir(self.project), [])

    def test_no_database_is_made_of_what_is_none(self):
        for name, content in [("empty.db", b""), ("text.db", b"no database at all\n" * 100)]:
            path = self.write(name, content)
            self.assertEqual(self.listed("sessions", env={"IKIGAI_DB": path}), [])
            self.assertEqual(self.read(name), content)
        missing = self.path("missing", "x.db")
        self.assertEqual(self.listed("sessions", env={"IKIGAI_DB": missing}), [])
        self.assertFalse(os.path.exists(os.path.dirname(missing)))

    def test_silent_with_a_wrong_configuration(self):
        [key] = self.talk("run true")
        for text in ('{"broken', '{"model": 7}', '{"unknown": true}'):
            self.config(text)
            self.assertEqual(self.listed("sessions"), [(key, "run true")])
            self.assertEqual([word for word, *_ in self.listed("tools")], TOOLS)
            self.assertIn(("offline/offline",), [(word,) for word, *_ in self.listed("models")])
            self.assertTrue(self.listed("topics"))

    def test_sessions_are_the_newest_fifty(self):
        self.import_sessions({f"{number:016x}": f"number {number}" for number in range(60)})
        self.assertEqual(self.listed("sessions"),
                         [(f"{n:016x}", f"number {n}") for n in range(59, 9, -1)])

    def test_titles_are_one_clean_line_of_bounded_width(self):
        self.talk("a\x1b[31mred\x1b]0;t\x07\tb\u202e", "x" * 500)
        long, odd = [note for _, note in self.listed("sessions")]
        self.assertRegex(odd, "^a[^\x00-\x1f\x7f-\x9f]*b<U[+]202E>$")
        self.assertRegex(long, "^x{59}…$")

    def test_a_shared_history_is_not_asked(self):
        [key] = self.talk("run true")
        url = "postgresql://somebody@127.0.0.1:9/x"
        lines = self.trace("connect,sendto,sendmsg", "completion", "--list", "sessions",
                           options=("-f",), env={"IKIGAI_DB": url})
        self.assertFalse([line for line in lines if "AF_INET" in line], lines)
        self.assertEqual(self.listed("sessions", env={"IKIGAI_DB": url}), [(key, "run true")])

    def test_nothing_is_executed(self):
        self.user_tool("mine", tool_script("mine", first="touch \"$HOME/pwned\""))
        self.project_tool("theirs", tool_script("theirs", first="touch \"$HOME/pwned\""))
        self.assertEqual([word for word, *_ in self.listed("tools")], sorted(TOOLS + ["mine"]))
        lines = self.trace("execve", "completion", "--list", "tools", options=("-f",))
        self.assertEqual(len([line for line in lines if "execve(" in line]), 1)
        self.assert_unharmed()

    def test_tools_that_were_asked_before_tell_more(self):
        self.user_tool("file-name", tool_script("own_name", description="Says\nit\tso"))
        os.utime(self.path("home/.ikigai/tools/file-name"), (1, 1))
        self.assertIn(("file_name",), self.listed("tools"))
        self.ikigai("tool", "list")
        self.assertIn(("own_name", "Says it so"), self.listed("tools"))
        self.assertNotIn(("file_name",), self.listed("tools"))

    def test_project_tools_once_they_are_trusted(self):
        self.project_tool("theirs", tool_script("theirs"))
        self.assertNotIn("theirs", [word for word, *_ in self.listed("tools")])
        self.ikigai("trust", "--yes")
        self.assertIn("theirs", [word for word, *_ in self.listed("tools")])

    def test_models_of_providers_that_have_a_key(self):
        self.assertFalse([w for w, *_ in self.listed("models") if w.startswith("anthropic/")])
        words = [w for w, *_ in self.listed("models", env={"ANTHROPIC_API_KEY": "k"})]
        self.assertTrue([w for w in words if w.startswith("anthropic/")])

    def test_words_that_a_terminal_could_obey_are_left_out(self):
        self.odd_models("good", "b\x1b[31mad", "b\tad", "b\nad", "b\u202ead")
        self.assertEqual([w for w, *_ in self.listed("models")],
                         ["offline/offline", "local/good", *(f"{name}/" for name in KNOWN)])
