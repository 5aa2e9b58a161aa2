"""The client scenarios of the MCP conformance suite: those that apply to ikigai pass, and those that do
not are listed with the reason. conformance_client.py is the client that the suite starts."""
import os
import re
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
    "auth/iss-normalized", "auth/basic-cimd", "auth/authorization-server-migration",
    "auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback",
    "json-schema-ref-no-deref", "elicitation-sep1034-client-defaults",
]
NOT_APPLICABLE = {
    "json-schema-2020-12-preservation": "schemas are rewritten so that every provider accepts them",
    "auth/client-credentials-jwt": "an extension: a login without a user",
    "auth/client-credentials-basic": "an extension: a login without a user",
    "auth/enterprise-managed-authorization": "an extension: a login through the user's employer",
    "auth/dpop": "an extension: tokens bound to a key", "auth/dpop-nonce": "an extension: tokens bound to a key",
    "auth/wif-jwt-bearer": "an extension: a login with the identity of a machine",
    "sep-2640-client-no-prefetch": "an extension: skills of servers",
    "sep-2640-client-verify-digest": "an extension: skills of servers",
    "sep-2640-client-verify-size": "an extension: skills of servers",
    "sep-2640-client-verify-frontmatter": "an extension: skills of servers",
}


class Conformance(PeerTest):
    def test_every_scenario_is_listed(self):
        listed = subprocess.run([NODE_22, SUITE, "list"], text=True, timeout=60, check=True,
                                stdout=subprocess.PIPE).stdout
        client = listed.split("Client scenarios")[1].split("\n\n")[0]
        self.assertEqual(sorted(re.findall(r"- (\S+) \[", client)), sorted([*SCENARIOS, *NOT_APPLICABLE]))

    def test_client(self):
        client = f"{sys.executable} {os.path.join(HERE, 'conformance_client.py')} {IKIGAI}"
        for scenario in SCENARIOS:
            with self.subTest(scenario=scenario):
                done = subprocess.run([NODE_22, SUITE, "client", "--command", client, "--scenario",
                                       scenario], cwd=self.dir, text=True, timeout=300, env=self.env(),
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertIn("OVERALL: PASSED", done.stdout)
