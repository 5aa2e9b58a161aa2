"""The client of the ACP SDK and acpx drive `ikigai acp`."""
import json
import os
import subprocess

from peer_support import MODULES, PeerTest
from support import IKIGAI


class Clients(PeerTest):
    def test_sdk(self):
        """Every message is valid for the schemas of the SDK: its standard error stays empty."""
        self.write("project/a", "hi\n")
        os.makedirs(self.path("other"))
        said = dict(json.loads(line) for line in self.node(
            "acp_client.mjs", IKIGAI, self.project, self.path("other")).splitlines())
        self.assertEqual(said["initialize"]["protocolVersion"], 1)
        self.assertEqual(said["options"], ["mode", "model"])
        for step in ("hello", "read", "run", "rejected", "write", "again"):
            self.assertEqual(said[step], {"stopReason": "end_turn"}, step)
        self.assertEqual(said["cancelled"], {"stopReason": "cancelled"})
        self.assertTrue(os.path.exists(self.path("project", "made")))
        self.assertFalse(os.path.exists(self.path("project", "refused")))
        self.assertGreaterEqual(said["asked"], 2)
        self.assertEqual((said["list"], said["set"], said["close"], said["delete"],
                          said["status"]), (2, 2, {}, {}, 0))
        self.assertLessEqual({"agent_message_chunk", "available_commands_update",
                              "config_option_update", "current_mode_update",
                              "session_info_update", "tool_call", "tool_call_update",
                              "user_message_chunk"}, set(said["kinds"]))

    def test_acpx(self):
        done = subprocess.run(
            ["node", os.path.join(MODULES, "acpx", "dist", "cli.js"), "--agent", f"{IKIGAI} acp",
             "--format", "json", "--approve-all", "exec", "run echo hi > made"],
            cwd=self.project, env=self.env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        wire = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(wire[-1]["result"], {"stopReason": "end_turn"})
        with open(os.path.join(self.project, "made")) as made:
            self.assertEqual(made.read(), "hi\n")
