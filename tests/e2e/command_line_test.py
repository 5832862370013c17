#!/usr/bin/env python3
"""The command line as a whole: help of every command, one meaning an option, errors that name the first wrong word."""

import collections
import functools
import pathlib
import re
import shutil
import subprocess
import unittest

import program

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference"
GROUPS = ("Measure:", "Run:", "Observe:", "Simulate:", "Manage:")
# Short letters of nccl-tests and rping, whose options people know.
FOREIGN_LETTERS = {"bench": "beifnwcodrazIKJ", "ping": "CSiv"}

Option = collections.namedtuple("Option", "command short long value doc")


def heddle(*words):
    return program.run(*words)


@functools.cache
def help_of(command):
    done = heddle(*command.split(), "--help")
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.cache
def markdown():
    return heddle("help", "--format", "markdown").stdout


def commands():
    """Every command that the program shows, "lab run" and so on."""
    return re.findall(r"^\| \[`([a-z ]+)`\]", markdown(), re.MULTILINE)


def options():
    """Every option of every command, as the reference has them."""
    found = []
    for page in re.split(r"^## heddle ?", markdown(), flags=re.MULTILINE)[1:]:
        command = page.split("\n", 1)[0]
        for term, doc in re.findall(r"^\| `(-[^`]*)` \| (.*) \|$", page, re.MULTILINE):
            match = re.match(r"(?:-(\w), )?--([\w-]+)(?:\[=(.*)\]| (.*))?$", term.replace("\\|", "|"))
            assert match, (command, term)
            found.append(Option(command, match[1], match[2], match[3] or match[4] or "", doc))
    return found


class Help(unittest.TestCase):
    def test_without_a_command_the_short_help_lists_commands_in_groups(self):
        done = heddle()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for group in GROUPS:
            self.assertIn(f"\n{group}\n", done.stdout)
        self.assertNotIn("Options:", done.stdout)
        self.assertLess(done.stdout.count("\n"), 45)
        self.assertIn("--help", done.stdout)

    def test_without_a_command_of_a_group_its_commands_are_listed(self):
        for group, one in (("lab", "lab up"), ("config", "config show"), ("key", "key generate"),
                           ("workload", "workload from")):
            done = heddle(group)
            self.assertEqual((done.returncode, done.stderr), (0, ""), group)
            self.assertIn(one, done.stdout)

    def test_every_command_has_usage_an_example_and_exit_statuses(self):
        self.assertGreater(len(commands()), 25)
        for command in commands():
            text = help_of(command)
            self.assertIn(f"Usage: heddle {command}", text)
            examples = text.split("Examples:\n")[1].split("\n\n")[0]
            self.assertIn(f"heddle {command}", examples, command)
            if command not in ("lab", "config", "doctor", "key", "nccl", "workload"):
                self.assertIn("Exit status:\n", text, command)

    def test_no_help_shows_words_of_the_option_library(self):
        noise = re.compile(r"\b(TEXT|UINT|INT|FLOAT|BOOLEAN|ENUM|REQUIRED|SUBCOMMANDS?)\b|\[OPTIONS\]|Excludes|"
                           r"Needs|Env:|\{|:FILE|\[default")
        for command in ["", *commands()]:
            self.assertIsNone(noise.search(help_of(command).split("Examples:")[0]), command)

    def test_help_fits_a_terminal_of_80_columns(self):
        for command in ["", *commands()]:
            text = help_of(command)
            examples = text.split("Examples:\n")[1].split("\n\n")[0].splitlines() if "Examples:" in text else []
            for line in text.splitlines():
                self.assertLessEqual(len(line), 100 if line in examples else 80, f"{command}: {line}")

    def test_defaults_are_written_in_one_style(self):
        for option in options():
            self.assertNotRegex(option.doc, r"\[[^\]]*\]$", option)
            self.assertEqual("default" in option.doc.replace("(default: ", ""), False, option)

    def test_help_of_a_command_is_printed_by_help_too(self):
        self.assertEqual(heddle("help", "lab", "run").stdout, help_of("lab run"))
        done = heddle("help", "pefr")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'heddle help perf'?", done.stderr)


