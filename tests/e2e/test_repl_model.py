"""The list of /model: what is known, what servers name when they are asked, and what is remembered."""
import json
import os
import re

from fake_llm import Answer, FakeLLM, Raw, Wire
from repl_support import ReplTest

KEY = "sk-canary-of-the-box"


def models(*names, **more):
    return lambda _: Raw({"data": [{"id": name, **more} for name in names]})


class ModelTest(ReplTest):
    def box(self, listing, script=()):
        llm = FakeLLM(script, dialect="plain", models=listing).start()
        self.addCleanup(llm.stop)
        return llm

    def start_with(self, *args, env=None, model="box/first", **servers):
        config = {"providers": {name: {"base_url": llm.base_url("openai")}
                                for name, llm in servers.items()}}
        self.configure(**({"model": model} if model else {}), **config)
        return self.ready(None, *args, columns=120, env=env)

    def open(self, t):
        t.send("/model\r")
        t.wait_for("Which model?")

    def row(self, t, name, chosen=False):
        """Waits for the row of this model."""
        mark = "›" if chosen else "[› ]"
        return t.wait_for(re.compile(rf"^{mark} {re.escape(name)}( .*)?$", re.M))[0]

    def read_config(self):
        with open(os.path.join(self.home, "config.json")) as f:
            return f.read()


class Asking(ModelTest):
    def test_servers_of_the_configuration_extend_the_list(self):
        one = self.box(models("aaa", "bbb"))
        two = self.box(models("ccc", context_length=4096,
                              pricing={"prompt": "0.000001", "completion": "0.000002"}))
        t = self.start_with(box=one, other=two)
        self.open(t)
        self.row(t, "box/aaa")
        self.row(t, "box/bbb")
        self.assertRegex(self.row(t, "other/ccc"), r" 4k +\$1/\$2$")
        for llm in (one, two):
            (request,) = llm.requests
            self.assertEqual((request.method, request.path), ("GET", "/v1/models"))
            self.assertNotIn("authorization", request.headers)

    def test_the_key_is_sent_and_said(self):
        box = self.box(models("aaa"))
        os.makedirs(self.home, mode=0o700)
        path = os.path.join(self.home, "keys.json")
        with open(path, "w") as f:
            json.dump({"box": {"api_key": KEY}}, f)
        os.chmod(path, 0o600)
        t = self.start_with(box=box)
        self.open(t)
        self.assertRegex(self.row(t, "box/aaa"), " key$")
        self.assertEqual(box.requests[0].headers["authorization"], f"Bearer {KEY}")
        self.assertNotIn(KEY, "\n".join(t.all_rows()))

    def test_no_other_server_is_asked(self):
        """Neither one that is known by name, nor a vendor with a key, nor one of another type."""
        vendor, anthropic = self.box(models("x")), self.box(models("y"))
        box = self.box(models("aaa"))
        self.configure(model="box/first", providers={
            "box": {"base_url": box.base_url("openai")},
            "ant": {"type": "anthropic", "base_url": anthropic.base_url("anthropic")}})
        t = self.ready(None, columns=120, env={
            "OPENAI_BASE_URL": vendor.base_url("openai"), "OPENAI_API_KEY": "k",
            "ANTHROPIC_BASE_URL": vendor.base_url("anthropic"), "ANTHROPIC_API_KEY": "k"})
        self.open(t)
        t.send("aaa")
        self.row(t, "box/aaa")
        t.send("\x1b")
        t.wait_gone("Which model?")
        self.assertEqual(self.leave(t), 0)
        self.assertEqual(vendor.requests + anthropic.requests, [])

    def test_a_silent_server_delays_nothing(self):
        silent = self.box(lambda _: Raw(b"{}", wire=Wire(delay_head=60)))
        box = self.box(models("aaa"), script=[Answer("Hello.")])
        t = self.start_with(silent=silent, box=box)
        self.open(t)
        silent.wait_for_requests(1)
        self.row(t, "box/aaa")
        t.send("box/aaa\r")
        t.wait_for("Model: box/aaa")
        self.say(t, "hi", "Hello.")
        self.assertEqual(silent.wait_for_outcome(1), "gone")  # the list is closed
        self.assertEqual(self.leave(t), 0)

    def test_hostile_answers(self):
        bad = self.box(lambda _: Raw(b"<html>"))
        odd = self.box(models("fine", "a b", "\x1b[31mred", "\u202eabc", "x" * 500, "", "fine"))
        huge = self.box(lambda _: Raw(b'{"data":[' + b" " * (9 << 20)))
        refused = self.box(lambda _: Raw({"error": {"message": f"no {KEY}"}}, 401))
        t = self.start_with(bad=bad, odd=odd, huge=huge, refused=refused, model=None)
        self.open(t)
        self.row(t, "odd/fine")
        for llm in (bad, huge, refused):
            llm.wait_for_outcome(1)
        t.send("odd/")
        t.wait_until(lambda: not any("openai/" in row for row in t.screen()), "narrowed list")
        self.assertEqual({row.split()[1 if row[0] == "›" else 0] for row in t.screen()
                          if row[2:].startswith("odd/")}, {"odd/", "odd/fine"})

    def test_leaving_while_servers_are_asked(self):
        silent = self.box(lambda _: Raw(b"{}", wire=Wire(delay_head=60)))
        t = self.start_with(box=silent)
        self.open(t)
        silent.wait_for_requests(1)
        t.send("\x1b")
        t.wait_gone("Which model?")
        self.open(t)
        silent.wait_for_requests(2)
        t.signal(15)
        t.wait_exit()


