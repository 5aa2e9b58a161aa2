"""Where a provider's key may be sent: freely, after a question, or not at all. A host that cannot be
resolved stands for a server of others: a run that would send there fails with exit status 1, one
that refuses to send with 2."""
import json
import os

from fake_llm import Answer, FakeLLM
from repl_support import ReplTest
from support import IkigaiTest

GATEWAY = "http://gateway.invalid:8443"
KEY = "sk-canary-of-hosts"


class Headless(IkigaiTest):
    def write(self, name, value, mode=0o600):
        os.makedirs(self.home, mode=0o700, exist_ok=True)
        path = os.path.join(self.home, name)
        with open(path, "w") as f:
            json.dump(value, f)
        os.chmod(path, mode)

    def run_model(self, status, env=None, model="openai/gpt-5"):
        return self.ikigai("-p", "hi", "-m", model, env=env, status=status)

    def assert_refused(self, done):
        for word in (GATEWAY, "openai", "nothing was sent", "hosts", "permissions.json"):
            self.assertIn(word, done.err)
        self.assertNotIn(KEY, done.err)

    def test_an_address_of_the_config_for_a_built_in_provider_is_confirmed_first(self):
        self.write("config.json", {"providers": {"openai": {"base_url": GATEWAY + "/v1"}}})
        env = {"OPENAI_API_KEY": KEY}
        self.assert_refused(self.run_model(2, env))
        self.write("keys.json", {"openai": {"api_key": KEY}})
        self.assert_refused(self.run_model(2))
        self.write("permissions.json", {"hosts": {"openai": ["HTTP://Gateway.invalid:8443/"]}})
        self.assertNotIn("nothing was sent", self.run_model(1, env).err)

    def test_an_entry_is_for_one_provider_scheme_and_port(self):
        self.write("config.json", {"providers": {"openai": {"base_url": GATEWAY + "/v1"}}})
        for hosts in ({"anthropic": [GATEWAY]}, {"openai": ["https://gateway.invalid:8443"]},
                      {"openai": ["http://gateway.invalid"]}, {"openai": ["gateway.invalid:8443"]}):
            with self.subTest(hosts=hosts):
                self.write("permissions.json", {"hosts": hosts})
                self.assert_refused(self.run_model(2, {"OPENAI_API_KEY": KEY}))

    def test_an_address_of_the_environment_is_for_a_key_of_the_environment(self):
        env = {"OPENAI_BASE_URL": GATEWAY + "/v1"}
        self.assertNotIn("nothing was sent", self.run_model(1, {**env, "OPENAI_API_KEY": KEY}).err)
        self.write("keys.json", {"openai": {"api_key": KEY}})
        self.assert_refused(self.run_model(2, env))

    def test_a_provider_of_the_users_own_is_free(self):
        self.write("config.json", {"providers": {"box": {"base_url": GATEWAY + "/v1",
                                                         "api_key_env": "BOX_KEY"}}})
        self.run_model(1, {"BOX_KEY": KEY}, model="box/m")

    def test_this_machine_is_free(self):
        llm = FakeLLM([Answer("ok")]).start()
        self.addCleanup(llm.stop)
        url = llm.base_url("openai")
        self.write("config.json", {"providers": {"openai": {"base_url": url}}})
        self.write("keys.json", {"openai": {"api_key": KEY}})
        self.run_model(0)
        self.assertEqual(llm.requests[0].headers["authorization"], f"Bearer {KEY}")

    def test_addresses_of_this_machine(self):
        """What only looks like one is a name that a resolver would be asked for."""
        llm = FakeLLM([Answer("ok")] * 2).start()
        self.addCleanup(llm.stop)
        self.assertIn("//127.0.0.1:", llm.base_url("openai"))
        for host, status in (("localhost", 0), ("127.1", 0), ("127.0.0.256", 2),
                             ("127.0.0.1.1", 2), ("127.0.0.1.invalid", 2), ("127..1", 2),
                             ("127.0.0.1000000000000", 2)):
            with self.subTest(host=host):
                url = llm.base_url("openai").replace("127.0.0.1", host)
                self.write("config.json", {"providers": {"openai": {"base_url": url}}})
                self.run_model(status, {"OPENAI_API_KEY": KEY})


class Terminal(ReplTest):
    def begin(self):
        self.configure(model="openai/gpt-5",
                       providers={"openai": {"base_url": GATEWAY + "/v1"}})
        return self.terminal_ready(
            until="The key of openai would be sent to http://gateway.invalid:8443")

    def terminal_ready(self, **options):
        return self.start(None, first=True, env={"OPENAI_API_KEY": KEY}, **options)

    def hosts(self):
        path = os.path.join(self.home, "permissions.json")
        if not os.path.exists(path):
            return None
        with open(path) as f:
            return json.load(f)["hosts"]

    def test_yes_is_kept(self):
        t = self.begin()
        t.send("y\r")
        t.wait_until(lambda: self.hosts() == {"openai": [GATEWAY]}, "entry in hosts")
        self.assertEqual(self.leave(t), 0)
        t = self.terminal_ready()
        self.enter(t, "/agents", "idle")
        self.assertNotIn("would be sent", "\n".join(t.all_rows()))

    def test_no_sends_nothing_and_asks_again_at_the_next_start(self):
        t = self.begin()
        t.send("n\r")
        t.wait_for("The key is not sent")
        self.say(t, "hi", "openai has no key")
        self.assertIsNone(self.hosts())
        self.assertEqual(self.leave(t), 0)
        self.begin()

    def test_a_typed_key_does_not_go_there_either(self):
        self.decline_setup()
        t = self.start(None, env={"OPENAI_BASE_URL": GATEWAY + "/v1"})
        self.enter(t, "/login openai", "run ikigai setup")