class OneMeaning(unittest.TestCase):
    def test_options_of_the_same_name_take_the_same_kind_of_value(self):
        kinds = {"json": "", "lab": "LAB", "hosts": "HOST[,HOST]...", "ranks": "N", "seed": "N", "topology": "FILE",
                 "config": "FILE", "set": "KEY=VALUE", "port": "PORT", "bind": "ADDRESS[,ADDRESS]...", "paths": "N"}
        seen = collections.Counter()
        for option in options():
            if option.long in kinds:
                self.assertEqual(option.value, kinds[option.long], option)
                seen[option.long] += 1
        self.assertEqual(set(seen), set(kinds))
        self.assertGreater(seen["json"], 12)

    def test_a_letter_stands_for_one_option(self):
        meaning = {}
        for option in options():
            if option.short is None or option.short in FOREIGN_LETTERS.get(option.command, ""):
                continue
            known = meaning.setdefault(option.short, option.long)
            self.assertEqual(option.long, known, f"-{option.short} in '{option.command}'")

    def test_the_number_of_calls_is_not_that_of_ranks(self):
        done = heddle("bench", "allreduce", "-n", "4")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("add --ranks N to start N ranks here (-n is the number of calls)", done.stderr)

    def test_every_size_and_every_duration_is_read_by_the_same_parser(self):
        checked = collections.Counter()
        read = [each for each in options() if each.value.split("|")[0] in ("SIZE", "DURATION")]
        for option in program.sample(read):
            for kind, wrong in (("SIZE", "4Q"), ("DURATION", "soon")):
                if option.value.split("|")[0] != kind:
                    continue
                done = heddle(*option.command.split(), f"--{option.long}={wrong}")
                self.assertIn(done.returncode, (2, 125), option)
                self.assertIn(f"--{option.long}: '{wrong}' is not a {kind.lower()}", done.stderr)
                checked[kind] += 1
        self.assertGreater(checked["SIZE"], 2 if program.sanitized() else 10)
        self.assertGreater(checked["DURATION"], 1 if program.sanitized() else 7)

    def test_old_spellings_work_or_name_the_new_one(self):
        for words, said in ((("lab", "status", "--name", "nowhere"), "nowhere"),
                            (("lab", "exec", "--name=nowhere", "h0", "--", "true"), "nowhere"),
                            (("workload", "run", "/nonexistent.toml", "--hosts", "2"), "/nonexistent.toml"),
                            (("record", "-o", "x", "--mebibytes", "64", "--", "true"), "--max-size 64MiB"),
                            (("bench", "--ranks", "h0,h1"), "--hosts h0,h1")):
            done = heddle(*words)
            self.assertIn(done.returncode, (2, 125), words)
            self.assertIn(said, done.stderr, words)
            self.assertNotIn("has no option --name", done.stderr)
        self.assertEqual(heddle("run", "-n", "1", "-t", "--", "echo", "x").stdout, "[0] x\n")

    def test_old_spellings_that_one_option_replaces_are_taken(self):
        for line in ("lab up --reorder", "lab run --reorder", "monitor --all nats://h --store clickhouse://h",
                     "nccl drive --size 2", "plan lease --store leases", "plan leases --store leases", "sim --matrix",
                     "size distance --mtu 4K", "size messages --mtu 4K --split", "size overlap --mtu 4K",
                     "timeline --from 0.5 --to 0.6", "tune --time 5s"):
            done = heddle(*line.split(), "--bogus")  # the first word that is wrong
            self.assertIn(done.returncode, (2, 125), line)
            self.assertIn("has no option --bogus", done.stderr, line)


class Errors(unittest.TestCase):
    def refused(self, words, *wanted, status=2):
        done = heddle(*words)
        self.assertEqual(done.returncode, status, f"{words}: {done.stderr}")
        self.assertRegex(done.stderr, r"\Aheddle: cannot read the command line: [^\n]*\n\Z", words)
        for text in wanted:
            self.assertIn(text, done.stderr, words)

    def test_a_word_with_a_typo_names_the_word_that_was_meant(self):
        self.refused(("pnig",), "there is no command 'pnig'", "did you mean 'heddle ping'?")
        self.refused(("lab", "stats"), "there is no command 'lab stats'", "did you mean 'heddle lab status'?")
        self.refused(("run", "--hots", "h0", "true"), "'heddle run' has no option --hots", "did you mean --hosts?",
                     status=125)
        self.refused(("sim", "--cc", "cubci"), "--cc: 'cubci' is not", "did you mean 'cubic'?")
        self.refused(("bench", "alreduce"), "'alreduce' is not", "did you mean 'allreduce'?")
        self.refused(("lab", "fault", "pasue", "h0"), "did you mean 'pause'?")
        self.refused(("frobnicate",), "there is no command 'frobnicate'", "see 'heddle --help'")
        self.assertNotIn("did you mean", heddle("frobnicate").stderr)

    def test_the_first_wrong_word_is_the_one_that_is_named(self):
        self.refused(("perf", "--tmie", "3", "--bogus"), "--tmie")
        self.refused(("perf", "node", "-t", "soon", "--bogus"), "'soon'")
        self.refused(("perf", "node", "--bogus", "-t", "soon"), "--bogus")
        self.refused(("ping", "--bogus"), "--bogus")
        self.refused(("bench", "nothing", "-b", "4Q"), "nothing")
        self.refused(("sim", "--paths", "0", "--cc", "none"), "--paths: '0' is not a whole number from 1 to 256")
        self.refused(("perf", "--bogus", "--help"), "--bogus")
        self.assertIn("Usage:", heddle("perf", "--help", "--bogus").stdout)

    def test_what_is_missing_or_too_much_is_named(self):
        self.refused(("perf", "node", "--time"), "--time needs a value: DURATION")
        self.refused(("perf", "node", "--time", "--json"), "--time needs a value: DURATION")
        self.refused(("perf", "node", "--json=yes"), "--json takes no value")
        self.refused(("config", "show", "now"), "'now' is one argument too many")
        self.refused(("key", "show"), "FILE is missing", "see 'heddle key show --help'")
        self.refused(("ping", "--listen", "node"), "--listen", "HOST[:PORT]", "exclude each other")
        self.refused(("ping", "node", "--once"), "--once needs --listen")
        self.refused(("completion", "tcsh"), "bash, zsh or fish")

    def test_numbers_below_zero_are_values_and_no_options(self):
        self.refused(("ping", "node", "-C", "-1"), "--count: '-1' is not a whole number")
        self.refused(("ping", "node", "-C-1"), "--count: '-1' is not a whole number")

    def test_warnings_are_called_warnings(self):
        done = program.run("config", "show", settings={"HEDDLE_NO_SUCH_SETTING": "1"})
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"\Aheddle: warning: .*HEDDLE_NO_SUCH_SETTING")

    def test_addresses_are_written_as_rfc_5952_says(self):
        with program.server("--bind", "0:0:0:0:0:0:0:1") as (serving, port):
            self.assertIn(f"listens on [::1]:{port};", serving.said())


