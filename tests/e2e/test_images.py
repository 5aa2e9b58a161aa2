"""Images that tools return, from the result to the requests of every API: what is checked, stored,
sent, replaced by a marker, refused and remembered."""
import base64
import hashlib
import json
import os
import stat
import struct
import unittest

from agent_support import FORMATS, AgentTest, per_format
from fake_llm import Answer, Call, Failure, Text, Thinking
from fake_llm import images as wire_images
from support import tool_script

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWj"
                       "R9awAAAABJRU5ErkJggg==")
GIF = (b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff\x2c\0\0\0\0\1\0\1\0\0\x02\x02\x44\x01\0;")
# Prints the result that the call's argument holds, or the one in the file that it names.
PRINT = """exec /usr/bin/python3 -c '
import json, sys
call = json.load(sys.stdin)
sys.stdout.write(json.dumps(call["result"]) if "result" in call else open(call["file"]).read())'"""
PARAMETERS = {"type": "object", "properties": {"result": {"type": "object"},
                                               "file": {"type": "string"}}}


def png(width=1, height=1, more=b""):
    return PNG[:16] + struct.pack(">II", width, height) + PNG[24:] + more


def encoded(data):
    return base64.b64encode(data).decode()


def facts(data, name, kind="image/png", width=1, height=1):
    return {"name": name, "sha256": hashlib.sha256(data).hexdigest(), "media_type": kind,
            "bytes": len(data), "width": width, "height": height}


def marker(why, name="a.png", kind="image/png", size="1x1", length=70):
    return f"[image {name}, {kind}, {size}, {length} bytes: {why}]"


class ImageTest(AgentTest):
    def setUp(self):
        super().setUp()
        self.tool("shot", PRINT, parameters=PARAMETERS)
        self.write("project/a.png", PNG)

    def call(self, *images, **result):
        return Answer("", calls=[Call("shot", {"result": {"output": "shot", **result,
                                                          "images": list(images)}})])

    def entries(self, *images):
        """What the envelope says about each image."""
        turn = self.ask([self.call(*images), Answer("ok")])
        (envelope,) = turn.envelopes()
        return envelope["result"]["images"]

    def blob(self, data):
        name = hashlib.sha256(data).hexdigest()
        return os.path.join(self.home, "blobs", "images", name[:2], name[2:])


class Sent:
    """For every API."""

    def test_a_path_and_data(self):
        other = png(more=b"2")
        turn = self.ask([self.call({"path": "a.png"}, {"data": encoded(other),
                                                       "media_type": "image/png"}),
                         Answer("ok")])
        self.assertEqual(wire_images.sent(turn.llm.requests[1].json), [PNG, other])
        (result,) = turn.messages("tool_result")
        self.assertEqual(result["data"]["images"], [facts(PNG, "a.png"),
                                                    facts(other, "shot-2.png")])
        (envelope,) = turn.envelopes()
        self.assertEqual(envelope["result"], {"output": "shot", "images": [
            {"path": "a.png", "media_type": "image/png", "width": 1, "height": 1, "bytes": 70},
            {"media_type": "image/png", "width": 1, "height": 1, "bytes": 71}]})

    def test_file_read_of_an_image(self):
        turn = self.ask([Answer("", calls=[Call("file_read", {"file_path": "a.png"})]),
                         Answer("ok")])
        self.assertEqual(wire_images.sent(turn.llm.requests[1].json), [PNG])
        (envelope,) = turn.envelopes()
        self.assertEqual(envelope["result"]["images"], [
            {"path": "a.png", "media_type": "image/png", "width": 1, "height": 1, "bytes": 70}])

    def test_the_same_bytes_in_later_requests_and_after_a_resume(self):
        turn = self.ask([self.call({"path": "a.png"}),
                         Answer("", calls=[Call("glob", {"pattern": "*"})]), Answer("ok")])
        later = self.ask([Answer("again")], "-c", server={"memory": turn.llm.memory})
        first, second = (self.grown(r) for r in turn.llm.requests[1:])
        self.assertTrue(second.startswith(first[:-1]))
        self.assertTrue(self.grown(later.llm.requests[0]).startswith(second[:-1]))
        self.assertEqual(wire_images.sent(later.llm.requests[0].json), [PNG])

    def grown(self, request):
        """The messages of a request as text, without the marks of the cache."""
        for key in ("messages", "input", "contents"):
            if key in request.json:
                return json.dumps(request.json[key]).replace(
                    ', "cache_control": {"type": "ephemeral"}', "")
        raise AssertionError("no messages")

    def test_a_refused_image_is_a_marker_from_then_on(self):
        other = png(more=b"2")
        self.write("project/b.png", other)
        script = [self.call({"path": "a.png"}, {"path": "b.png"}), Answer("seen"), Answer("more")]
        turn = self.ask(script, server={"refused_images": [PNG]})
        self.assertEqual(turn.text, "seen")
        self.assertEqual(len(turn.llm.requests), 3)  # refused once, repeated once
        named = FORMATS[self.format].wire != "gemini"  # which does not say which image it means
        left = [other] if named else []
        self.assertEqual(wire_images.sent(turn.llm.requests[2].json), left)
        self.assertIn(marker("refused by the provider"), turn.llm.requests[2].body.decode())
        notices = [event["text"] for event in turn.of("notice")]
        self.assertEqual(len([n for n in notices if "refused" in n and "image" in n]), 1, notices)
        (drop,) = turn.messages("compaction")
        self.assertEqual(drop["data"]["dropped"], "images")
        self.assertEqual(drop["data"]["images"],
                         [hashlib.sha256(data).hexdigest()
                          for data in ([PNG] if named else [PNG, other])])
        later = self.ask([Answer("more")], "-c", server={"refused_images": [PNG],
                                                         "memory": turn.llm.memory})
        self.assertEqual(len(later.llm.requests), 1)
        self.assertEqual(wire_images.sent(later.llm.requests[0].json), left)

    def test_a_refusal_while_the_model_thinks(self):
        """What was thought before the image still comes back, as some services demand."""
        self.write("project/b.png", png(more=b"2"))
        steps = [Answer(parts=[Thinking(f"Thought {name}."), Call("shot", {"result": {
            "images": [{"path": name}]}})]) for name in ("a.png", "b.png")]
        turn = self.ask([*steps, Answer(parts=[Thinking("Thought 3."), Text("seen")])],
                        server={"refused_images": [PNG]})
        self.assertEqual(turn.text, "seen")
        later = self.ask([Answer("more")], "-c", server={"memory": turn.llm.memory})
        self.assertEqual(len(later.llm.requests), 1)

    def test_an_unclear_refusal_takes_all(self):
        self.write("project/b.png", png(more=b"2"))
        turn = self.ask([self.call({"path": "a.png"}, {"path": "b.png"}), Answer("seen")],
                        server={"refused_images": [PNG], "vague": True})
        self.assertEqual((turn.text, len(turn.llm.requests)), ("seen", 3))
        self.assertEqual(wire_images.sent(turn.llm.requests[2].json), [])

    def test_a_refusal_that_does_not_end(self):
        """A server that blames images where none are left: an error, and no loop."""
        def answer(request):
            if len(turn_requests) < 1:
                turn_requests.append(request)
                return self.call({"path": "a.png"})
            return Failure("bad_request", "Could not process image")
        turn_requests = []
        turn = self.ask(answer, status=1)
        self.assertEqual(len(turn.llm.requests), 3)
        self.assertEqual(turn.reason, "error")

    def test_a_model_that_sees_nothing(self):
        """The refusal of images as such holds for this run and is not recorded."""
        turn = self.ask([self.call({"path": "a.png"}), self.call({"path": "a.png"}),
                         Answer("ok")], server={"blind": True})
        self.assertEqual(turn.text, "ok")
        self.assertEqual([len(wire_images.sent(r.json)) for r in turn.llm.requests], [0, 1, 0, 0])
        self.assertEqual(turn.messages("compaction"), [])
        self.assertEqual(len([n for n in turn.of("notice") if "images" in n["text"]]), 1)
        self.assertIn(marker("this model does not see images"),
                      turn.llm.requests[3].body.decode())
        later = self.ask([Answer("seen")], "-c", server={"memory": turn.llm.memory})
        self.assertEqual(wire_images.sent(later.llm.requests[0].json), [PNG, PNG])

    def test_old_images_go_while_the_model_thinks(self):
        """What is thought after an image may depend on it: with providers that check that, it goes
        when the image becomes a marker."""
        for number in range(23):
            self.write(f"project/{number}.png", png(more=bytes([number])))
        steps = [Answer(parts=[Thinking(f"Thought {n}."), Call("shot", {"result": {
            "images": [{"path": f"{n}.png"}]}})]) for n in range(23)]
        turn = self.ask([*steps, Answer("ok")], config={"max_tool_turns": 30})
        self.assertEqual(turn.text, "ok")
        self.assertEqual([len(wire_images.sent(r.json)) for r in turn.llm.requests],
                         [min(n, 20) for n in range(24)])
        later = self.ask([Answer("again")], "-c", server={"memory": turn.llm.memory})
        self.assertEqual(len(later.llm.requests), 1)

    def test_models_json(self):
        target = FORMATS[self.format].target
        self.write("home/.ikigai/models.json",
                   json.dumps({"models": {target: {"images": False}}}), 0o600)
        turn = self.ask([self.call({"path": "a.png"}), Answer("ok")])
        self.assertEqual(len(turn.llm.requests), 2)
        self.assertEqual(wire_images.sent(turn.llm.requests[1].json), [])
        self.assertIn(marker("this model does not see images"),
                      turn.llm.requests[1].body.decode())

    def test_contents_that_are_gone(self):
        turn = self.ask([self.call({"path": "a.png"}), Answer("ok")])
        os.remove(self.blob(PNG))
        later = self.ask([Answer("ok")], "-c", server={"memory": turn.llm.memory})
        self.assertIn(marker("its contents are no longer stored"),
                      later.llm.requests[0].body.decode())

    def test_contents_that_are_damaged(self):
        turn = self.ask([self.call({"path": "a.png"}), Answer("ok")])
        with open(self.blob(PNG), "r+b") as file:
            file.write(b"GARBAGE")
        later = self.ask([Answer("ok")], "-c", server={"memory": turn.llm.memory})
        self.assertEqual(wire_images.sent(later.llm.requests[0].json), [])


per_format(Sent, globals(), base=ImageTest)


class Checked(ImageTest):
    """What a tool returns, one way in after the other."""

    def error_of(self, entry):
        self.assertEqual(entry.get("error_code"), "INVALID_IMAGE", entry)
        self.assertFalse(entry.keys() & {"data", "media_type", "width", "height", "bytes"}, entry)
        return entry["error"]

    def test_base64_as_programs_write_it(self):
        text = encoded(PNG)
        wrapped = "\n".join(text[i:i + 20] for i in range(0, len(text), 20)) + "\r\n\t "
        for data in (wrapped, "data:image/png;base64," + text, "data:image/jpg;base64," + wrapped,
                     "\n data:image/png;base64,\n" + wrapped):
            (entry,) = self.entries({"data": data, "media_type": "image/png"})
            self.assertEqual(entry, {"media_type": "image/png", "width": 1, "height": 1,
                                     "bytes": 70})

    def test_what_is_not_base64(self):
        text = encoded(PNG)
        for data in (text[:-1], text[:-2], text + "=", "@" + text[1:], text.replace("+", "-"),
                     "data:image/png;base64", "%%%%"):
            (entry,) = self.entries({"data": data, "media_type": "image/png"})
            self.error_of(entry)

    def test_the_content_decides_about_the_kind(self):
        self.write("project/a.jpg", PNG)
        first, second, third = self.entries(
            {"path": "a.jpg"}, {"data": encoded(PNG), "media_type": "image/jpeg"},
            {"data": encoded(GIF), "media_type": "text/plain"})
        self.assertEqual([entry["media_type"] for entry in (first, second, third)],
                         ["image/png", "image/png", "image/gif"])

    def test_files_that_are_no_images(self):
        cases = {"empty.png": b"", "text.png": b"hello", "v.svg": b"<svg/>", "d.pdf": b"%PDF-1.7",
                 "b.bmp": b"BM" + bytes(60), "cut.png": PNG[:30], "half.png": PNG[:50]}
        for name, content in cases.items():
            self.write(f"project/{name}", content)
        os.mkfifo(os.path.join(self.project, "pipe.png"))
        os.mkdir(os.path.join(self.project, "folder.png"))
        names = [*cases, "pipe.png", "folder.png", "missing.png", "/dev/zero", "/dev/tty", "a\0b"]
        for name, entry in zip(names, self.entries(*({"path": name} for name in names))):
            self.assertEqual(entry["path"], name)
            self.error_of(entry)

    def test_limits(self):
        """The numbers are in the error. No program scales here: PATH has none."""
        wide, tall, fat = png(2001, 5), png(5, 8001), png(more=bytes(3932160 - 69))
        most = png(2000, 2000, bytes(3932160 - 70))
        for name, data in (("wide", wide), ("tall", tall), ("fat", fat), ("most", most)):
            self.write(f"project/{name}.png", data)
        with open(os.path.join(self.project, "huge.png"), "wb") as file:
            file.write(PNG)
            file.truncate(1 << 30)
        turn = self.ask([self.call(*({"path": f"{name}.png"} for name in
                                     ("wide", "tall", "fat", "huge", "most"))), Answer("ok")],
                        env={"PATH": self.path("nothing")})
        (envelope,) = turn.envelopes()
        entries = envelope["result"]["images"]
        self.assertEqual([self.error_of(entry) for entry in entries[:4]], [
            "2001x5 pixels; at most 2000x2000 are accepted",
            "5x8001 pixels; at most 2000x2000 are accepted",
            "3932161 bytes (5242884 in base64); at most 3932160 (5242880 in base64) are accepted",
            "1073741824 bytes (1431655768 in base64); at most 3932160 (5242880 in base64) are "
            "accepted"])
        self.assertEqual((entries[4]["width"], entries[4]["bytes"]), (2000, 3932160))
        self.assertEqual(wire_images.sent(turn.llm.requests[1].json), [most])

    def test_entries_that_make_no_sense(self):
        for entry in self.entries({"path": "a.png"}, {}, 5, None, [], {"data": 7}, {"path": 7})[1:]:
            self.error_of(entry)

    def test_lists_that_are_no_images(self):
        """Other tools may have used the name for something else."""
        for images in ([], ["nginx:latest"], [{"repository": "nginx"}], {"path": "a.png"}, "a.png",
                       None, 3):
            turn = self.ask([Answer("", calls=[Call("shot", {"result": {"images": images}})]),
                             Answer("ok")])
            (envelope,) = turn.envelopes()
            self.assertEqual(envelope["result"], {"images": images})

    def test_more_images_than_a_request_holds(self):
        for number in range(22):
            self.write(f"project/{number}.png", png(more=bytes([number])))
        turn = self.ask([self.call(*({"path": f"{n}.png"} for n in range(22))), Answer("ok")])
        (envelope,) = turn.envelopes()
        self.assertEqual({entry["media_type"] for entry in envelope["result"]["images"]}, {"image/png"})
        self.assertEqual(wire_images.sent(turn.llm.requests[1].json),
                         [png(more=bytes([number])) for number in range(2, 22)])
        self.assertIn("[image 1.png, ", turn.llm.requests[1].body.decode())

    def test_more_images_than_a_result_holds(self):
        entries = self.entries(*[{"path": "a.png"}] * 101)
        self.assertIn("at most 100 images", self.error_of(entries[100]))
        self.assertEqual(entries[99]["media_type"], "image/png")

    def test_one_entry_stands_for_all_that_are_too_many(self):
        entries = self.entries({"path": "a.png"}, *[0] * 5000)
        self.assertEqual(len(entries), 101)
        self.assertIn("at most 100 images", self.error_of(entries[100]))

    def test_a_long_name_is_cut(self):
        """It would be in every request, beyond max_output_size."""
        self.write("project/long.json", json.dumps(
            {"output": "x", "images": [{"data": encoded(PNG), "name": "\u00e9" * 100_000}]}))
        turn = self.ask([Answer("", calls=[Call("shot", {"file": "long.json"})]), Answer("ok")],
                        config={"max_output_size": 4096})
        (message,) = turn.messages("tool_result")
        self.assertEqual(message["data"]["images"][0]["name"], "\u00e9" * 127)
        self.assertLess(len(turn.llm.requests[1].body), 40_000)

    def test_output_size_does_not_cut_base64(self):
        big = png(more=bytes(200_000))
        self.write("project/big.json", json.dumps(
            {"output": "x" * 5000, "images": [{"data": encoded(big), "media_type": "image/png"}]}))
        turn = self.ask([Answer("", calls=[Call("shot", {"file": "big.json"})]), Answer("ok")],
                        config={"max_output_size": 2048})
        (envelope,) = turn.envelopes()
        self.assertTrue(envelope["result"]["truncated"])
        self.assertLess(len(json.dumps(envelope)), 4096)
        self.assertEqual(wire_images.sent(turn.llm.requests[1].json), [big])

    def test_a_flood_of_base64_is_bounded(self):
        self.tool("flood", 'printf \'{"images":[{"data":"\'; head -c 60000000 /dev/zero | tr '
                  "'\\0' A; printf '\"}]}'", parameters={"type": "object", "properties": {}})
        turn = self.ask([Answer("", calls=[Call("flood", {})]), Answer("ok")],
                        config={"max_output_size": 4096})
        (envelope,) = turn.envelopes()
        self.assertEqual(envelope["error_code"], "INVALID_OUTPUT")

    def test_one_image_a_hundred_times_is_stored_once(self):
        turn = self.ask([self.call({"path": "a.png"}) for _ in range(10)] + [Answer("ok")])
        self.assertEqual(turn.text, "ok")
        folder = os.path.join(self.home, "blobs", "images")
        files = [os.path.join(at, f) for at, _, names in os.walk(folder) for f in names]
        self.assertEqual(files, [self.blob(PNG)])
        self.assertEqual(stat.S_IMODE(os.stat(files[0]).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
        with open(os.path.join(self.home, "ikigai.db"), "rb") as file:
            self.assertNotIn(encoded(PNG)[:60].encode(), file.read())

    def test_twenty_images_in_a_request(self):
        """Images of earlier steps become markers when later ones come."""
        for number in range(25):
            self.write(f"project/{number}.png", png(more=bytes([number])))
        turn = self.ask([self.call({"path": f"{n}.png"}) for n in range(25)] + [Answer("ok")],
                        config={"max_tool_turns": 30})
        sent = [len(wire_images.sent(r.json)) for r in turn.llm.requests]
        self.assertEqual(sent, [min(n, 20) for n in range(26)])
        last = turn.llm.requests[-1].body.decode()
        for number in range(25):
            self.assertEqual(f"[image {number}.png, " in last, number < 5, number)

    def test_an_image_counts_1600_tokens(self):
        """Not the length of its base64, which would fill this window at once."""
        self.write("home/.ikigai/models.json", json.dumps({"models": {
            FORMATS[self.format].target: {"limits": {"context": 60000, "max_output": 1000}}}}),
            0o600)
        self.write("project/big.png", png(2000, 2000, bytes(2_000_000)))
        turn = self.ask([self.call({"path": "big.png"}), Answer("ok")])
        self.assertEqual(turn.messages("compaction"), [])
        self.assertEqual((turn.text, len(turn.llm.requests)), ("ok", 2))

    def test_what_is_shown_for_a_call(self):
        """The line for people does not hold the data either."""
        done = self.ask_text([self.call({"path": "a.png"}), Answer("ok")])
        self.assertNotIn(encoded(PNG)[:30], done.out + done.err)


class ToolCheck(ImageTest):
    def test_what_tool_check_says(self):
        for data, status, words in ((encoded(PNG), 0, "All "),
                                    ("@@", 1, "image 2 is not accepted: data is not base64")):
            result = json.dumps({"images": [{"data": encoded(PNG)}, {"data": data}]})
            path = self.write("shooter", tool_script("shooter", f"cat <<'EOT'\n{result}\nEOT",
                                                     description="Shoots", parameters={
                                                         "type": "object", "properties": {}}), 0o755)
            self.assertIn(words, self.ikigai("tool", "check", path, status=status).out)

    def test_tool_run_stores_nothing(self):
        done = self.ikigai("tool", "run", "shot", json.dumps({"result": {"images": [
            {"path": "a.png"}]}}))
        self.assertEqual(done.json()["result"]["images"][0]["bytes"], 70)
        self.assertFalse(os.path.exists(os.path.join(self.home, "blobs")))


class Scaled(ImageTest):
    """With a program that scales images, here one that always prints the same small one."""

    def program(self, name, body):
        self.write("small.png", PNG)
        self.write(f"bin/{name}", f"#!/bin/sh\ncmp -s - {self.path('project', 'large.png')} || "
                                  f"exit 1\n{body}\n", 0o755)

    def scale(self, size=(4000, 3000)):
        self.write("project/large.png", png(*size))
        turn = self.ask([self.call({"path": "large.png"}), Answer("ok")],
                        env={"PATH": self.path("bin") + ":/usr/bin:/bin"})
        (envelope,) = turn.envelopes()
        return envelope["result"]["images"][0], turn

    def test_each_program(self):
        for name in ("magick", "convert", "vips", "ffmpeg"):
            self.program(name, f"cat {self.path('small.png')}")
            entry, turn = self.scale()
            self.assertEqual(entry, {"path": "large.png", "media_type": "image/png", "width": 1,
                                     "height": 1, "bytes": 70, "scaled_from": "4000x3000"})
            self.assertEqual(wire_images.sent(turn.llm.requests[1].json), [PNG])
            os.remove(self.path("bin", name))

    def test_the_program_is_confined(self):
        """Decoders have faults, so it can write nothing; images of users and tools."""
        self.program("magick", f"echo x > written\necho x > {self.path('project', 'written')}\n"
                               f"echo x > {self.path('home', 'written')}\n"
                               f"cat {self.path('home', '.ssh', 'key')} && exit 1\n"
                               f"cat {self.path('small.png')}")
        self.write("home/.ssh/key", "secret")
        entry, _ = self.scale()
        self.assertEqual(entry["scaled_from"], "4000x3000")
        turn = self.ask([Answer("ok")], "--image", "large.png",
                        env={"PATH": self.path("bin") + ":/usr/bin:/bin"})
        self.assertEqual(wire_images.sent(turn.llm.requests[0].json), [PNG])
        for folder in ("project", "home"):
            self.assertFalse(os.path.exists(self.path(folder, "written")), folder)

    def test_a_program_that_fails(self):
        for body in ("exit 1", "echo no image", "head -c 9000000 /dev/zero",
                     f"cat {self.path('project', 'large.png')}"):
            self.program("magick", body)
            entry, _ = self.scale()
            self.assertEqual(entry["error"], "4000x3000 pixels; at most 2000x2000 are accepted")


class Confined(ImageTest):
    """A path is read with what the tool itself may read."""

    def project_tool_turn(self, *images):
        self.project_tool("peek", tool_script("peek", PRINT, parameters=PARAMETERS))
        turn = self.ask([Answer("", calls=[Call("peek", {"result": {"images": list(images)}})]),
                         Answer("ok")], "--trust")
        (envelope,) = turn.envelopes()
        return envelope["result"]["images"], turn

    def test_hidden_places(self):
        for name in ("home/.ssh/key.png", "home/.ikigai/secret.png", "home/.aws/a.png"):
            self.write(name, PNG)
        os.symlink(self.path("home", ".ssh", "key.png"), os.path.join(self.project, "link.png"))
        paths = [self.path("home", ".ssh", "key.png"), self.path("home", ".ikigai", "secret.png"),
                 self.path("home", ".aws", "a.png"), "link.png", "../home/.ssh/key.png",
                 "/proc/self/root" + self.path("home", ".ssh", "key.png")]
        entries, turn = self.project_tool_turn(*({"path": path} for path in paths))
        for entry in entries:
            self.assertEqual(entry.get("error_code"), "INVALID_IMAGE", entry)
        self.assertEqual(wire_images.sent(turn.llm.requests[1].json), [])

    def test_a_file_in_the_rooms_own_tmp(self):
        """/tmp of a room is not the one outside."""
        body = "cp a.png /tmp/drawn.png; echo '{\"images\":[{\"path\":\"/tmp/drawn.png\"}]}'"
        self.project_tool("draw", tool_script("draw", body, parameters={"type": "object",
                                                                        "properties": {}}))
        turn = self.ask([Answer("", calls=[Call("draw", {})]), Answer("ok")], "--trust")
        self.assertEqual(wire_images.sent(turn.llm.requests[1].json), [PNG], turn.envelopes())


class Recovered(ImageTest):
    """Refusals as the services word them."""

    def test_messages_that_name_an_image(self):
        for message in ("messages.2.content.0.tool_result.content.1.image.source.base64: image "
                        "exceeds 5 MB maximum: 5281812 bytes > 5242880",
                        "Could not process image", "Invalid 'input[2].output[1].image_url'.",
                        "You uploaded an unsupported image.", "Unable to process input image"):
            turn = self.ask([self.call({"path": "a.png"}), Failure("bad_request", message),
                             Answer("ok")])
            self.assertEqual((turn.text, len(turn.llm.requests)), ("ok", 3), message)
            self.assertEqual(len(turn.messages("compaction")), 1, message)

    def test_a_body_that_is_too_large(self):
        turn = self.ask([self.call({"path": "a.png"}), Failure("too_large"), Answer("ok")])
        self.assertEqual((turn.text, len(turn.llm.requests)), ("ok", 3))

    def test_servers_that_take_text_only(self):
        for status, message in (
                (400, "This model does not support image inputs"),
                (404, "No endpoints found that support image input"),
                (500, "image input is not supported - hint: if this is unexpected, you may need "
                      "to provide the mmproj"),
                (400, "unknown variant `image_url`, expected `text`"),
                (400, "m is not a multimodal model")):
            turn = self.ask([self.call({"path": "a.png"}),
                             Failure("bad_request", message, status), Answer("ok")])
            self.assertEqual((turn.text, len(turn.llm.requests)), ("ok", 3), message)
            self.assertEqual(turn.messages("compaction"), [])

    def test_another_fault_leaves_images_alone(self):
        turn = self.ask([self.call({"path": "a.png"}), Failure("bad_request", "no such thing")],
                        status=1)
        self.assertEqual(turn.messages("compaction"), [])

    def test_another_model_gets_what_a_blind_one_did_not(self):
        self.write("home/.ikigai/models.json", json.dumps(
            {"models": {"openai/gpt-5": {"images": False}}}), 0o600)
        turn = self.ask([self.call({"path": "a.png"}), Answer("ok")])
        self.assertEqual(wire_images.sent(turn.llm.requests[1].json), [])
        llm = self.serve([Answer("seen")])
        self.ikigai("-p", "Go", "-c", "-m", "openai/gpt-5-mini", "--json",
                    env=self.connect(llm))
        self.assertEqual(wire_images.sent(llm.requests[0].json), [PNG])


if __name__ == "__main__":
    unittest.main()
