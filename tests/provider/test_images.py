"""Images in requests: the shape of each provider byte for byte, for the user's and for tools', and
the markers that are sent in their place."""
import base64
import hashlib
import json
import struct
import unittest

from support_provider import ProviderTest, assistant, call, request, result, user

PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Er"
       "kJggg==")
CHAT = {"wire": "chat", "model": "m"}
RESPONSES = {"wire": "responses", "model": "m"}
ANTHROPIC = {"wire": "anthropic", "model": "m"}
GEMINI = {"wire": "google", "model": "gemini-3.8-flash"}
OLD_GEMINI = {"wire": "google", "model": "gemini-2.5-flash"}
ALL = [CHAT, RESPONSES, ANTHROPIC, GEMINI, OLD_GEMINI]
ENVELOPE = '{"tool_success":true,"result":{"output":"shot"}}'
KINDS = {b"\x89PN": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF": "image/gif",
         b"RIF": "image/webp"}


def gif(frames):
    frame = b"\x2c\0\0\0\0\1\0\1\0\0\x02\x02\x44\x01\0"
    return b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff" + frame * frames + b";"


def png(number):
    """Another png of one pixel: bytes after its end do not count."""
    return base64.b64decode(PNG) + struct.pack(">I", number)


class Images:
    """Contents by hash, as request_driver wants them, and the entries that name them."""

    def __init__(self):
        self.contents = {}

    def entry(self, contents, name="a.png", width=1, height=1):
        sha256 = hashlib.sha256(contents).hexdigest()
        self.contents[sha256] = base64.b64encode(contents).decode()
        return {"name": name, "sha256": sha256, "media_type": KINDS[contents[:3]],
                "bytes": len(contents), "width": width, "height": height}


def with_images(message, *entries):
    message["data"] = {**(message.get("data") or {}), "images": list(entries)}
    return message


class ImageTest(ProviderTest):
    def setUp(self):
        self.images = Images()
        self.png = self.images.entry(base64.b64decode(PNG))

    def text(self, target, messages, **more):
        """The body as it is sent."""
        sent = request(target, messages, images=self.images.contents, **more)
        return json.dumps(sent["body"], separators=(",", ":"), ensure_ascii=False)

    def messages(self, target, messages, **more):
        body = request(target, messages, images=self.images.contents, **more)["body"]
        return body.get("messages") or body.get("input") or body.get("contents")

    def shot(self, *entries, **more):
        answer = with_images(result("c1", "screenshot", ENVELOPE), *entries)
        return [user("look"), call("c1", "screenshot", "{}", **more), answer]

    def marker(self, why, entry=None):
        entry = entry or self.png
        return (f"[image {entry['name']}, {entry['media_type']}, {entry['width']}x{entry['height']},"
                f" {entry['bytes']} bytes: {why}]")


