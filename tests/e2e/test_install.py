"""make install and uninstall: what is copied works where it is, and what was there stays."""
import json
import os
import subprocess

from support import OUT, ROOT, ScratchTest, clean_env


class Install(ScratchTest):
    def make(self, target, prefix="/usr/local"):
        """Of what is built already: building again, with the prefix of this test, would change
        the programs under the other tests' feet."""
        env = {k: v for k, v in clean_env().items() if not k.startswith("MAKE")}
        done = subprocess.run(["make", "-o", "all", "-C", ROOT, "OUT=" + os.path.relpath(OUT, ROOT),
                               "PREFIX=" + prefix, "DESTDIR=" + self.dir, target], env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def files(self):
        return sorted(os.path.relpath(os.path.join(where, name), self.dir)
                      for where, _, names in os.walk(self.dir) for name in names)

    def test_everything_has_its_place_and_mode(self):
        self.make("install")
        files = self.files()
        for name in ("bin/ikigai", "lib/ikigai/keeper", "libexec/ikigai/bash",
                     "libexec/ikigai/file-read", "libexec/ikigai/grep"):
            self.assertIn("usr/local/" + name, files)
            self.assertEqual(os.stat(self.path("usr/local", name)).st_mode & 0o7777, 0o755, name)
        self.assertIn("usr/local/etc/ikigai/config.json", files)
        self.assertFalse([f for f in files if f.startswith("etc/")])
        for where, _, _ in os.walk(self.path("usr")):
            self.assertEqual(os.stat(where).st_mode & 0o022, 0, where)

    def test_config_of_usr_is_in_etc(self):
        self.make("install", "/usr")
        self.assertIn("etc/ikigai/config.json", self.files())
        self.assertNotIn("usr/etc/ikigai/config.json", self.files())

    def test_installed_copy_uses_its_own_tools(self):
        self.make("install", "/opt/ikigai")
        done = subprocess.run([self.path("opt/ikigai/bin/ikigai"), "tool", "list", "--json"],
                              cwd=self.dir, env=clean_env(HOME=self.dir), stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 0)
        paths = {tool["name"]: tool["path"] for tool in json.loads(done.stdout)}
        self.assertEqual(paths["grep"], os.path.realpath(self.path("opt/ikigai/libexec/ikigai/grep")))

    def test_uninstall_takes_away_what_install_brought(self):
        self.write("usr/local/bin/other")
        self.write("usr/local/libexec/ikigai/third-party")
        self.make("install")
        self.make("install")
        self.make("uninstall")
        self.assertEqual(self.files(), ["usr/local/bin/other",
                                        "usr/local/libexec/ikigai/third-party"])
        for gone in ("lib/ikigai", "etc/ikigai", "share/ikigai", "share/doc/ikigai"):
            self.assertFalse(os.path.exists(self.path("usr/local", gone)), gone)
        self.make("uninstall")

    def test_a_changed_config_stays(self):
        self.make("install")
        config = "usr/local/etc/ikigai/config.json"
        self.write(config, '{"max_tool_turns": 7}\n')
        self.make("install")
        self.assertEqual(self.read(config), b'{"max_tool_turns": 7}\n')
        self.make("uninstall")
        self.assertEqual(self.files(), [config])
