"""What the configuration says about confinement: `confinement`, `writable`, `hidden` and `caches`; and what
`ikigai doctor` says about it."""
import json
import os
import platform
import tempfile

from agent_support import AgentTest
from fake_llm import Answer, Call
from support import IKIGAI, IkigaiTest

# Runs a command where the kernel gives no user namespaces: the level is partial.
PARTIAL = ["unshare", "-Ur", "sh", "-c",
           'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh"]


class Doctor(IkigaiTest):
    def confinement(self, **more):
        done = self.ikigai("doctor", "--json", **more)
        self.assertEqual(done.out.count("\n"), 1)
        return done.json()

    def partial(self, *args, **more):
        return self.ikigai(*PARTIAL[1:], IKIGAI, *args, program=PARTIAL[0], **more)

    def test_full(self):
        report = self.confinement()
        kernel = report["confinement"].pop("kernel")
        self.assertEqual(kernel, platform.release())
        self.assertGreaterEqual(report["confinement"].pop("landlock_abi"), 1)
        self.assertEqual(report["confinement"], {"level": "full", "user_namespaces": True,
                                                 "seccomp": True, "missing": []})
        out = self.ikigai("doctor").out
        section = out.partition("\nConfinement:\n")[2].partition("\n\n")[0]
        self.assertRegex(section, rf"level +full\n +kernel +Linux {kernel}\n +Landlock +yes, ABI \d+\n"
                         r" +user namespaces +yes\n +seccomp +yes\n")

    def test_partial_says_what_is_missing_and_how_to_get_it(self):
        found = self.partial("doctor", "--json").json()["confinement"]
        self.assertEqual((found["level"], found["user_namespaces"], found["seccomp"]),
                         ("partial", False, True))
        (missing,) = found["missing"]
        self.assertIn("sysctl -w user.max_user_namespaces", missing)
        out = self.partial("doctor").out
        self.assertIn("  level            partial\n", out)
        self.assertIn(f"  missing          {missing}\n", out)

    def test_required_at_partial_is_a_problem(self):
        self.config({"confinement": "required"})
        report = self.partial("doctor", "--json", status=1).json()
        self.assertIn("requires confinement, and its level is partial", report["problems"][0])
        self.assertEqual(self.confinement()["problems"], [])

    def test_the_whole_report_is_in_the_json(self):
        self.config({"colour": 1, "model": "offline/x"})
        report = self.confinement(status=1)
        self.assertIn("unknown key colour", report["problems"][0])
        lines = self.ikigai("doctor", status=1).out.splitlines()
        told = {line for section in report["sections"].values() for line in section}
        for line in lines[:-1]:
            heading = line[:-1] in report["sections"]
            if line and not heading and not line.startswith("  problem: "):
                self.assertIn(line.strip(), told)
        self.assertEqual(report["version"], lines[1].split()[1])

    def test_what_is_held_back(self):
        self.config({"pass_env": ["PASSED_TOKEN"], "tools": {"t": {"pass_env": ["ONE_SECRET"]}},
                     "providers": {"box": {"base_url": "http://b", "api_key_env": "MY_KEY"}}})
        env = {name: "canary-71" for name in (
            "PASSED_TOKEN", "ONE_SECRET", "MY_KEY", "OPENAI_API_KEY", "PGPASSWORD", "B_PASSWORD",
            "HARMLESS")}
        env["IKIGAI_DB"] = self.path("other.db")
        held = ["B_PASSWORD", "IKIGAI_DB", "MY_KEY", "ONE_SECRET", "OPENAI_API_KEY", "PGPASSWORD"]
        done = self.ikigai("doctor", "--json", env=env)
        self.assertEqual(done.json()["held_back"], held)
        self.assertNotIn("canary-71", done.out)
        out = self.ikigai("doctor", env=env).out
        self.assertIn("  held back from tools:\n" + "".join(f"    {name}\n" for name in held), out)
        self.assertEqual(self.confinement()["held_back"], [])
        self.assertIn("  held back from tools: no variable\n", self.ikigai("doctor").out)


class Required(AgentTest):
    def test_full_is_enough(self):
        turn = self.ask([Answer(calls=[Call("bash", {"command": "echo hi"})]), Answer("Done.")],
                        config={"confinement": "required"})
        self.assertEqual(turn.envelopes()[0]["result"]["output"], "hi")

    def test_less_ends_the_program_before_anything_is_sent(self):
        llm = self.serve([Answer("Done.")])
        env = self.connect(llm, {"confinement": "required"})
        for args in (self.command("Go"), self.command("Go", "--json"),
                     ["tool", "run", "bash", '{"command": "touch ran"}']):
            with self.subTest(args=args):
                done = self.ikigai(*PARTIAL[1:], IKIGAI, *args, program=PARTIAL[0], env=env, status=2)
                self.assertEqual(done.out, "")
                self.assertRegex(done.err, r"\Aikigai: The configuration requires confinement, and its "
                                 r"level is partial here: .*user namespaces.*; ikigai doctor .*\n\Z")
        self.assertEqual(llm.requests, [])
        self.assertFalse(os.path.exists(self.path("project/ran")))

    def test_less_starts_nothing_that_is_to_be_confined(self):
        """Tools are listed at every level."""
        script = self.write("project/script", f"#!/bin/sh\ntouch {self.path('ran')}\n", 0o755)
        self.project_tool("t", f"#!/bin/sh\nexec {script}\n")
        self.ikigai("trust", "--yes")
        self.config({"confinement": "required", "mcpServers": {"s": {
            "command": script, "effects": {"write": "project"}}}})
        err = self.ikigai(*PARTIAL[1:], IKIGAI, "tool", "list", program=PARTIAL[0]).err
        why = "it cannot be confined here; see ikigai doctor"
        self.assertEqual(err, f"Debug: tool 't' schema failed ({why})\nServer 's' is not used: {why}\n")
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_preferred_goes_on(self):
        llm = self.serve([Answer("Done.")])
        env = self.connect(llm)
        self.ikigai(*PARTIAL[1:], IKIGAI, *self.command("Go"), program=PARTIAL[0], env=env)


class Off(AgentTest):
    def call(self, mode, command):
        turn = self.ask([Answer(calls=[Call("bash", {"command": command})]), Answer("Done.")],
                        config={"confinement": "off", "mode": mode})
        return turn.envelopes()[0]

    def test_auto_runs_unconfined(self):
        answer = self.call("auto", f"echo x > {self.path('outside')}; exit 3")
        self.assertEqual(self.read("outside"), b"x\n")
        self.assertEqual(answer["result"]["exit_code"], 3)
        self.assertNotIn("confined", answer)

    def test_plan_is_still_enforced(self):
        answer = self.call("plan", "echo x > inside")
        self.assertFalse(os.path.exists(self.path("project/inside")))
        self.assertRegex(answer["confined"], "^plan mode: ")


class Places(IkigaiTest):
    def sh(self, command, **more):
        done = self.ikigai("tool", "run", "bash", json.dumps({"command": command}), **more)
        return done.json()["result"]

    def partial_sh(self, command):
        done = self.ikigai(*PARTIAL[1:], IKIGAI, "tool", "run", "bash",
                           json.dumps({"command": command}), program=PARTIAL[0])
        return done.json()["result"]

    def test_writable(self):
        os.makedirs(self.path("home/notes"))
        write = f"echo x > {self.path('home/notes/a')}"
        self.assertNotEqual(self.sh(write)["exit_code"], 0)
        self.config({"writable": ["~/notes", "/does/not/exist"]})
        for run in (self.sh, self.partial_sh):
            self.assertEqual(run(write)["exit_code"], 0)
            self.assertEqual(self.read("home/notes/a"), b"x\n")
            os.unlink(self.path("home/notes/a"))
            self.assertNotEqual(run(f"echo x > {self.path('home/b')}")["exit_code"], 0)

    def test_a_writable_place_opens_nothing_that_is_hidden(self):
        os.makedirs(self.path("home/.ssh"))
        self.write("home/.ssh/id", "secret")
        self.write("home/.ikigai/keys.json", "{}", 0o600)
        self.config({"writable": ["~/"]})
        for run in (self.sh, self.partial_sh):
            with self.subTest(run=run.__name__):
                self.assertEqual(run(f"echo x > {self.path('home/c')}")["exit_code"], 0)
                self.assertNotEqual(run("cat ~/.ssh/id")["exit_code"], 0)
                run("echo x > ~/.ssh/id; echo x > ~/.ssh/new; echo '{}' > $HOME/.ikigai/config.json; "
                    "rm -rf $HOME/.ikigai/keys.json; mv ~/.ssh ~/.ssh2; mv ~/.ikigai ~/.ikigai2")
                self.assertEqual(self.read("home/.ssh/id"), b"secret")
                self.assertEqual(os.listdir(self.path("home/.ssh")), ["id"])
                self.assertEqual(self.read("home/.ikigai/keys.json"), b"{}")
                self.assertIn(b"writable", self.read("home/.ikigai/config.json"))

    def test_a_hidden_place_that_is_named_writable_stays_hidden(self):
        self.write("home/.ssh/id", "secret")
        self.write("home/own/a", "secret")
        self.config({"writable": ["~/.ikigai", "~/.ssh", "~/own/a"], "hidden": ["~/own"]})
        for run in (self.sh, self.partial_sh):
            with self.subTest(run=run.__name__):
                run("echo x > ~/.ssh/id; echo x > ~/.ikigai/x; echo x > ~/own/a")
                self.assertNotIn("secret", run("cat ~/.ssh/id ~/own/a")["output"])
                self.assertEqual((self.read("home/.ssh/id"), self.read("home/own/a")),
                                 (b"secret", b"secret"))
                self.assertFalse(os.path.exists(self.path("home/.ikigai/x")))

    def test_everything_can_be_writable(self):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            write = f"echo x > {folder}/x"
            self.assertNotEqual(self.sh(write)["exit_code"], 0)
            self.config({"writable": ["/"]})
            for run in (self.sh, self.partial_sh):
                self.assertEqual(run(write)["exit_code"], 0)
                os.unlink(f"{folder}/x")
                self.assertNotEqual(run("echo x > ~/.ikigai/x")["exit_code"], 0)
                self.assertFalse(os.path.exists(self.path("home/.ikigai/x")))

    def test_hidden(self):
        self.write("home/clients/name", "secret")
        self.write("home/file", "secret")
        read = "cat ~/clients/name ~/file"
        self.assertEqual(self.sh(read)["output"], "secretsecret")
        self.config({"hidden": ["~/clients", self.path("home/file"), "~/missing"]})
        for run in (self.sh, self.partial_sh):
            answer = run(read)
            self.assertNotEqual(answer["exit_code"], 0)
            self.assertNotIn("secret", answer["output"])

    def test_caches(self):
        os.makedirs(self.path("home/.bun"))
        self.write("home/.bun/a", "real")
        self.config({"caches": ["~/.bun", "~/.newer"]})
        answer = self.sh("cat ~/.bun/a; echo copy > ~/.bun/a && cat ~/.bun/a; echo n > ~/.newer/x")
        self.assertEqual((answer["output"], answer["exit_code"]), ("realcopy", 0))
        self.assertEqual(self.read("home/.bun/a"), b"real")
        self.assertEqual(self.sh("cat ~/.bun/a ~/.newer/x")["output"], "copy\nn")  # kept
