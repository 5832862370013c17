#!/usr/bin/env python3
"""Version, configuration and completion, the last in the shells themselves."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import lab_fabric
import program


class Shell(unittest.TestCase):
    def test_version(self):
        done = program.run("--version")
        self.assertEqual(done.returncode, 0)
        version, built, runs = done.stdout.splitlines()
        self.assertRegex(version, r"^heddle \d+\.\d+\.\d+ \(\w+(\+changes)?, (Release|Debug)(, [a-z,]+)?\)$")
        number = r"\d+(\.\d+)+"
        self.assertRegex(built, rf"^built with (GCC|clang) {number}, fmt {number}, spdlog {number}, "
                                rf"toml\+\+ {number}, OpenSSL {number}, glibc {number}$")
        self.assertRegex(runs, rf"^runs with OpenSSL {number}, glibc {number}$")

    def test_help_has_an_example(self):
        for command in (("ping",), ("perf",), ("paths",), ("config", "show"), ("completion",)):
            done = program.run(*command, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn("Examples:", done.stdout, command)
            self.assertIn("heddle " + " ".join(command), done.stdout)

    def test_help_of_commands_that_run_long_lists_the_exit_statuses(self):
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
        script = (f"source <('{program.HEDDLE}' completion bash)\n"
                  f"COMP_LINE='{line}'; COMP_POINT={len(line)}; COMP_WORDS=('{program.HEDDLE}'); COMPREPLY=()\n"
                  "_heddle\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n")
        done = subprocess.run(["bash", "--norc", "-euc", script], capture_output=True, text=True,
                              env=program.environment(), timeout=program.PATIENCE_S, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        return done.stdout.split()

    def complete_zsh(self, line):
        """What zsh is given to offer at the end of the line; zsh itself drops what does not fit."""
        words = " ".join(f"'{word}'" for word in [program.HEDDLE, *line.split(" ")[1:]])
        script = (
            "compdef() { }\n"
            "compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -rl -- $@ }\n"
            "compset() { }\n_files() { print -r -- FILES$1 }\n_hosts() { print -r -- HOSTS }\n"
            "_command_names() { print -r -- PROGRAMS }\n"
            f"source <('{program.HEDDLE}' completion zsh)\n"
            f"words=({words}); CURRENT=$#words; _heddle\n")
        done = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True,
                              env=program.environment(), timeout=program.PATIENCE_S, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        return done.stdout.split()

    def complete_fish(self, line):
        """What fish offers at the end of the line; behind a tab it shows what each word is."""
        folder = os.path.dirname(program.HEDDLE)
        script = f"'{program.HEDDLE}' completion fish | source; complete -C \"$argv[1]\""
        home = self.enterContext(tempfile.TemporaryDirectory())  # where fish keeps its own files
        done = subprocess.run(["fish", "--no-config", "-c", script, line], capture_output=True, text=True,
                              env={**program.environment(PATH=f"{folder}:{os.environ['PATH']}"), "HOME": home},
                              timeout=program.PATIENCE_S, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    def expect_completions(self, complete):
        """What every shell offers."""
        offered = complete("heddle ")
        for command in ("ping", "perf", "config", "completion", "help"):
            self.assertIn(command, offered)
        self.assertNotIn("words", complete("heddle completion "))
        self.assertEqual(complete("heddle pi"), ["ping"])
        self.assertEqual(complete("heddle config s"), ["show"])
        self.assertIn("--bidirectional", complete("heddle perf --bid"))
        self.assertEqual(sorted(complete("heddle perf node --cc ")), sorted(program.controllers()))
        self.assertEqual(sorted(complete("heddle perf --set ")), sorted(f"{name}=" for name in self.setting_names()))
        self.assertEqual(complete("heddle config show --set pat"), ["paths="])
        self.assertEqual(complete("heddle completion z"), ["zsh"])
        self.assertIn("alltoall", complete("heddle bench allt"))
        self.assertIn("bw", complete("heddle perf node "))
        self.assertEqual(complete("heddle perf -s "), [])
        ranks = complete("heddle run -n ")
        self.assertTrue({"1", "2", "4", "8"} <= set(ranks), ranks)
        # Behind the command to start, its own options.
        self.assertIn("--bidirectional", complete("heddle run -n 2 -- heddle perf node --bid"))

    def test_bash_completes(self):
        self.expect_completions(self.complete_bash)
        controllers = program.controllers()
        for name in controllers:
            # bash replaces only the text after "=".
            self.assertIn(name, self.complete_bash(f"heddle perf node --cc={name[:2]}"))
            self.assertIn(name, self.complete_bash(f"heddle ping --set congestion={name[:2]}"))
        self.assertEqual(self.complete_bash("heddle perf --set paths="), [])
        here = os.path.basename(__file__)
        for words in ("heddle perf --config ", "heddle perf --config=", "heddle summary ", "heddle lab up ",
                      "heddle run -n 1 -- cat "):
            self.assertIn(here, self.complete_bash(f"{words}shell_t"), words)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed: scripts/setup --shells")
    def test_zsh_completes(self):
        self.expect_completions(lambda line: [word for word in self.complete_zsh(line) if word != "HOSTS"])
        self.assertEqual(self.complete_zsh("heddle perf --config "), ["FILES"])
        self.assertEqual(self.complete_zsh("heddle record -o "), ["FILES-/"])
        self.assertIn("--cc=cubic", self.complete_zsh("heddle perf node --cc=cu"))
        self.assertIn("HOSTS", self.complete_zsh("heddle perf "))
        self.assertIn("PROGRAMS", self.complete_zsh("heddle run -n 1 -- "))

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed: scripts/setup --shells")
    def test_fish_completes(self):
        self.expect_completions(self.complete_fish)
        self.assertIn(os.path.basename(__file__), self.complete_fish("heddle perf --config shell_t"))
        self.assertIn("--cc=cubic", self.complete_fish("heddle perf node --cc=cu"))

    @unittest.skipIf(lab_fabric.missing(), f"no lab: {lab_fabric.missing()}")
    def test_names_of_labs_and_of_their_hosts_are_completed(self):
        lab = lab_fabric.Lab(self.enterContext(tempfile.TemporaryDirectory()), lab_fabric.LEAF_SPINE, "complete")
        self.addCleanup(lab.close)
        self.assertIn(lab.name, self.complete_bash("heddle lab status --lab "))
        self.assertIn(lab.name, self.complete_bash("heddle lab down "))
        self.assertEqual(self.complete_bash(f"heddle run --lab {lab.name} --hosts h"), ["h0", "h1", "h2", "h3"])
        self.assertEqual(self.complete_bash(f"heddle run --lab {lab.name} --hosts h0,"), ["h0,h1", "h0,h2", "h0,h3"])
        self.assertIn("h2", self.complete_bash(f"heddle lab exec --lab {lab.name} "))
        self.assertIn("spine1", self.complete_bash(f"heddle lab fault --lab {lab.name} loss leaf0 spi"))
        self.assertIn("h3", self.complete_bash("heddle perf h"))

    def test_scripts_are_valid_shell(self):
        for shell in ("bash", "zsh", "fish"):
            text = program.run("completion", shell).stdout
            if shutil.which(shell):
                done = subprocess.run([shell, "-n"], input=text, text=True, capture_output=True,
                                      check=False)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
