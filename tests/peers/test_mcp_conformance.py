"""The client scenarios of the MCP conformance suite that apply to ikigai. conformance_client.py is the
client that it starts."""
import os
import subprocess
import sys

from peer_support import HERE, MODULES, NODE_22, PeerTest
from support import IKIGAI

SUITE = os.path.join(MODULES, "@modelcontextprotocol/conformance/dist/index.js")
SCENARIOS = [
    "initialize", "tools_call", "sse-retry", "request-metadata", "http-standard-headers",
    "http-custom-headers", "http-invalid-tool-headers", "sep-2322-client-request-state",
    "auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3",
    "auth/metadata-issuer-mismatch", "auth/resource-mismatch", "auth/pre-registration",
    "auth/scope-from-www-authenticate", "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined", "auth/scope-step-up", "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post", "auth/token-endpoint-auth-none", "auth/offline-access-scope",
    "auth/offline-access-not-supported", "auth/iss-supported", "auth/iss-not-advertised",
    "auth/iss-supported-missing", "auth/iss-wrong-issuer", "auth/iss-unexpected",
    "auth/iss-normalized",
]


class Conformance(PeerTest):
    def test_client(self):
        client = f"{sys.executable} {os.path.join(HERE, 'conformance_client.py')} {IKIGAI}"
        for scenario in SCENARIOS:
            with self.subTest(scenario=scenario):
                done = subprocess.run([NODE_22, SUITE, "client", "--command", client, "--scenario",
                                       scenario], cwd=self.dir, text=True, timeout=300, env=self.env(),
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertIn("OVERALL: PASSED", done.stdout)
