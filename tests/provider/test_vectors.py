"""Recorded streams of all wire formats: the result must not depend on how the bytes are cut, and the
next request must send back the right data."""
import glob
import json
import os
import unittest

from support_provider import HERE, ProviderTest, stream, stream_file

VECTORS = os.path.join(HERE, "vectors")


def load(name):
    with open(os.path.join(VECTORS, name + ".json"), encoding="utf-8") as f:
        return json.load(f), os.path.join(VECTORS, name + ".txt")


def names():
    found = glob.glob(os.path.join(VECTORS, "*.json"))
    return sorted(os.path.basename(path).removesuffix(".json") for path in found)


class Vectors(ProviderTest):
    def check(self, mode, **options):
        for name in names():
            vector, path = load(name)
            with self.subTest(name=name, title=vector["title"]):
                self.assert_result(stream_file(mode, vector["wire"], path, **options),
                                   vector["expected"])

    def test_all_are_there(self):
        self.assertLessEqual({f"V{n:02}" for n in range(1, 23)}, set(names()))
        self.assertEqual({load(name)[0]["wire"] for name in names()},
                         {"chat", "responses", "anthropic", "google"})

    def test_whole(self):
        self.check("whole")

    def test_byte_by_byte(self):
        self.check("bytes")

    def test_cut_at_every_offset(self):
        self.check("splits")

    def test_cut_into_many_pieces(self):
        self.check("random", rounds=300, seed=42)

    def test_kind_of_body_is_found_out_without_its_type(self):
        self.check("splits", content_type="application/octet-stream")

    def test_a_connection_that_breaks_is_an_incomplete_answer_or_a_whole_one(self):
        """Streams cut off at every byte: no call of an unfinished answer ever runs."""
        for name in names():
            vector, path = load(name)
            with open(path, "rb") as f:
                data = f.read()
            with self.subTest(name=name):
                for end in range(0, len(data), 7):
                    got = stream("whole", vector["wire"], data[:end], broken=1)
                    if got["stop"] in ("incomplete", "error"):
                        self.assertEqual(got["tool_calls"], [])
                    else:
                        self.assertEqual(got["stop"], vector["expected"]["stop"])
                        self.assertEqual(got["tool_calls"],
                                         vector["expected"].get("tool_calls", []))


class Replay(ProviderTest):
    """The request that follows a vector."""

    def next(self, name, **options):
        vector, path = load(name)
        return stream_file("replay", vector["wire"], path, **options)

    def test_v02_calls_in_order_with_their_results(self):
        body = self.next("V02")
        self.assertEqual([m["role"] for m in body["messages"]],
                         ["user", "assistant", "tool", "tool", "user"])
        calls = body["messages"][1]["tool_calls"]
        self.assertEqual([c["id"] for c in calls], ["call_A", "call_B"])
        self.assertEqual([m["tool_call_id"] for m in body["messages"][2:4]], ["call_A", "call_B"])
        self.assertIsNone(body["messages"][1]["content"])

    def test_v05_made_up_ids_are_answered(self):
        messages = self.next("V05")["messages"]
        ids = [c["id"] for c in messages[1]["tool_calls"]]
        self.assertEqual(len(set(ids)), 2)
        self.assertEqual([m["tool_call_id"] for m in messages[2:4]], ids)

    def test_v07_reasoning_content(self):
        message = self.next("V07")["messages"][1]
        self.assertEqual(message["reasoning_content"], "Need the file.")
        for options in ({"base_url": "https://api.mistral.ai/v1"}, {"provider": "mistral"},
                        {"refused": ["reasoning_content"]}):
            with self.subTest(**options):
                self.assertNotIn("reasoning_content", self.next("V07", **options)["messages"][1])

    def test_v11_items_as_they_came(self):
        items = self.next("V11")["input"]
        with open(os.path.join(VECTORS, "V11.txt"), encoding="utf-8") as f:
            done = [json.loads(line[5:])["item"] for line in f
                    if line.startswith("data:") and "output_item.done" in line]
        self.assertEqual(len(done), 3)
        self.assertEqual(items[1:4], done)
        self.assertEqual(items[4]["type"], "function_call_output")
        self.assertEqual(items[4]["call_id"], "call_9")

    def test_v15_blocks_in_order_with_the_signature(self):
        blocks = self.next("V15")["messages"][1]["content"]
        self.assertEqual([b["type"] for b in blocks], ["thinking", "text", "tool_use"])
        self.assertEqual(blocks[0]["thinking"], "Check the file.")
        self.assertEqual(blocks[0]["signature"], "EqQBSIG")
        self.assertEqual(blocks[1]["text"], "Looking.")
        self.assertEqual(blocks[2]["input"], {"path": "a.c"})

    def test_v16_empty_and_redacted_thinking_stay(self):
        blocks = self.next("V16")["messages"][1]["content"]
        self.assertEqual(blocks[0], {"type": "thinking", "thinking": "", "signature": "S0"})
        self.assertEqual(blocks[1], {"type": "redacted_thinking", "data": "OPAQUE"})
        self.assertEqual((blocks[2]["type"], blocks[2]["id"]), ("tool_use", "toolu_8"))

    def test_v18_signature_on_the_first_call_only(self):
        contents = self.next("V18")["contents"]
        calls = contents[1]["parts"]
        self.assertEqual([p["functionCall"]["name"] for p in calls], ["read", "pwd"])
        self.assertEqual(calls[0]["thoughtSignature"], "SIG1")
        self.assertNotIn("thoughtSignature", calls[1])
        answers = [p for p in contents[2]["parts"] if "functionResponse" in p]
        self.assertEqual([p["functionResponse"]["name"] for p in answers], ["read", "pwd"])
        for part in calls + answers:  # an id that was made up is never sent to Google
            self.assertNotIn("id", next(iter(part.values())))

    def test_v19_empty_text_that_carries_a_signature(self):
        parts = self.next("V19")["contents"][1]["parts"]
        self.assertEqual(parts, [{"text": "Hello there"},
                                 {"text": "", "thoughtSignature": "SIGZ"}])


if __name__ == "__main__":
    unittest.main()
