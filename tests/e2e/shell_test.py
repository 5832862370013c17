#!/usr/bin/env python3
"""Version, configuration and completion, the last in the shells themselves."""

import json
import os
import shutil
import subprocess
import unittest

import program


class Shell(unittest.TestCase):
    def test_version(self):
        done = program.run("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^heddle \d+\.\d+\.\d+ \(\w")

    def test_help_has_an_example(self):
        for command in (("ping",), ("perf",), ("paths",), ("config", "show"), ("completion",)):
            done = program.run(*command, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn("Example:", done.stdout, command)
            self.assertIn("heddle " + " ".join(command), done.stdout)

    def test_help_of_commands_that_run_long_tells_the_exit_statuses(self):
        for command in ("ping", "perf", "paths"):
            self.assertRegex(program.run(command, "--help").stdout, r"130 for Ctrl-C, 143 for")

    def test_config_says_where_values_come_from(self):
        done = program.run("config", "show", "--json", "--set", "port=77",
                           settings={"HEDDLE_PATHS": "12"})
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {row["name"]: row for row in json.loads(done.stdout)["settings"]}
        self.assertEqual((rows["port"]["value"], rows["port"]["origin"]), (77, "the command line"))
        self.assertEqual((rows["paths"]["value"], rows["paths"]["origin"]), (12, "HEDDLE_PATHS"))
        self.assertEqual(rows["congestion"]["origin"], "default")
        text = program.run("config", "show").stdout
        for name in rows:
            self.assertIn(name, text)

    def test_config_refuses_what_no_command_could_use(self):
        for setting in ("mtu_bytes=1", "mtu_bytes=1279", "mtu_bytes=65536", "congestion=none",
                        "selector=none"):
            done = program.run("config", "show", "--set", setting)
            self.assertEqual(done.returncode, 2, setting)
            self.assertIn("it is set by the command line", done.stderr)
        for setting in ("mtu_bytes=0", "mtu_bytes=1280", "mtu_bytes=65535"):
            self.assertEqual(program.run("config", "show", "--set", setting).returncode, 0, setting)

    def test_a_full_disk_is_no_success(self):
        for command in (("config", "show"), ("config", "show", "--json"), ("completion", "bash"),
                        ("--help",), ("--version",)):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([program.HEDDLE, *command], stdout=full, stderr=subprocess.PIPE,
                                      text=True, env=program.environment(), timeout=60, check=False)
            self.assertEqual(done.returncode, 2, command)
            self.assertIn("cannot write all of the output", done.stderr)

    def setting_names(self):
        done = program.run("config", "show", "--json")
        return [row["name"] for row in json.loads(done.stdout)["settings"]]

    def test_names_of_tables_are_offered_wherever_they_are_told(self):
        rows = {row["name"]: row
                for row in json.loads(program.run("config", "show", "--json").stdout)["settings"]}
        self.assertEqual(rows["congestion"]["values"], program.controllers())
        for name in ("congestion", "selector"):
            self.assertIn(rows[name]["value"], rows[name]["values"])
            for value in rows[name]["values"]:
                self.assertIn(value, rows[name]["doc"])

    def complete_bash(self, line):
        """What bash offers at the end of the line."""
        words = line.split(" ")
        quoted = " ".join(f"'{word}'" for word in words)
        script = (f"source <('{program.HEDDLE}' completion bash)\n"
                  f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; COMPREPLY=()\n"
                  "_heddle\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n")
        done = subprocess.run(["bash", "--norc", "-euc", script], capture_output=True, text=True,
                              env=program.environment(), timeout=program.PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_bash_completes(self):
        offered = self.complete_bash("heddle ")
        for command in ("ping", "perf", "config", "completion"):
            self.assertIn(command, offered)
        self.assertEqual(self.complete_bash("heddle pi"), ["ping"])
        self.assertEqual(self.complete_bash("heddle config s"), ["show"])
        self.assertEqual(self.complete_bash("heddle perf --bid"), ["--bidirectional"])
        controllers = program.controllers()
        self.assertEqual(self.complete_bash("heddle perf node --cc "), controllers)
        for name in controllers:
            self.assertIn(name, self.complete_bash(f"heddle perf node --cc {name[:2]}"))
            self.assertIn(name, self.complete_bash(f"heddle perf node --cc = {name[:2]}"))
            self.assertIn(name, self.complete_bash(f"heddle ping --set congestion = {name[:2]}"))
        keys = [f"{name}=" for name in self.setting_names()]
        self.assertEqual(self.complete_bash("heddle perf --set "), keys)
        self.assertEqual(self.complete_bash("heddle config show --set pat"), ["paths="])
        self.assertEqual(self.complete_bash("heddle perf --set paths ="), [])
        self.assertEqual(self.complete_bash("heddle completion z"), ["zsh"])
        self.assertIn("bw", self.complete_bash("heddle perf node "))
        self.assertEqual(self.complete_bash("heddle perf -s "), [])
        self.assertIn(os.path.basename(__file__),
                      self.complete_bash("heddle perf --config shell_"))

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_completes(self):
        self.assertIn("ping", self.complete_zsh("heddle "))
        self.assertEqual(self.complete_zsh("heddle perf node --cc cu"), program.controllers())
        self.assertEqual(self.complete_zsh("heddle perf --set "),
                         [f"{name}=" for name in self.setting_names()])
        offered = self.complete_zsh("heddle perf node --bi")
        for word in ("bw", "lat", "--bidirectional", "-t", "--time"):
            self.assertIn(word, offered)
        self.assertIn("show", self.complete_zsh("heddle config s"))
        self.assertEqual(self.complete_zsh("heddle perf --config "), ["FILES"])

    def complete_zsh(self, line):
        """What zsh is told to offer at the end of the line; zsh itself drops what does not fit."""
        words = " ".join(f"'{word}'" for word in line.split(" "))
        script = (
            "compdef() { }\n"
            "compadd() { [[ $1 == -S ]] && shift 2; [[ $1 == -- ]] && shift; print -rl -- $@ }\n"
            "_files() { print -r -- FILES }\n"
            "_describe() { [[ $1 == -o ]] && shift; print -rl -- ${${(P)2}%%:*} }\n"
            f"source <('{program.HEDDLE}' completion zsh)\n"
            f"words=({words}); CURRENT=$#words; _heddle\n")
        done = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True,
                              env=program.environment(), timeout=program.PATIENCE_S, check=False)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_scripts_are_valid_shell(self):
        for shell in ("bash", "zsh"):
            text = program.run("completion", shell).stdout
            if shutil.which(shell):
                done = subprocess.run([shell, "-n"], input=text, text=True, capture_output=True,
                                      check=False)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
