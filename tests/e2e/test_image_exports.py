"""Images in exports: JSON Lines carry them and import restores them, HTML shows them, Markdown and
`session show` name them."""
import base64
import hashlib
import html.parser
import json
import os
import shutil
import time
import subprocess
import unittest

from agent_support import AgentTest
from fake_llm import Answer, Call
from image_support import png

SHOT, PLOT = png(3, 2), png(5, 4, comment=b"\x1b[2J\"><script>")


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.images, self.policy, self.captions, self.caption = [], None, [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "img":
            self.images.append(attrs)
        elif tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy":
            self.policy = attrs["content"]
        self.caption = tag == "figcaption"

    def handle_data(self, data):
        if self.caption:
            self.captions.append(data)
            self.caption = False


class ExportTest(AgentTest):
    def setUp(self):
        super().setUp()
        for name, data in (("shot.png", SHOT), ("<b>&\".png", PLOT)):
            with open(os.path.join(self.project, name), "wb") as f:
                f.write(data)
        turn = self.ask([Answer(calls=[Call("file_read", {"file_path": "<b>&\".png"})]),
                         Answer("Two pictures.")], prompt="compare @shot.png twice @shot.png")
        again = self.ask([Answer("The same.")], "-c", "--image", "shot.png", prompt="and this?")
        self.session = again.of("session")[0]["id"]
        self.assertEqual(len(turn.messages("tool_result")[0]["data"]["images"]), 1)

    def export(self, form):
        return self.ikigai("session", "export", self.session, "--format", form).out

    def lines(self):
        return [json.loads(line) for line in self.export("jsonl").splitlines()]

    def blob(self, data, home=None):
        name = hashlib.sha256(data).hexdigest()
        return os.path.join(home or self.home, "blobs", "images", name[:2], name[2:])

    def test_json_lines_have_each_image_once(self):
        found = [image for line in self.lines() for image in line.get("images", [])]
        self.assertEqual([image["sha256"] for image in found],
                         [hashlib.sha256(data).hexdigest() for data in (SHOT, PLOT)])
        self.assertEqual([base64.b64decode(image["data"]) for image in found], [SHOT, PLOT])
        users = [line for line in self.lines() if line.get("kind") == "user"]
        self.assertEqual([i["name"] for line in users for i in line["data"]["images"]],
                         ["shot.png", "shot.png"])

    def test_import_restores_them(self):
        text = self.export("jsonl")
        fresh = {"IKIGAI_HOME": os.path.join(self.dir, "fresh")}
        self.ikigai("session", "import", "-", input=text.encode(), env=fresh)
        for data in (SHOT, PLOT):
            path = self.blob(data, fresh["IKIGAI_HOME"])
            with open(path, "rb") as f:
                self.assertEqual(f.read(), data)
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        again = self.ikigai("session", "export", self.session, env=fresh).out
        self.assertEqual(again, text)

    def test_images_of_an_imported_database_are_kept(self):
        """Those of sessions in another database than the usual one, when others are deleted."""
        text = self.export("jsonl")
        fresh = {"IKIGAI_HOME": os.path.join(self.dir, "fresh")}
        archive = self.path("archive.db")
        self.ikigai("session", "import", "-", "--db", archive, input=text.encode(), env=fresh)
        old = time.time() - 7200
        blobs = os.path.join(fresh["IKIGAI_HOME"], "blobs", "images")
        for folder, _, names in os.walk(blobs):
            for name in names:
                os.utime(os.path.join(folder, name), (old, old))
        llm = self.serve([Answer("Hi.")])
        turn = self.ikigai(*self.command("Hi"), "--json", env={**fresh, **self.connect(llm)})
        other = json.loads(turn.out.split("\n")[0])["id"]
        self.ikigai("session", "delete", other, "--yes", env=fresh)
        self.assertEqual(self.ikigai("session", "export", self.session, "--db", archive, env=fresh).out,
                         text)

    def test_a_second_import_restores_what_was_lost(self):
        text = self.export("jsonl")
        shutil.rmtree(os.path.join(self.home, "blobs"))
        self.assertIn("already present", self.ikigai("session", "import", "-",
                                                     input=text.encode()).out)
        self.assertTrue(os.path.exists(self.blob(SHOT)))

    def test_import_takes_no_other_bytes(self):
        lines = self.lines()
        at = next(i for i, line in enumerate(lines) if "images" in line)
        for change, words in (
                ({"data": base64.b64encode(PLOT).decode()}, "the bytes of image"),
                ({"data": "###"}, "the bytes of image"), ({"data": 7}, '"sha256" and "data"'),
                ({"data": base64.b64encode(b"text").decode(),
                  "sha256": hashlib.sha256(b"text").hexdigest()}, "not a png")):
            with self.subTest(change):
                changed = json.loads(json.dumps(lines))
                changed[at]["images"][0].update(change)
                text = "\n".join(map(json.dumps, changed))
                fresh = {"IKIGAI_HOME": os.path.join(self.dir, "fresh")}
                done = self.ikigai("session", "import", "-", input=text.encode(), env=fresh,
                                   status=1)
                self.assertIn(f"standard input:{at + 1}: ", done.err)
                self.assertIn(words, done.err)
                self.assertFalse(os.path.exists(os.path.join(self.dir, "fresh", "blobs")))
        lines[at]["images"] = 7
        done = self.ikigai("session", "import", "-", status=1,
                           input="\n".join(map(json.dumps, lines)).encode())
        self.assertIn('"images" to be an array', done.err)

    def test_an_image_that_is_gone(self):
        os.unlink(self.blob(SHOT))
        found = [image for line in self.lines() for image in line.get("images", [])]
        self.assertEqual([image["sha256"] for image in found], [hashlib.sha256(PLOT).hexdigest()])
        page = Page(self.export("html"))
        self.assertEqual(len(page.images), 1)
        self.assertEqual(len(page.captions), 3)

    def test_the_page_shows_them(self):
        text = self.export("html")
        self.assertEqual(text.count('<img src="data:image/png;base64,'), 3)
        page = Page(text)
        self.assertIn("img-src data:;", page.policy)
        self.assertIn("default-src 'none';", page.policy)
        self.assertEqual([(i["alt"], i["width"], i["height"]) for i in page.images],
                         [("shot.png", "3", "2"), ("<b>&\".png", "5", "4"), ("shot.png", "3", "2")])
        self.assertEqual([i["src"] for i in page.images],
                         ["data:image/png;base64," + base64.b64encode(data).decode()
                          for data in (SHOT, PLOT, SHOT)])
        self.assertEqual(page.captions[1], f"<b>&\".png, image/png, 5x4, {len(PLOT)} bytes")

    def test_the_document_names_them(self):
        text = self.export("md")
        self.assertIn(f"*Image: shot.png, image/png, 3x2, {len(SHOT)} bytes*\n", text)
        self.assertIn("image/png, 5x4", text)
        self.assertNotIn("<b>&\"", text)
        self.assertNotIn("base64", text)

    def test_shown(self):
        text = self.ikigai("session", "show", self.session).out
        self.assertEqual(text.count(f"\n  [shot.png, image/png, 3x2, {len(SHOT)} bytes]\n"), 2)
        self.assertIn("\n  [<b>&\".png, image/png, 5x4,", text)

    def test_exported_from_the_terminal(self):
        self.config({"model": "offline/offline"})
        done = subprocess.run(
            ["script", "-qec", f"{self.ikigai_command()} -c --plain", "/dev/null"],
            input=b"/export page.html\n", cwd=self.project, env=self.env(TERM="dumb"),
            stdout=subprocess.PIPE, timeout=60)
        with open(os.path.join(self.project, "page.html"), encoding="utf-8") as f:
            self.assertEqual(len(Page(f.read()).images), 3, done.stdout)

    @staticmethod
    def ikigai_command():
        from support import IKIGAI
        return IKIGAI


if __name__ == "__main__":
    unittest.main()