class Shapes(ImageTest):
    """The eight cells: four formats, the user's message and a tool's result."""

    def test_chat_user(self):
        self.assertIn('{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url",'
                      f'"image_url":{{"url":"data:image/png;base64,{PNG}","detail":"auto"}}}}]}}',
                      self.text(CHAT, [with_images(user("look"), self.png)]))

    def test_responses_user(self):
        self.assertIn('"role":"user","content":[{"type":"input_text","text":"look"},{"type":'
                      f'"input_image","image_url":"data:image/png;base64,{PNG}","detail":"auto"}}]',
                      self.text(RESPONSES, [with_images(user("look"), self.png)]))

    def test_anthropic_user(self):
        """Images before the text."""
        sent = self.messages(ANTHROPIC, [with_images(user("look"), self.png)])
        del sent[0]["content"][1]["cache_control"]
        self.assertEqual(sent, [{"role": "user", "content": [
            {"type": "image",
             "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            {"type": "text", "text": "look"}]}])

    def test_gemini_user(self):
        for target in (GEMINI, OLD_GEMINI):
            self.assertIn('{"role":"user","parts":[{"text":"look"},{"inlineData":{"mimeType":'
                          f'"image/png","data":"{PNG}"}}}}]}}',
                          self.text(target, [with_images(user("look"), self.png)]))

    def test_chat_result(self):
        own = {"provider": "test"}
        answer = with_images(result("c1", "screenshot", ENVELOPE), self.png)
        answer["data"].update(own)
        calls = call("c1", "screenshot", "{}")
        calls["data"].update(own)
        escaped = ENVELOPE.replace('"', '\\"')
        self.assertIn('{"role":"tool","tool_call_id":"c1","content":"' + escaped + '"},'
                      '{"role":"user","content":[{"type":"text","text":"Image from tool call c1 '
                      '(screenshot):"},{"type":"image_url","image_url":{"url":"data:image/png;base64,'
                      + PNG + '"}}]}', self.text(CHAT, [user("look"), calls, answer]))

    def test_responses_result(self):
        sent = self.messages(RESPONSES, self.shot(self.png))
        self.assertEqual(sent[-1]["output"], [
            {"type": "input_text", "text": ENVELOPE},
            {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}",
             "detail": "auto"}])
        self.assertEqual(list(sent[-1]), ["type", "call_id", "output"])

    def test_anthropic_result(self):
        sent = self.messages(ANTHROPIC, self.shot(self.png))
        block = sent[-1]["content"][0]
        self.assertEqual((block["type"], block["content"]), ("tool_result", [
            {"type": "text", "text": ENVELOPE},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                         "data": PNG}}]))

    def test_gemini_result(self):
        sent = self.messages(GEMINI, self.shot(self.png))
        self.assertEqual(sent[-1]["parts"], [{"functionResponse": {
            "name": "screenshot", "response": json.loads(ENVELOPE),
            "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}]}}])

    def test_older_gemini_result(self):
        sent = self.messages(OLD_GEMINI, self.shot(self.png))
        self.assertEqual(sent[-1]["parts"], [
            {"functionResponse": {"name": "screenshot", "response": json.loads(ENVELOPE)}},
            {"inlineData": {"mimeType": "image/png", "data": PNG}}])

    def test_several_images_and_an_image_without_words(self):
        two = [self.png, self.images.entry(gif(1), "b.gif")]
        for target in ALL[:3]:
            text = self.text(target, [with_images(user(" "), *two)])
            self.assertEqual(text.count("image/"), 2, text)
            self.assertLess(text.index("image/png"), text.index("image/gif"))
            self.assertNotIn('"text":" "', text)


class ChatOrder(ImageTest):
    def messages_of_step(self, *images):
        messages = [user("look")]
        for number in range(len(images)):
            messages.append(call(f"c{number}", f"tool{number}", "{}"))
        for number, entries in enumerate(images):
            messages.append(with_images(result(f"c{number}", f"tool{number}", "{}"), *entries))
        for message in messages[1:]:
            message["data"]["provider"] = "test"
        return messages

    def test_images_of_the_first_of_two_calls(self):
        sent = self.messages(CHAT, self.messages_of_step([self.png], []))
        self.assertEqual([message["role"] for message in sent],
                         ["user", "assistant", "tool", "tool", "user"])
        self.assertEqual([part["type"] for part in sent[-1]["content"]], ["text", "image_url"])

    def test_one_message_for_all_calls_of_a_step(self):
        other = self.images.entry(png(1), "b.png")
        sent = self.messages(CHAT, self.messages_of_step([self.png, other], [], [other]))
        self.assertEqual([message["role"] for message in sent[-4:]],
                         ["tool", "tool", "tool", "user"])
        self.assertEqual([part.get("text", "image") for part in sent[-1]["content"]],
                         ["Image from tool call c0 (tool0):", "image", "image",
                          "Image from tool call c2 (tool2):", "image"])

    def test_what_the_user_adds_follows(self):
        messages = self.messages_of_step([self.png]) + [user("and now?")]
        sent = self.messages(CHAT, messages)
        self.assertEqual([message["role"] for message in sent],
                         ["user", "assistant", "tool", "user", "user"])
        self.assertEqual(sent[-1]["content"], "and now?")

    def test_mistral_gets_no_user_right_after_a_result(self):
        mistral = {**CHAT, "provider": "mistral", "base_url": "https://api.mistral.ai/v1"}
        messages = self.messages_of_step([self.png]) + [user("and now?")]
        sent = self.messages(mistral, messages)
        self.assertEqual([message["role"] for message in sent],
                         ["user", "assistant", "tool", "assistant", "user", "user"])


class Markers(ImageTest):
    """Each way in which an image is not sent, in all formats: the marker is there, the bytes not."""

    def check(self, why, targets=ALL, entry=None, **more):
        for target in targets:
            for messages in ([with_images(user("look"), entry or self.png)],
                             self.shot(entry or self.png)):
                text = self.text(target, messages, **more)
                self.assertIn(self.marker(why, entry), text, (target, messages))
                self.assertNotIn("base64", text.replace('"type":"base64"', "base64"))
                self.assertNotIn("inlineData", text)

    def test_a_model_that_does_not_see(self):
        self.check("this model does not see images", blind=True)

    def test_what_was_refused(self):
        self.check("refused by the provider", refused_images=[self.png["sha256"]])

    def test_what_is_no_longer_there(self):
        self.images.contents.clear()
        self.check("its contents are no longer stored")

    def test_contents_of_another_kind(self):
        """The entry says jpeg: the blob was exchanged, or an import lied."""
        entry = {**self.png, "media_type": "image/jpeg"}
        self.check("its contents are no longer stored", entry=entry)

    def test_contents_of_another_length(self):
        self.check("its contents are no longer stored", entry={**self.png, "bytes": 71})

    def test_trimmed_results(self):
        for target in ALL:
            text = self.text(target, self.shot(self.png), trimmed_results=1)
            self.assertIn(self.marker("removed to fit the context"), text)

    def test_dropped_messages(self):
        self.check("removed to fit the context", dropped_images=3)

    def test_gif(self):
        still, moving = (self.images.entry(gif(n), "a.gif") for n in (1, 2))
        self.check("this provider accepts no gif", [GEMINI, OLD_GEMINI], still)
        self.check("this provider accepts no gif", [GEMINI, OLD_GEMINI], moving)
        self.check("this provider accepts no animated gif", [CHAT, RESPONSES], moving)
        for target, entry in ((CHAT, still), (RESPONSES, still), (ANTHROPIC, still),
                              (ANTHROPIC, moving)):
            self.assertIn(self.images.contents[entry["sha256"]],
                          self.text(target, [with_images(user("look"), entry)]))

    def test_plain_text_where_no_image_is_sent(self):
        """Servers of models that do not see may know no other content."""
        sent = self.messages(CHAT, self.shot(self.png), blind=True)
        marker = self.marker("this model does not see images")
        self.assertEqual(sent[-1]["role"], "tool")
        self.assertEqual(sent[-1]["content"], ENVELOPE + "\n" + marker)
        sent = self.messages(CHAT, [with_images(user("look"), self.png)], blind=True)
        self.assertEqual(sent[0]["content"], "look\n" + marker)
        sent = self.messages(RESPONSES, self.shot(self.png), blind=True)
        self.assertEqual(sent[-1]["output"], ENVELOPE + "\n" + marker)

    def test_the_model_reads_the_name(self):
        odd = {**self.png, "name": "a\nb]\x1b[31m.png"}
        text = self.text(CHAT, [with_images(user("look"), odd)], blind=True)
        self.assertIn("[image a_b__[31m.png, image/png, 1x1, 70 bytes: ", text)


class Limits(ImageTest):
    def conversation(self, count, size=0):
        messages = []
        for number in range(count):
            entry = self.images.entry(png(number) + bytes(size), f"{number}.png")
            messages += [with_images(user(f"look {number}"), entry), assistant("yes")]
        return messages[:-1]

    def sent(self, target, messages, **more):
        text = self.text(target, messages, **more)
        return [base64.b64encode(png(n)).decode()[:-6] in text for n in range(len(messages))], text

    def test_the_oldest_beyond_twenty_are_markers(self):
        for target in ALL:
            text = self.text(target, self.conversation(23))
            self.assertEqual(text.count("left out, a request holds at most 20 images]"), 3)
            for number in range(23):
                marked = f"[image {number}.png, " in text
                self.assertEqual(marked, number < 3, (target, number))

    def test_the_oldest_beyond_24_mib(self):
        size = 3_000_000 - 74
        for target in (CHAT, ANTHROPIC):
            text = self.text(target, self.conversation(8, size))
            # 4,000,000 characters each: six fit
            self.assertEqual(text.count("left out, a request holds at most 24 MiB of images]"), 2)
            self.assertEqual([f"[image {n}.png, " in text for n in range(8)],
                             [True] * 2 + [False] * 6)

    def test_images_that_are_not_sent_do_not_count(self):
        messages = self.conversation(23)
        gone = messages[-1]["data"]["images"][0]["sha256"]
        del self.images.contents[gone]
        text = self.text(CHAT, messages)
        self.assertEqual(text.count("at most 20 images]"), 2)
        self.assertEqual(text.count("no longer stored]"), 1)

    def test_a_wire_that_is_kept_says_the_same(self):
        """Requests over one wire, which grows, equal requests made at once; and without another image
        the earlier bytes stay."""
        for target in ALL:
            messages = self.conversation(23)
            sent = request(target, messages, images=self.images.contents, turns=True)["bodies"]
            for count, body in enumerate(sent, 1):
                whole = request(target, messages[:2 * count - 1],
                                images=self.images.contents)["body"]
                self.assertEqual(self.unmarked(body), self.unmarked(whole), (target, count))
            more = [*messages, assistant("yes"), user("go on")]
            last = self.text(target, more).replace(',"cache_control":{"type":"ephemeral"}', "")
            text = self.text(target, messages).replace(',"cache_control":{"type":"ephemeral"}', "")
            self.assertTrue(last.startswith(text[:-4]), target)

    def unmarked(self, body):
        return json.dumps(body).replace(', "cache_control": {"type": "ephemeral"}', "")


if __name__ == "__main__":
    unittest.main()
