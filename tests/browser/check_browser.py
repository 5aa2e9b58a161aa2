#!/usr/bin/python3
"""What a reader sees of an exported page, in a real browser, also when an attacker wrote the
session to make the page do more than show it. Started by make check-browser.

    check_browser.py EXPORT_DRIVER [--keep FOLDER]      FOLDER gets the pages and pictures of them
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path[0] = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True

from browser import Browser
from sessions import HOSTILE, INVISIBLE, MARKDOWN, hostile, ordinary

driver = None
folder = None
browser = None

OPEN_ALL = "document.querySelectorAll('details').forEach(d => d.open = true)"
# Every piece of text that shows, with how much it stands out from its ground.
CONTRASTS = """(() => {
    const channel = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const numbers = text => text.match(/[\\d.]+/g).map(Number);
    const ground = element => {
        for (; element; element = element.parentElement) {
            const colour = numbers(getComputedStyle(element).backgroundColor);
            if (colour.length === 3 || colour[3] === 1) return colour;
        }
        return [255, 255, 255];
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    for (let node; (node = walker.nextNode());) {
        const element = node.parentElement;
        if (!node.data.trim() || !element.checkVisibility()) continue;
        const a = light(numbers(getComputedStyle(element).color)), b = light(ground(element));
        found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.className,
                    node.data.slice(0, 40)]);
    }
    return found;
})()"""
ALLOWED_TAGS = set(
    "html head meta title style body header p h1 dl div dt dd nav ul li a main section h2 h3 time "
    "details summary span b pre code table thead tbody tr th td ol strong em del blockquote hr br "
    "h4 h5 h6 footer".split())
ALLOWED_ATTRIBUTES = set(
    "lang charset http-equiv content name class id href rel datetime role aria-label start".split())


def write_page(name, session):
    path = os.path.join(folder, f"{name}.html")
    with open(path, "wb") as page:
        subprocess.run([driver, "html"], input=session.jsonl(), stdout=page, check=True)
    return path


class PageTest(unittest.TestCase):
    session = None  # a function
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.path = write_page(cls.__name__.lower(), cls.session())

    def open(self, **look):
        page = browser.open(self.path, **look)
        self.addCleanup(page.close)
        return page

    def is_visible(self, page, selector):
        return page.evaluate(f"document.querySelector({json.dumps(selector)}).checkVisibility()")

    def text_of(self, page, selector="body"):
        return page.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")

    def style_of(self, page, selector, name):
        return page.evaluate(
            f"getComputedStyle(document.querySelector({json.dumps(selector)})).{name}")

    def assert_quiet(self, page):
        """Nothing was asked for but the page itself, nothing complained, nothing ran."""
        self.assertEqual(page.requests, [page.url])
        self.assertEqual(page.complaints, [])
        self.assertEqual(page.dialogs, [])
        self.assertIsNone(page.evaluate("window.pwned"))


class Ordinary(PageTest):
    session = staticmethod(ordinary)

    def test_title_words_and_answers_are_there(self):
        page = self.open()
        self.assertEqual(page.evaluate("document.title"), "Why does the build fail?")
        self.assertEqual(self.text_of(page, "h1"), "Why does the build fail?")
        self.assertEqual(self.text_of(page, ".words"),
                         "Why does the build fail?\nKeep the <public> header.")
        text = self.text_of(page)
        for words in ("/home/ada/orbit", "openai/gpt-6-sol", "2026-01-31 09:05 UTC",
                      "The function exists, but under another name:", "You are welcome.",
                      "9,330 in (3,968 cached), 427 out", "$0.02", "5,120 in, 240 out", "$0.0041",
                      "4 tool results removed to fit the context", "no such tool", "2.5 s",
                      "(answer cut off)"):
            self.assertIn(words, text)
        self.assert_quiet(page)

    def test_markdown_is_rendered(self):
        page = self.open()
        self.assertEqual(self.text_of(page, ".answer strong"), "another name")
        self.assertEqual(page.evaluate("document.querySelectorAll('.answer table tr').length"), 2)
        self.assertEqual(self.style_of(page, ".answer td.right", "textAlign"), "right")
        self.assertEqual(page.evaluate("document.querySelectorAll('.answer ol li').length"), 2)
        self.assertIn("☑ found", self.text_of(page, ".answer ul"))
        self.assertEqual(self.text_of(page, ".answer h4"), "A heading of the model")
        self.assertEqual(self.text_of(page, ".answer del"), "Nothing")
        self.assertEqual(page.evaluate("document.querySelector('.answer a').href"),
                         "https://example.org/ld?a=1&b=2")
        self.assertEqual(page.evaluate("document.querySelector('.answer a').rel"),
                         "noopener noreferrer nofollow")
        self.assertEqual(self.text_of(page, ".answer a.image"), "a picture")

    def test_a_tool_call_unfolds(self):
        page = self.open()
        self.assertFalse(self.is_visible(page, ".tool .result pre"))
        self.assertNotIn("undefined", self.text_of(page, ".tool .body"))
        self.assertIn("exit 2", self.text_of(page, ".tool summary"))
        page.click(".tool summary")
        self.assertTrue(self.is_visible(page, ".tool .result pre"))
        self.assertEqual(self.text_of(page, ".tool .result pre").strip(), "cc: error: undefined")
        page.click(".tool summary")
        self.assertFalse(self.is_visible(page, ".tool .result pre"))
        self.assert_quiet(page)

    def test_reasoning_and_system_prompt_are_folded(self):
        page = self.open()
        self.assertEqual(page.evaluate("document.querySelectorAll('details[open]').length"), 0)
        self.assertNotIn("You are a coding agent.", self.text_of(page))
        page.evaluate(OPEN_ALL)
        self.assertIn("You are a coding agent.", self.text_of(page))
        self.assertIn("Let me think about it.", self.text_of(page))

    def test_how_a_call_ended_shows(self):
        page = self.open()
        states = page.evaluate("[...document.querySelectorAll('.tool')].map(t => [t.className, "
                               "t.querySelector('.state').getAttribute('aria-label')])")
        self.assertEqual(states, [["tool failed", "failed"]] + [["tool ok", "succeeded"]] * 4
                         + [["tool failed", "failed"]])

    def test_light_and_dark(self):
        page = self.open(dark=False)
        light = [self.style_of(page, "body", n) for n in ("color", "backgroundColor")]
        page.set_dark(True)
        dark = [self.style_of(page, "body", n) for n in ("color", "backgroundColor")]
        self.assertNotEqual(light[0], dark[0])
        self.assertNotEqual(light[1], dark[1])

    def test_all_text_stands_out(self):
        for dark in (False, True):
            page = self.open(dark=dark)
            page.evaluate(OPEN_ALL)
            found = page.evaluate(CONTRASTS)
            self.assertGreater(len(found), 100)
            self.assertEqual([each for each in found if each[0] < 4.5], [])

    def test_code_and_differences_are_coloured(self):
        page = self.open()
        page.evaluate(OPEN_ALL)
        plain = self.style_of(page, ".md pre code", "color")
        colours = {self.style_of(page, f".md pre .{c}", "color") for c in "knc"} | {plain}
        self.assertEqual(len(colours), 4)
        self.assertEqual(self.text_of(page, ".md pre .k"), "static")
        grounds = {self.style_of(page, s, "backgroundColor") for s in (".add", ".del", ".file")}
        self.assertEqual(len(grounds), 3)
        changed = page.evaluate("[...document.querySelectorAll('.add, .del')]"
                                ".map(line => line.innerText.trim())")
        self.assertEqual(changed, ["-static int b;", "+int b;", "-static double step_orbit(void)",
                                   "+double orbit_step(void)"])
        self.assertIn('return 42  # of course', self.text_of(page))

    def test_a_phone_scrolls_long_lines_and_not_the_page(self):
        page = self.open(width=380, height=800)
        page.evaluate(OPEN_ALL)
        wide, seen = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(wide, seen)
        boxes = page.evaluate("[...document.querySelectorAll('.md pre')]"
                              ".map(p => [p.scrollWidth, p.clientWidth])")
        self.assertTrue(any(inner > 2 * outer for inner, outer in boxes), boxes)
        self.assertEqual(self.style_of(page, ".md pre", "overflowX"), "auto")

    def test_paper_shows_what_is_folded(self):
        page = self.open()
        page.set_media("print")
        self.assertTrue(self.is_visible(page, ".tool .result pre"))
        self.assertEqual(self.style_of(page, "pre", "whiteSpaceCollapse"), "preserve")
        self.assertEqual(self.style_of(page, "pre", "textWrapMode"), "wrap")

    def test_long_results_are_cut(self):
        page = self.open()
        page.evaluate(OPEN_ALL)
        self.assertIn("Shows the first 200 KB of 330 KB.", self.text_of(page))

    def test_a_fork_says_where_it_began(self):
        page = self.open()
        self.assertIn("Forked from agent 1 at message 4.", self.text_of(page, "#agent-2"))
        page.click("nav li:last-child a")
        self.assertEqual(page.evaluate("document.querySelector(':target').id"), "agent-2")
        # Message 4 is a result and folded: who follows the link sees it all the same.
        page.click("#agent-2 a[href='#a1-4']")
        self.assertEqual(page.evaluate("document.querySelector(':target').id"), "a1-4")
        self.assertTrue(self.is_visible(page, "#a1-4"))

    def test_the_policy_forbids_scripts_and_styles(self):
        page = self.open()
        page.evaluate("""(() => {
            const script = document.createElement("script");
            script.textContent = "window.pwned = 1";
            const style = document.createElement("style");
            style.textContent = "body{display:none}";
            document.body.append(script, style);
            document.body.setAttribute("style", "color:red");
            const image = document.createElement("img");
            image.src = "http://127.0.0.1:9/x.png";
            document.body.append(image);
        })()""")
        self.assertIsNone(page.evaluate("window.pwned"))
        self.assertTrue(self.is_visible(page, "h1"))
        self.assertNotEqual(self.style_of(page, "body", "color"), "rgb(255, 0, 0)")
        refused = [c for c in page.complaints if "Content Security Policy" in c]
        self.assertEqual(len(refused), 4, page.complaints)


class Hostile(PageTest):
    session = staticmethod(hostile)

    def test_nothing_ran_and_nothing_was_asked_for(self):
        page = self.open()
        page.evaluate(OPEN_ALL)
        self.assert_quiet(page)
        title = page.evaluate("document.title")
        self.assertTrue(title.startswith("<script>document.title='pwned'"), title)

    def test_everything_is_text(self):
        page = self.open()
        page.evaluate(OPEN_ALL)
        text = self.text_of(page)
        for words in HOSTILE:
            self.assertGreaterEqual(text.count(words), 10, words)
        for _, words in MARKDOWN:
            self.assertIn(words, text)

    def test_only_our_own_elements_and_attributes_are_there(self):
        page = self.open()
        tags, attributes = page.evaluate("""(() => {
            const tags = new Set(), attributes = new Set();
            for (const element of document.querySelectorAll("*")) {
                tags.add(element.localName);
                for (const a of element.attributes) attributes.add(a.name);
            }
            return [[...tags], [...attributes]];
        })()""")
        self.assertEqual(set(tags) - ALLOWED_TAGS, set())
        self.assertEqual(set(attributes) - ALLOWED_ATTRIBUTES, set())
        self.assertEqual(page.evaluate("document.querySelectorAll('style').length"), 1)

    def test_links_go_only_where_links_may(self):
        page = self.open()
        links = page.evaluate("[...document.querySelectorAll('a')].map(a => "
                              "[a.getAttribute('href'), a.rel, a.querySelector('a') === null])")
        foreign = [link for link in links if not link[0].startswith("#")]
        self.assertGreater(len(foreign), 5)
        for href, rel, alone in foreign:
            self.assertTrue(href.startswith(("https://", "http://", "mailto:")), href)
            self.assertEqual(rel, "noopener noreferrer nofollow")
            self.assertTrue(alone, href)

    def test_no_message_leaves_its_place(self):
        page = self.open()
        self.assertEqual(page.evaluate("[...document.body.children].map(e => e.localName)"),
                         ["header", "main", "footer"])
        self.assertEqual(page.evaluate("[...document.querySelector('main').children]"
                                       ".map(e => e.className)"), ["agent"])
        # Turns stand side by side, and every message is somewhere.
        self.assertEqual(page.evaluate("document.querySelectorAll('.turn .turn').length"), 0)
        self.assertEqual(page.evaluate("document.querySelectorAll('.agent > .turn').length"),
                         len(HOSTILE) + 2)
        count = len(self.session().lines) - 2
        missing = page.evaluate(f"[...Array({count}).keys()].filter("
                                "i => !document.getElementById('a1-' + (i + 1)))")
        self.assertEqual(missing, [])
        self.assertEqual(page.evaluate("new Set([...document.querySelectorAll('[id]')]"
                                       ".map(e => e.id)).size === "
                                       "document.querySelectorAll('[id]').length"), True)

    def test_what_cannot_be_seen_is_shown(self):
        page = self.open()
        text = self.text_of(page, ".words")
        everything = page.evaluate("document.documentElement.textContent")
        for character, shown in INVISIBLE.items():
            self.assertIn(shown, text)
            self.assertNotIn(character, everything)
        self.assertIn("bytes \ufffd\ufffd\ufffd[31m end", self.text_of(page))

    def test_it_is_as_readable_as_any(self):
        for dark in (False, True):
            page = self.open(dark=dark, width=380, height=800)
            page.evaluate(OPEN_ALL)
            wide, seen = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            self.assertLessEqual(wide, seen)
            self.assertEqual([c for c in page.evaluate(CONTRASTS) if c[0] < 4.5], [])


def keep_pictures():
    for name in ("ordinary", "hostile"):
        for look, width, dark in (("light", 1100, False), ("dark", 1100, True),
                                  ("phone", 380, False)):
            page = browser.open(os.path.join(folder, f"{name}.html"), width=width, height=2000,
                                dark=dark)
            page.screenshot(os.path.join(folder, f"{name}-{look}.png"))
            page.close()


def main():
    global driver, folder, browser
    driver = os.path.abspath(sys.argv[1])
    keep = sys.argv[3] if sys.argv[2:3] == ["--keep"] else None
    with tempfile.TemporaryDirectory(prefix="ikigai-pages-") as scratch, Browser() as browser:
        folder = keep or scratch
        os.makedirs(folder, exist_ok=True)
        suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
        result = unittest.TextTestRunner(verbosity=2).run(suite)
        if keep:
            keep_pictures()
    failed = len({test.id().partition(" ")[0] for test, _ in result.failures + result.errors})
    print(f"\n{result.testsRun - failed} passed, {failed} failed")
    return 0 if result.testsRun and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
