"""Each lint is seen to fail on what it forbids, and to accept what it does not."""
import os
import shutil
import subprocess
import sys

from support import ROOT, ScratchTest

LINTS = os.path.dirname(os.path.abspath(__file__))


class LintTest(ScratchTest):
    def lint(self, name):
        done = subprocess.run([sys.executable, os.path.join(LINTS, name + ".py"), self.dir],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def assert_refused(self, lint, *expected):
        status, text = self.lint(lint)
        self.assertEqual(status, 1, text)
        for part in expected:
            self.assertIn(part, text)

    def assert_accepted(self, lint):
        self.assertEqual(self.lint(lint), (0, ""))

    def include(self, path, *headers):
        """A source that includes headers, which exist."""
        for header in headers:
            self.write("src/" + header, "#pragma once\n")
        self.write("src/" + path, "".join(f'#include "{h}"\n' for h in headers))


class Layers(LintTest):
    ALLOWED = [
        ("main.c", "cli/cli.h"), ("main.c", "base/alloc.h"), ("cli/cli.c", "tool/tool.h"),
        ("repl/repl.c", "command/command.h"), ("command/exit.c", "agent/agent.h"),
        ("command/exit.c", "workspace/workspace.h"), ("workspace/workspace.c", "agent/agent.h"),
        ("agent/agent.c", "provider/request.h"), ("tool/tool.c", "io/loop.h"),
        ("tool/tool.c", "trust/trust.h"), ("trust/trust.c", "base/alloc.h"),
        ("cli/cli.c", "export/export.h"), ("command/exit.c", "export/export.h"),
        ("export/export.c", "store/store.h"), ("store/store.c", "store/sqlite/store_sqlite.h"),
        ("store/sqlite/store_sqlite.c", "store/store.h"),
        ("store/sqlite/store_sqlite.c", "store/words/words.h"),
        ("provider/responses/responses.c", "provider/openai/openai_endpoint.h"),
        ("tool/tool.c", "conversation/message.h"), ("io/loop.c", "io/process.h"),
        ("io/loop.c", "base/alloc.h"), ("provider/openai/chat.c", "provider/request.h"),
        ("tools/grep/main.c", "tools/common/frame.h"), ("tools/grep/main.c", "base/alloc.h"),
        ("tools/grep/main.c", "tools/grep/walk.h"), ("tools/common/frame.c", "base/alloc.h"),
        ("keeper/main.c", "base/alloc.h"), ("keeper/main.c", "keeper/process_tree.h"),
    ]
    REFUSED = [
        ("base/alloc.c", "io/loop.h"), ("io/loop.c", "conversation/message.h"),
        ("conversation/message.c", "io/loop.h"), ("tool/tool.c", "terminal/screen.h"),
        ("terminal/screen.c", "agent/agent.h"), ("agent/agent.c", "terminal/../command/exit.h"),
        ("agent/agent.c", "workspace/workspace.h"), ("workspace/workspace.c", "command/exit.h"),
        ("trust/trust.c", "tool/tool.h"), ("trust/trust.c", "io/loop.h"),
        ("export/export.c", "agent/agent.h"), ("agent/agent.c", "export/export.h"),
        ("repl/repl.c", "export/export.h"), ("workspace/workspace.c", "export/export.h"),
        ("agent/agent.c", "provider/openai/openai_schema.h"),
        ("repl/repl.c", "store/sqlite/store_sqlite.h"), ("cli/cli.c", "store/words/words.h"),
        ("store/store.h", "store/words/words.h"),
        ("store/words/words.c", "store/sqlite/store_sqlite.h"),
        ("store/postgres/link.c", "store/sqlite/store_sqlite.h"),
        ("provider/responses/responses.c", "provider/openai/chat_stream.h"),
        ("provider/google/google.c", "provider/openai/openai_endpoint.h"),
        ("cli/cli.c", "repl/repl.h"), ("tool/tool.c", "tools/common/frame.h"),
        ("main.c", "keeper/process_tree.h"), ("main.c", "tools/grep/walk.h"),
        ("tools/grep/main.c", "io/loop.h"), ("tools/grep/main.c", "tools/glob/match.h"),
        ("tools/common/frame.c", "tools/grep/walk.h"), ("keeper/main.c", "io/process.h"),
        ("keeper/main.c", "tools/common/frame.h"), ("base/alloc.c", "keeper/process_tree.h"),
    ]

    def test_downwards_is_allowed(self):
        for path, header in self.ALLOWED:
            with self.subTest(path=path, header=header):
                self.include(path, header)
                self.assert_accepted("layers")
                shutil.rmtree(self.path("src"))

    def test_sideways_and_up_are_refused(self):
        for path, header in self.REFUSED:
            with self.subTest(path=path, header=header):
                self.include(path, header)
                self.write("src/terminal/screen.h")
                self.assert_refused("layers", f"src/{path}:1:", "must not include")
                shutil.rmtree(self.path("src"))

    def test_include_by_a_path_from_the_file_itself(self):
        self.write("src/io/loop.h", "#pragma once\n")
        self.write("src/base/alloc.c", '#include "../io/loop.h"\n')
        self.assert_refused("layers", "src/base/alloc.c:1: base must not include")

    def test_folder_without_a_row(self):
        self.write("src/helpers/x.c")
        self.assert_refused("layers", "folder helpers has no row")

    def test_missing_header(self):
        self.write("src/base/alloc.c", '\n#include "base/none.h"\n')
        self.assert_refused("layers", "src/base/alloc.c:2: base/none.h does not exist")

    def test_libuv_and_libcurl_outside_io(self):
        for line in ("uv_loop_t *loop;", "int x = UV_EOF;", "curl_easy_init();",
                     "#include <uv.h>", "#include <curl/curl.h>", "CURL *handle;"):
            with self.subTest(line=line):
                self.write("src/tool/tool.c", f"\n{line}\n")
                self.assert_refused("layers", "src/tool/tool.c:2:", "only in src/io")
                self.write("src/tool/tool.c")
                self.write("src/io/loop.c", line)
                self.assert_accepted("layers")

    def test_comments_and_strings_name_what_they_like(self):
        self.write("src/tool/tool.c", '/* uv_run */ // uv_run\nconst char *x = "uv_run \\" uv_x";\n')
        self.assert_accepted("layers")

    def test_base_names_are_unique(self):
        self.write("src/base/request.c")
        self.write("src/provider/request.h")
        self.assert_refused("layers", "the base name is taken by src/base/request.c")

    def test_main_and_pairs_may_share_a_name(self):
        for path in ("main.c", "keeper/main.c", "tools/grep/main.c", "base/json.c", "base/json.h"):
            self.write("src/" + path)
        self.assert_accepted("layers")


class Banned(LintTest):
    def test_each_function(self):
        for name in ("strcpy", "strcat", "sprintf", "gets", "system", "popen"):
            with self.subTest(name=name):
                self.write("src/base/x.c", f"int f(void)\n{{\n    {name} (a, b);\n}}\n")
                self.assert_refused("banned", f"src/base/x.c:3: {name} is banned")

    def test_names_that_only_contain_one(self):
        self.write("src/base/x.c", "/* strcpy(a) */ ik_sprintf(c); fgets(x); snprintf(y); "
                   'f("system(1)"); c = \'"\'; system_prompt(z);\n')
        self.assert_accepted("banned")


class Exits(LintTest):
    def test_exit_in_a_library_file(self):
        self.write("src/base/x.c", "\nvoid f(void) { exit(1); }\n")
        self.assert_refused("exits", "src/base/x.c:2: only main may call exit")

    def test_exit_in_main_and_in_a_child(self):
        self.write("src/main.c", "int main(void) { exit(1); }\n")
        self.write("src/io/x.c", "void on_exit_seen(void) { _exit(127); }\n")
        self.assert_accepted("exits")


class Headers(LintTest):
    def test_header_that_needs_another(self):
        self.write("src/base/x.h", "#pragma once\nsize_t f(void);\n")
        self.assert_refused("headers", "src/base/x.h: does not compile alone", "size_t")

    def test_header_without_a_guard(self):
        self.write("src/base/x.h", "struct x { int a; };\n")
        self.assert_refused("headers", "redefinition")

    def test_good_header(self):
        self.write("src/base/x.h", "#pragma once\n#include <stddef.h>\nsize_t f(void);\n")
        self.write("src/base/y.h", '#pragma once\n#include "base/x.h"\n')
        self.assert_accepted("headers")


class Format(LintTest):
    def setUp(self):
        super().setUp()
        shutil.copy(os.path.join(ROOT, ".clang-format"), self.dir)

    def test_misplaced_brace(self):
        for folder in ("src/base", "tests/unit", "bench"):
            with self.subTest(folder=folder):
                path = self.write(folder + "/x.c", "int f(void) {\n  return 1; }\n")
                self.assert_refused("format", f"{folder}/x.c:1", "make format")
                os.remove(path)

    def test_well_formed(self):
        self.write("src/base/x.c", "int f(void)\n{\n    return 1;\n}\n")
        self.assert_accepted("format")


class Shell(LintTest):
    def test_unquoted_variable(self):
        for name in ("script/x", "debian/tests/x", "tests/fresh/x", "examples/x"):
            with self.subTest(name=name):
                path = self.write(name, "#!/bin/sh\nrm $1\n")
                self.assert_refused("shell", f"{name}:2:", "SC2086")
                os.remove(path)

    def test_file_that_others_source(self):
        self.write("tests/fresh/system.sh", "# shellcheck shell=sh\nrm $1\n")
        self.assert_refused("shell", "tests/fresh/system.sh:2:")

    def test_good_script_and_what_is_none(self):
        self.write("script/good", '#!/bin/sh\nrm "$1"\n')
        self.write("debian/rules", "#!/usr/bin/make -f\n%:\n\tdh $@\n")
        self.write("examples/other", b"#!/usr/bin/env python3\n\xff\n")
        self.assert_accepted("shell")


class Release(LintTest):
    def write_release(self, version="1.2.3", day="2026-11-15", noted="1.2.3 (2026-11-15)",
                      packed="1.2.3", date="Sun, 15 Nov 2026 12:00:00 +0000"):
        self.write("Makefile", f"VERSION := {version}\nRELEASED := {day}\n")
        self.write("CHANGELOG.md", f"# Changelog\n\n## {noted}\n\n- Something.\n\n## 1.0 (old)\n")
        self.write("debian/changelog", f"ikigai ({packed}) unstable; urgency=medium\n\n"
                   f"  * Something.\n\n -- Us <us@example.org>  {date}\n\n"
                   "ikigai (1.0) unstable; urgency=medium\n\n  * x\n\n"
                   " -- Us <us@example.org>  Sat, 14 Nov 2026 12:00:00 +0000\n")

    def test_all_agree(self):
        for noted in ("1.2.3 (2026-11-15)", "1.2.3 (unreleased)"):
            self.write_release(noted=noted)
            self.assert_accepted("release")

    def test_a_section_of_the_next_version(self):
        released = "\n\n- Something.\n\n## 1.2.3 (2026-11-15)"
        for noted in ("1.3.0 (unreleased)", "1.2.10 (unreleased)"):
            self.write_release(noted=noted + released)
            self.assert_accepted("release")
        for noted in ("1.3.0 (2026-11-16)", "1.2.2 (unreleased)", "1.3.0 (unreleased)\n\n## 1.2.4 (unreleased)"):
            with self.subTest(noted=noted):
                self.write_release(noted=noted + released)
                self.assert_refused("release", "CHANGELOG.md")

    def test_one_does_not(self):
        for change, expected in (({"noted": "1.2.2 (2026-11-15)"}, "CHANGELOG.md"),
                                 ({"noted": "1.2.3 (2026-11-14)"}, "CHANGELOG.md"),
                                 ({"noted": "what is new"}, "CHANGELOG.md"),
                                 ({"packed": "1.2.4"}, "debian/changelog"),
                                 ({"date": "Mon, 16 Nov 2026 12:00:00 +0000"}, "debian/changelog"),
                                 ({"version": "2.0"}, "the Makefile says 2.0"),
                                 ({"day": "2027-01-01"}, "the Makefile says RELEASED := 2027-01-01")):
            with self.subTest(change=change):
                self.write_release(**change)
                self.assert_refused("release", expected)
