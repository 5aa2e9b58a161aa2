"""The manual pages: man and groff show them without a warning, wide, narrow and without UTF-8;
nothing that the program's tables list is missing; code comes out letter for letter."""
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import IKIGAI, OUT, ROOT, ScratchTest, clean_env  # noqa: E402

PAGES = ["ikigai.1", "ikigai-tools.7"]
TABLES = ["options", "commands", "slash", "keys", "config", "environment", "files", "exit"]
CODE_INDENT = " " * 7  # of the page


def ikigai_help(*words):
    return subprocess.run([IKIGAI, "help", *words], check=True, stdout=subprocess.PIPE,
                          env=clean_env(), timeout=60).stdout.decode()


def source(page):
    return os.path.join(ROOT, "docs", "man", page + ".md")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def plain(text):
    """What is read on a terminal, without bold and underlined."""
    return re.sub(r".\x08", "", text)


def flat(text):
    return " ".join(text.split())


def rows(markdown):
    """The cells of all rows of all tables, without the heads, as plain text."""
    found = []
    for line in markdown.splitlines():
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells and cells[0].startswith("`"):
            found.append([re.sub(r"`|\*(?=\w)|(?<=\w)\*", "", c.replace("\\|", "|")) for c in cells])
    return found


def code_blocks(markdown):
    markdown = markdown.replace("…", "...")  # pages are ASCII
    return re.findall(r"^```\w*\n(.*?)^```$", markdown, re.M | re.S)


class ManTest(ScratchTest):
    def setUp(self):
        super().setUp()
        self.pages = {page: os.path.join(OUT, "share", "man", "man" + page[-1], page)
                      for page in PAGES}

    def quiet(self, *argv, locale="C.UTF-8", encoding="utf-8", width=80):
        """What a command prints; it must have nothing to complain about."""
        env = clean_env(LC_ALL=locale, MANWIDTH=str(width), MANPAGER="cat", MANROFFOPT="",
                        GROFF_NO_SGR="1")
        done = subprocess.run(argv, env=env, timeout=60, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.stderr.decode(), done.returncode), ("", 0), argv)
        return plain(done.stdout.decode(encoding))

    def man(self, page, **how):
        return self.quiet("man", "--warnings", "-l", self.pages[page], **how)

    def groff(self, page, width=80):
        """Without man's squeezing of empty lines."""
        return self.quiet("groff", "-k", "-man", "-ww", "-Tutf8", f"-rLL={width}n", self.pages[page])

    def assert_said(self, words, shown, where):
        self.assertTrue(flat(words).replace("…", "...") in flat(shown), f"{where}: {words!r} is missing")


class Shown(ManTest):
    def test_man_has_nothing_to_complain_about(self):
        for page in PAGES:
            self.quiet("man", "--warnings", "-E", "UTF-8", "-l", "-Z", self.pages[page])
            for width in (60, 80, 132):
                self.assertIn("NAME\n", self.man(page, width=width))

    def test_groff_has_nothing_to_complain_about(self):
        for page in PAGES:
            for device, encoding in (("utf8", "utf-8"), ("ascii", "ascii"), ("latin1", "latin-1")):
                shown = self.quiet("groff", "-k", "-man", "-ww", "-T" + device, self.pages[page],
                                   encoding=encoding)
                self.assertIn("NAME\n", shown)

    def test_mandoc_has_nothing_to_complain_about(self):
        if shutil.which("mandoc") is None:
            self.skipTest("mandoc is not installed")
        for page in PAGES:
            self.assertEqual(
                self.quiet("mandoc", "-T", "lint", "-W", "warning", self.pages[page]), "")

    def test_without_utf8_nothing_is_lost(self):
        for page in PAGES:
            shown = self.man(page, locale="C", encoding="ascii")
            words = flat(self.man(page)).replace("…", "...").replace("•", "o")
            self.assertEqual(flat(shown), words)

    def test_apropos_finds_name_and_purpose(self):
        for page in PAGES:
            name = page.partition(".")[0]
            self.assertRegex(self.quiet("lexgrog", self.pages[page]), f'"{name} - \\w[^"]+"\n')

    def test_only_code_is_wider_than_the_page(self):
        for page in PAGES:
            markdown = read(source(page)) + read(os.path.join(ROOT, "docs", "tool-protocol.md"))
            code = {line for block in code_blocks(markdown) for line in block.splitlines()}
            for width in (60, 80):
                for line in self.groff(page, width=width).splitlines():
                    if len(line) > width:
                        self.assertIn(line[len(CODE_INDENT):], code, f"{page}, {width}")


