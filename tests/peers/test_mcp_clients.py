"""The official MCP client drives `ikigai mcp serve` in both eras."""
import json
import os

from image_support import png
from peer_support import PeerTest
from support import IKIGAI


class OfficialClient(PeerTest):
    def drive(self, era, version):
        with open(os.path.join(self.project, "shot.png"), "wb") as f:
            f.write(png(8, 4))
        steps = [json.loads(line) for line in
                 self.node("mcp_client.mjs", IKIGAI, era).splitlines()]
        asked = [value for step, value in steps if step == "asked"]
        said = dict(steps)
        self.assertEqual(said["server"]["name"], "ikigai")
        self.assertEqual(said["version"], version)
        self.assertEqual(said["tools"], sorted(said["tools"]))
        self.assertLessEqual({"bash", "file_read", "grep"}, set(said["tools"]))
        self.assertEqual(said["call"]["structuredContent"], {"output": "hi", "exit_code": 0})
        self.assertEqual([block["type"] for block in said["image"]["content"]], ["text", "image"])
        self.assertEqual(said["granted"]["structuredContent"]["output"], "net")
        self.assertEqual(said["answered"]["structuredContent"], {"answer": "blue"})
        self.assertEqual(len(asked), 3)
        self.assertIn("network", asked[0])
        self.assertEqual(asked[1], "Which one?")
        self.assertEqual(said["unknown"], -32602)
        self.assertTrue(said["progress"])
        self.assertTrue(said["aborted"])
        self.assertEqual(said["together"], ["1", "2", "3", "4"])
        for step in ("declined", "cannot ask"):
            self.assertEqual(said[step]["structuredContent"]["error_code"], "PERMISSION_DENIED")

    def test_legacy(self):
        self.drive("legacy", "2025-11-25")

    def test_modern(self):
        self.drive("2026-07-28", "2026-07-28")

    def test_auto(self):
        self.drive("auto", "2026-07-28")
