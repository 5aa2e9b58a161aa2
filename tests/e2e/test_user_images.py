"""Images of the user without a terminal: --image, @FILE in a prompt, what is refused and how it is
told."""
import hashlib
import json
import os
import resource
import unittest

from agent_support import AgentTest, per_format
from fake_llm import Answer
from fake_llm import images as wire_images
from image_support import entry, gif, png

SHOT = png(3, 2)


class ImageTest(AgentTest):
    def put(self, name, data):
        path = os.path.join(self.project, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def blob(self, data):
        name = hashlib.sha256(data).hexdigest()
        return os.path.join(self.home, "blobs", "images", name[:2], name[2:])

    def sent(self, turn):
        """The images of the user's message."""
        (message,) = turn.messages("user")
        return message.get("data", {}).get("images", []) if message.get("data") else []

    def names(self, prompt, *args, **more):
        """The names of the images that a prompt attaches, and the notices."""
        turn = self.ask([Answer("Yes.")], *args, prompt=prompt, **more)
        (message,) = turn.messages("user")
        self.assertEqual(message["content"], prompt)
        return [i["name"] for i in self.sent(turn)], [n["text"] for n in turn.of("notice")
                                                      if "attached" in n["text"]]


class OptionTest(ImageTest):
    def test_an_image_is_stored_once_and_named_in_the_message(self):
        self.put("shot.png", SHOT)
        turn = self.ask([Answer("A picture.")], "--image", "shot.png", prompt="What is this?")
        self.assertEqual(self.sent(turn), [entry("shot.png", SHOT, width=3, height=2)])
        with open(self.blob(SHOT), "rb") as f:
            self.assertEqual(f.read(), SHOT)
        self.assertEqual(os.stat(self.blob(SHOT)).st_mode & 0o777, 0o600)
        for folder in (".", "images", os.path.join("images", hashlib.sha256(SHOT).hexdigest()[:2])):
            self.assertEqual(os.stat(os.path.join(self.home, "blobs", folder)).st_mode & 0o777,
                             0o700)

    def test_it_is_repeatable_and_takes_any_kind(self):
        self.put("a.png", SHOT)
        other = self.put("sub/b.gif", gif())
        turn = self.ask([Answer("Two.")], "--image", "a.png", f"--image={other}", prompt="And?")
        self.assertEqual([(i["name"], i["media_type"]) for i in self.sent(turn)],
                         [("a.png", "image/png"), ("b.gif", "image/gif")])

    def test_a_copy_under_another_name_is_another_picture(self):
        for name in ("before.png", "after.png"):
            self.put(name, SHOT)
        self.assertEqual(self.names("Equal? @after.png @before.png @after.png", "--image", "before.png"),
                         (["before.png", "after.png"], []))

    def test_the_kind_is_that_of_the_content(self):
        self.put("lies.jpg", SHOT)
        turn = self.ask([Answer("Yes.")], "--image", "lies.jpg")
        self.assertEqual(self.sent(turn), [entry("lies.jpg", SHOT, width=3, height=2)])

    def test_what_cannot_be_used_ends_with_status_2_and_sends_nothing(self):
        self.put("text.png", b"no image")
        self.put("empty.png", b"")
        self.put("cut.png", SHOT[:20])
        self.put("wide.png", png(2001, 1))
        self.put("large.png", png(1, 1, comment=os.urandom(3_932_200)))
        os.mkfifo(os.path.join(self.project, "pipe.png"))
        os.mkdir(os.path.join(self.project, "folder.png"))
        for name, reason in (("text.png", "not a png, jpeg, gif or webp"), ("empty.png", "empty"),
                             ("cut.png", "cut off"), ("wide.png", "2001x1"),
                             ("large.png", "5242880"), ("missing.png", "no such file"),
                             ("pipe.png", "not a file"), ("folder.png", "a folder")):
            with self.subTest(name):
                turn = self.ask([Answer("Never.")], "--image", name, status=2, fair=False,
                                env={"PATH": "/nonexistent"})
                self.assertIn(name, turn.err)
                self.assertIn(reason, turn.err)
                self.assertEqual(turn.events, [])
                self.assertEqual(turn.llm.requests, [])

    def test_one_bad_image_among_good_ones_is_enough(self):
        self.put("shot.png", SHOT)
        turn = self.ask([Answer("Never.")], "--image", "shot.png", "--image", "no.png", status=2,
                        fair=False)
        self.assertIn("no.png", turn.err)
        self.assertEqual(turn.llm.requests, [])

    def test_a_value_is_needed(self):
        self.assertIn("--image needs a value", self.ikigai("-p", "hi", "--image", status=2).err)

    def test_more_than_a_request_holds(self):
        """The oldest become markers."""
        options = []
        for i in range(22):
            options += ["--image", self.put(f"{i}.png", png(1, 1, comment=b"%d" % i))]
        turn = self.ask([Answer("Yes.")], *options)
        self.assertEqual([i["name"] for i in self.sent(turn)], [f"{i}.png" for i in range(22)])
        self.assertEqual(wire_images.sent(turn.llm.requests[0].json),
                         [png(1, 1, comment=b"%d" % i) for i in range(2, 22)])
        body = turn.llm.requests[0].body.decode()
        for i in range(22):
            self.assertEqual(f"[image {i}.png, " in body, i < 2, i)
        (notice,) = turn.of("notice")
        self.assertIn("the first 2 images", notice["text"])

    def test_more_than_a_hundred_are_refused(self):
        self.put("shot.png", SHOT)
        turn = self.ask([Answer("Never.")], *["--image", "shot.png"] * 101, status=2, fair=False)
        self.assertIn("at most 100", turn.err)

    def test_only_the_first_message_has_it(self):
        self.put("shot.png", SHOT)
        turn = self.ask([Answer("One.")], "--image", "shot.png")
        again = self.ask([Answer("Two.")], "-c", prompt="And now?")
        self.assertEqual(len(self.sent(turn)), 1)
        self.assertEqual(self.sent(again), [])


class SignTest(ImageTest):
    def test_a_prompt_names_images(self):
        self.put("shot.png", SHOT)
        self.put("sub/my shot.png", png(2, 2))
        self.put("no-extension", gif())
        for prompt, expected in (
                ("What is @shot.png?", ["shot.png"]),
                ("@shot.png", ["shot.png"]),
                ("(see @shot.png, and @shot.png)", ["shot.png"]),
                ('@"sub/my shot.png" and @no-extension', ["my shot.png", "no-extension"]),
                ("@sub/my\\ shot.png!", ["my shot.png"]),
                ("compare @sub/my shot.png with it", ["my shot.png"]),
                (f"@{self.project}/shot.png", ["shot.png"]),
                (f"@file://{self.project}/sub/my%20shot.png", ["my shot.png"]),
                ("mail me@shot.png or @ shot.png", [])):
            with self.subTest(prompt):
                self.assertEqual(self.names(prompt), (expected, []))

    def test_the_home_folder(self):
        home = os.path.join(self.dir, "person")
        os.mkdir(home)
        with open(os.path.join(home, "shot.png"), "wb") as f:
            f.write(SHOT)
        self.assertEqual(self.names("@~/shot.png", env={"HOME": home}), (["shot.png"], []))

    def test_other_files_are_words(self):
        self.put("main.c", b"int main(void);\n")
        self.put("logo.svg", b"<svg/>")
        os.mkdir(os.path.join(self.project, "folder"))
        self.assertEqual(self.names("fix @main.c in @folder, @logo.svg, ask @bob and @nobody.c"),
                         ([], []))

    def test_what_cannot_be_used_is_told_and_the_text_is_sent(self):
        self.put("text.png", b"no image")
        self.put("wide.png", png(2001, 1))
        self.put("photo.heic", b"\0\0\0\x18ftypheic")
        self.put("good.png", SHOT)
        names, notices = self.names("@text.png @wide.png @photo.heic @missing.png @good.png",
                                    env={"PATH": "/nonexistent"})
        self.assertEqual(names, ["good.png"])
        self.assertEqual(len(notices), 4, notices)
        for notice, words in zip(notices, (("text.png", "not a png"), ("wide.png", "2001x1"),
                                           ("photo.heic", "not a png"),
                                           ("missing.png", "no such file"))):
            for word in words:
                self.assertIn(word, notice)

    def test_the_notice_is_a_line_on_standard_error_without_json(self):
        done = self.ask_text([Answer("Yes.")], prompt="look at @missing.png")
        self.assertIn("missing.png", done.err)
        self.assertEqual(done.out, "Yes.\n")

    def test_option_and_sign_together(self):
        self.put("a.png", SHOT)
        self.put("b.png", png(5, 5))
        self.assertEqual(self.names("@b.png and @a.png", "--image", "a.png")[0],
                         ["a.png", "b.png"])

    def test_option_and_sign_together_are_too_many(self):
        """What is left out and what becomes a marker is counted over both."""
        for i in range(120):
            self.put(f"{i}.png", png(1, 1, comment=b"%d" % i))
        for first, last, images, left_out, markers in ((60, 120, 100, 20, 80), (15, 30, 30, 0, 10)):
            options = [word for i in range(first) for word in ("--image", f"{i}.png")]
            turn = self.ask([Answer("Yes.")], *options,
                            prompt=" ".join(f"@{i}.png" for i in range(first, last)))
            self.assertEqual(len(self.sent(turn)), images)
            notices = [n["text"] for n in turn.of("notice") if "image" in n["text"]]
            self.assertEqual(notices, [
                *[f"Not attached: {left_out} more images; a message has at most 100"] * (left_out > 0),
                f"The model gets only the name and size of the first {markers} images: a request holds at "
                "most 20"])

    def test_an_image_behind_many_other_words(self):
        self.put("a.png", SHOT)
        self.assertEqual(self.names("@param x " * 500 + "look at @a.png")[0], ["a.png"])
        names, _ = self.names("@b " * 20000 + "@a.png")
        self.assertEqual(names, [])
        turn = self.ask([Answer("Yes.")], prompt="@b " * 20000 + "@a.png")
        self.assertIn("Only the first 20,000 words with @ were looked at for images",
                      [n["text"] for n in turn.of("notice")])

    def test_a_long_word_takes_no_memory(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
        llm = self.serve([Answer("Yes.")])
        done = self.ikigai(*self.command("see @a" + "." * 100000), env=self.connect(llm), preexec_fn=limit)
        self.assertEqual(done.out, "Yes.\n")

    def test_more_than_a_hundred(self):
        for i in range(102):
            self.put(f"{i}.png", png(1, 1, comment=b"%d" % i))
        names, notices = self.names(" ".join(f"@{i}.png" for i in range(102)))
        self.assertEqual(names, [f"{i}.png" for i in range(100)])
        self.assertEqual(len(notices), 1)
        self.assertIn("2 more images", notices[0])

    def test_a_prompt_from_standard_input(self):
        self.put("shot.png", SHOT)
        llm = self.serve([Answer("Yes.")])
        env = self.connect(llm)
        done = self.ikigai("-p", "--json", "-m", "openai/gpt-5", env=env,
                           input=b"what is @shot.png")
        user = [json.loads(line) for line in done.out.splitlines() if '"kind":"user"' in line]
        self.assertEqual([i["name"] for i in user[0]["data"]["images"]], ["shot.png"])

    def test_input_that_is_appended_to_a_prompt_attaches_nothing(self):
        self.put("shot.png", SHOT)
        self.put("other.png", png(4, 4))
        turn = self.ask([Answer("Yes.")], prompt="summarise, like @other.png",
                        input=b"a log that names @shot.png and @missing.png\n")
        self.assertEqual([i["name"] for i in self.sent(turn)], ["other.png"])
        self.assertEqual(turn.of("notice"), [])
        self.assertIn("names @shot.png", turn.messages("user")[0]["content"])

    def test_a_name_that_is_not_utf_8(self):
        path = os.path.join(os.fsencode(self.project), b"b\xffd.png")
        with open(path, "wb") as f:
            f.write(SHOT)
        turn = self.ask([Answer("Yes.")], "--image", os.fsdecode(path))
        self.assertEqual(self.sent(turn)[0]["name"], "b\ufffdd.png")


class ScaledTest(ImageTest):
    """A stand-in for the program that makes images smaller."""
    SMALL = png(7, 7, comment=b"small")

    def setUp(self):
        super().setUp()
        self.put("wide.png", png(2001, 3))

    def convert(self, body):
        """A folder with this program, for PATH."""
        folder = self.path("programs")
        os.makedirs(folder, exist_ok=True)
        self.put("small.png", self.SMALL)
        for name in ("magick", "convert"):
            with open(os.path.join(folder, name), "w") as f:
                f.write(f"#!/bin/sh\n/bin/cat >/dev/null\n{body}\n")
            os.chmod(os.path.join(folder, name), 0o755)
        return {"PATH": folder}

    def test_what_is_too_large_is_made_smaller(self):
        env = self.convert(f"/bin/sleep 0.2; exec /bin/cat {self.project}/small.png")
        for args, prompt in ((["--image", "wide.png"], "Go"), ([], "see @wide.png"),
                             (["--image", "wide.png"], "see @wide.png")):
            turn = self.ask([Answer("Seen.")], *args, prompt=prompt, env=env)
            self.assertEqual(self.sent(turn), [entry("wide.png", self.SMALL, width=7, height=7)])
            self.assertEqual(wire_images.sent(turn.llm.requests[0].json), [self.SMALL])

    def test_a_custom_command_waits_for_it(self):
        env = self.convert(f"/bin/sleep 0.2; exec /bin/cat {self.project}/small.png")
        self.write("home/.ikigai/commands/look.md", "Look at $ARGUMENTS\n")
        turn = self.ask([Answer("Seen.")], prompt="/look @wide.png", env=env)
        self.assertEqual([i["name"] for i in self.sent(turn)], ["wide.png"])
        self.assertEqual(turn.messages("user")[0]["content"].strip(), "Look at @wide.png")

    def test_where_that_fails_the_option_is_an_error(self):
        for body in ("exit 1", "echo no image"):
            turn = self.ask([Answer("Never.")], "--image", "wide.png", status=2, fair=False,
                            env=self.convert(body))
            said = turn.err + "".join(e["message"] for e in turn.of("error"))
            self.assertIn("wide.png: 2001x3 pixels", said)
            self.assertEqual(turn.llm.requests, [])

    def test_a_failure_after_the_first_line_ends_the_turn(self):
        turn = self.ask([Answer("Never.")], "--image", "wide.png", status=2, fair=False,
                        env=self.convert("/bin/sleep 1; exit 1"))
        self.assertEqual([e["type"] for e in turn.events], ["session", "error", "done"])
        self.assertIn("wide.png: 2001x3 pixels", turn.events[1]["message"])
        self.assertEqual((turn.events[1]["code"], turn.reason), ("FAILED", "error"))

    def test_where_that_fails_the_sign_is_a_notice(self):
        self.put("good.png", SHOT)
        names, notices = self.names("@wide.png @good.png", env=self.convert("exit 1"))
        self.assertEqual(names, ["good.png"])
        self.assertEqual(len(notices), 1)
        self.assertIn("wide.png: 2001x3", notices[0])


class Sent:
    """For every API: fake_llm refuses a request of another shape than the real service takes."""

    def test_option_and_sign_reach_the_model_as_pictures(self):
        other = png(5, 5)
        self.put("a.png", SHOT)
        self.put("b.png", other)
        turn = self.ask([Answer("Two.")], "--image", "a.png", prompt="with @b.png")
        (request,) = turn.llm.requests
        self.assertEqual(wire_images.sent(request.json), [SHOT, other])
        self.assertIn("with @b.png", request.body.decode())


per_format(Sent, globals(), base=ImageTest)


if __name__ == "__main__":
    unittest.main()