class Complete(ManTest):
    def test_every_row_of_every_table_is_there(self):
        shown = self.groff("ikigai.1")
        for topic in TABLES:
            listed = rows(ikigai_help("--markdown", topic))
            self.assertGreater(len(listed), 2, topic)
            for term, *cells in listed:
                tag = re.compile(rf"^ +{re.escape(term)}(\s|$)", re.M)
                self.assertTrue(tag.search(shown), f"{topic}: {term!r} is missing")
                for cell in cells:
                    self.assert_said(cell, shown, f"{topic}, {term}")

    def test_every_command_is_there_with_its_usage(self):
        shown = self.groff("ikigai.1")
        usages = re.findall(r"(?m)^`(ikigai .*)`$", ikigai_help("--markdown", "commands"))
        self.assertGreater(len(usages), 15)
        for usage in usages:
            self.assert_said(usage, shown, "commands")
            name = re.match(r"ikigai [a-z]+( [a-z]+)?(?= |$)", usage)[0]
            self.assertIn(f"   {name}", shown.splitlines())

    def test_the_protocol_is_there(self):
        shown = self.groff("ikigai-tools.7")
        protocol = read(os.path.join(ROOT, "docs", "tool-protocol.md"))
        headings = re.findall(r"(?m)^## (.*)$", protocol)
        self.assertGreater(len(headings), 5)
        for heading in headings:
            self.assertIn(f"   {heading}", shown.splitlines())
        for cells in rows(protocol):
            self.assert_said(cells[-1], shown, cells[0])

    def test_code_comes_out_letter_for_letter(self):
        shown = {page: self.groff(page) for page in PAGES}
        documents = [(page, source(page)) for page in PAGES]
        documents.append(("ikigai-tools.7", os.path.join(ROOT, "docs", "tool-protocol.md")))
        count = 0
        for page, path in documents:
            for block in code_blocks(read(path)):
                lines = [(CODE_INDENT + line).rstrip() for line in block.splitlines()]
                self.assertTrue("\n" + "\n".join(lines) + "\n" in shown[page], block)
                count += 1
        self.assertGreater(count, 15)

    def test_chapters_that_pages_name_exist(self):
        chapters = set()
        for page in PAGES:
            chapters.update(re.findall(r"ikigai help ([a-z-]+)", flat(self.groff(page))))
        self.assertIn("sessions", chapters)
        for chapter in sorted(chapters - {"lists"}):  # "ikigai help lists the chapters"
            self.assertIn("# ", ikigai_help("--markdown", chapter))

    def test_sections_are_in_the_usual_order(self):
        self.assertEqual(
            re.findall(r"(?m)^[A-Z][A-Z ]+$", self.groff("ikigai.1")),
            ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "SLASH COMMANDS", "KEYS",
             "CONFIGURATION", "PROVIDERS", "TOOLS", "SESSIONS", "PERMISSIONS", "EXTENSIONS", "TRUST",
             "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO"])
        self.assertEqual(re.findall(r"(?m)^[A-Z][A-Z ]+$", self.groff("ikigai-tools.7")),
                         ["NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"])


class Expanded(ManTest):
    """`help --expand`, of which pages are made."""

    def test_tables_become_definition_lists(self):
        path = self.write("a.md", "# A\n\n| key | type | text |\n|---|---|---|\n"
                                  "| `a\\|b` | word | says `it` |\n\n<!-- topic: exit -->\n")
        text = ikigai_help("--expand", path)
        self.assertIn("`a|b` (type: word)\n: says `it`\n\n", text)
        self.assertIn("`0`\n: ", text)
        self.assertNotIn("|---|", text)

    def test_wrong_use_is_refused(self):
        done = subprocess.run([IKIGAI, "help", "--expand", self.path("nowhere.md")],
                              env=clean_env(), timeout=60, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.stdout, done.returncode), ("", 1), done.stderr)
        self.assertIn("No such file", done.stderr)
        done = subprocess.run([IKIGAI, "help", "--expand", source(PAGES[0]), "keys"],
                              env=clean_env(), timeout=60, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.stdout, done.returncode), ("", 2), done.stderr)


if __name__ == "__main__":
    unittest.main()