class ExitStatus(unittest.TestCase):
    """Commands that start another program have its exit status, and for their own failures those of env(1)."""

    STARTERS = (("run", "-n", "1"), ("record", "-o", "/tmp/heddle-never-made"))

    def test_the_programs_status_is_the_commands(self):
        self.assertEqual(heddle("run", "-n", "2", "--", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(heddle("run", "-n", "1", "--", "sh", "-c", "kill -9 $$").returncode, 137)
        self.assertEqual(heddle("run", "-n", "1", "--", "true").returncode, 0)

    def test_a_program_that_is_not_there_is_127(self):
        for starter in self.STARTERS:
            done = heddle(*starter, "--", "/nonexistent/program")
            self.assertEqual(done.returncode, 127, done.stderr)
            self.assertIn("No such file", done.stderr)

    def test_a_program_that_cannot_be_started_is_126(self):
        for starter in self.STARTERS:
            done = heddle(*starter, "--", "/etc/passwd")
            self.assertEqual(done.returncode, 126, done.stderr)
            self.assertIn("Permission denied", done.stderr)

    def test_failures_of_its_own_are_125(self):
        for words in (("run", "--bogus", "true"), ("run", "-n", "1"), ("run", "true"), ("run", "-n", "0", "true"),
                      ("run", "--lab", "nowhere", "true"), ("lab", "exec", "--lab", "nowhere", "h0", "true"),
                      ("lab", "run", "/nonexistent.toml", "--", "true"), ("lab", "exec"), ("record", "--bogus"),
                      ("record", "-o", "/dev/null/x", "--", "true")):
            done = heddle(*words)
            self.assertEqual(done.returncode, 125, f"{words}: {done.stderr}")
            self.assertTrue(done.stderr.startswith("heddle: "), done.stderr)

    def test_other_commands_that_cannot_run_are_2(self):
        for words in (("ping", "no-such-host.invalid"), ("lab", "status", "--lab", "nowhere"), ("nothing",),
                      ("summary", "/nonexistent")):
            self.assertEqual(heddle(*words).returncode, 2, words)


class Reference(unittest.TestCase):
    """The pages of docs/reference that the program writes itself."""

    def test_the_reference_in_docs_is_what_the_program_prints(self):
        for page, words in (("commands.md", ()), ("settings.md", ("settings",)),
                            ("exit_statuses.md", ("exit-status",))):
            said = heddle("help", *words, "--format", "markdown").stdout
            self.assertEqual((DOCS / page).read_text(), said,
                             f"run: heddle help {' '.join(words)} --format markdown -o docs/reference/{page}")

    def test_settings_have_key_variable_default_and_range(self):
        said = heddle("help", "settings").stdout
        for line in ("peer_dead_after_ms  (HEDDLE_PEER_DEAD_AFTER_MS)", "default: 5000; 10 to 3600000 ms",
                     "default: auto; auto, never or always"):
            self.assertIn(line, said)

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_man_pages_are_read_without_a_warning(self):
        for words in ((), ("lab", "run"), ("sim",), ("settings",)):
            page = heddle("help", *words, "--format", "man")
            self.assertEqual(page.returncode, 0, page.stderr)
            done = subprocess.run(["man", "--warnings=all", "-l", "-"], input=page.stdout, text=True,
                                  capture_output=True, check=False, timeout=program.PATIENCE_S,
                                  env=program.environment(MANWIDTH="80", MANROFFOPT=""))
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
            self.assertIn("-".join(("heddle", *words)), done.stdout)


if __name__ == "__main__":
    unittest.main()