class Choosing(ModelTest):
    def test_enter_chooses_for_this_session(self):
        box = self.box(models("aaa", "bbb"), script=[Answer("Hello.")])
        t = self.start_with(box=box)
        before = self.read_config()
        self.open(t)
        self.row(t, "box/first", chosen=True)
        self.row(t, "box/bbb")
        t.send("bbb\r")
        t.wait_for("Model: box/bbb")
        self.say(t, "hi", "Hello.")
        self.assertEqual(box.requests[-1].model, "bbb")
        self.assertEqual(self.read_config(), before)

    def test_ctrl_s_remembers(self):
        box = self.box(models("aaa", "bbb"))
        t = self.start_with(box=box)
        path = os.path.join(self.home, "config.json")
        text = ('{ "unknown" : [ 1,2 ],\n\t"model":"box/first",\n "providers": '
                f'{{"box": {{"base_url": "{box.base_url("openai")}"}}}}}}\n\n')
        with open(path, "w") as f:
            f.write(text)
        self.open(t)
        self.row(t, "box/bbb")
        t.send("bbb")
        self.row(t, "box/bbb", chosen=True)
        t.send("\x13")
        t.wait_for("Model: box/bbb")
        t.wait_for("Remembered in ")
        self.assertEqual(self.read_config(), text.replace("box/first", "box/bbb"))

    def test_nothing_is_remembered_in_a_broken_file(self):
        t = self.start_with(box=self.box(models("aaa")))
        path = os.path.join(self.home, "config.json")
        with open(path, "w") as f:
            f.write("{ broken")
        self.open(t)
        self.row(t, "box/aaa")
        t.send("box/aaa")
        self.row(t, "box/aaa", chosen=True)
        t.send("\x13")
        t.wait_for("broken JSON")
        self.assertEqual(self.read_config(), "{ broken")

    def test_a_variable_that_wins_is_named(self):
        t = self.start_with(box=self.box(models("aaa")), env={"IKIGAI_MODEL": "box/env"})
        self.open(t)
        self.row(t, "box/aaa")
        t.send("box/aaa")
        self.row(t, "box/aaa", chosen=True)
        t.send("\x13")
        t.wait_for("IKIGAI_MODEL overrides it at the next start.")
        self.assertIn('"model": "box/aaa"', self.read_config())

    def test_a_model_without_a_key_is_said_and_not_chosen(self):
        t = self.start_with(box=self.box(models("aaa")))
        self.open(t)
        t.send("openai/")
        t.wait_for(re.compile(r"^› openai/\S+ .*\$\S+ +no key$", re.M))
        t.send("\r")
        t.wait_for("openai has no key")
        self.assertTrue(self.status(t).startswith("box/first"), self.status(t))

    def test_numbers_in_plain_mode(self):
        box = self.box(models("aaa", "bbb"))
        t = self.start_with("--plain", box=box)
        t.send("/model\r")
        found = t.wait_for(re.compile(r"(\d+)\W+box/bbb"))
        t.send(f"{found[1]}\r")
        t.wait_for("Model: box/bbb")
