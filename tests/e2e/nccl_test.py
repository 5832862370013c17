#!/usr/bin/env python3
"""`heddle nccl env` and `heddle nccl doctor` on this machine, with or without the plugin's library."""

import json
import os
import subprocess
import tempfile
import unittest

import program

# Every machine has loopback; NCCL's own variables of the caller do not count.
LOOPBACK = {"HEDDLE_IFNAME": "=lo", "NCCL_NET_PLUGIN": "heddle", "NCCL_NET": "heddle"}


def findings(topic, **settings):
    done = program.run("nccl", "doctor", "--json", settings={**LOOPBACK, **settings})
    document = json.loads(done.stdout)
    grades = [each["grade"] for each in document["findings"]]
    assert done.returncode == (1 if "fail" in grades else 0), (done.returncode, grades)
    assert document["failed"] == grades.count("fail") and document["warnings"] == grades.count("warn")
    return [each for each in document["findings"] if each["topic"] == topic]


class Env(unittest.TestCase):
    def test_the_shell_has_the_variables(self):
        printed = program.run("nccl", "env", settings=LOOPBACK)
        self.assertIn(printed.returncode, (0, 1))
        shell = subprocess.run(["sh", "-c", printed.stdout + "\nenv"], env={"PATH": os.environ["PATH"]},
                               capture_output=True, text=True, check=True)
        lines = shell.stdout.splitlines()
        for line in ("NCCL_NET_PLUGIN=heddle", "NCCL_NET=heddle", "HEDDLE_IFNAME==lo"):
            self.assertIn(line, lines)

    def test_the_document_has_the_same(self):
        printed = program.run("nccl", "env", "--json", settings={**LOOPBACK, "NCCL_PROFILER_PLUGIN": "other"})
        document = json.loads(printed.stdout)
        values = {each["name"]: each["value"] for each in document["variables"]}
        self.assertEqual(values["NCCL_NET_PLUGIN"], "heddle")
        self.assertEqual(values["HEDDLE_IFNAME"], "=lo")
        self.assertEqual(printed.returncode, 0 if document["library"] else 1)
        self.assertTrue(any("NCCL_PROFILER_PLUGIN=other" in note for note in document["notes"]))

    def test_a_selection_that_matches_nothing_is_found_wrong(self):
        printed = program.run("nccl", "env", settings={"HEDDLE_IFNAME": "=nosuch0"})
        self.assertEqual(printed.returncode, 1)
        self.assertIn("HEDDLE_IFNAME==nosuch0", printed.stderr)

    def test_a_file_without_an_end_is_refused(self):
        """It was read until memory was full."""
        printed = program.run("nccl", "env", settings={"HEDDLE_NCCL_NICS": "/dev/zero"})
        self.assertEqual(printed.returncode, 1)
        self.assertIn("more than 256 MiB", printed.stderr)

    def test_a_shell_that_evaluates_a_mistyped_option_fails(self):
        """Nothing was printed, so the shell went on without heddle."""
        done = program.run("nccl", "env", "--oops")
        self.assertEqual((done.returncode, done.stdout), (2, "false\n"))

    def test_a_shell_that_evaluates_a_failure_fails(self):
        for settings in ({"HEDDLE_IFNAME": "=nosuch0"}, {"HEDDLE_PATHS": "many"}):
            printed = program.run("nccl", "env", settings=settings)
            self.assertNotEqual(printed.returncode, 0)
            self.assertEqual(printed.stdout.splitlines()[-1], "false")
            done = subprocess.run(["sh", "-c", 'eval "$1"', "sh", printed.stdout], check=False)
            self.assertNotEqual(done.returncode, 0)


class Doctor(unittest.TestCase):
    def test_loopback_is_chosen_and_warned_of(self):
        found = findings("interface")
        self.assertTrue(any(each["grade"] == "ok" and each["what"].startswith("lo 127.0.0.1") for each in found), found)
        self.assertTrue(any(each["grade"] == "warn" and each["what"] == "lo is loopback" for each in found), found)

    def test_udp_opens(self):
        self.assertNotIn("fail", [each["grade"] for each in findings("udp")])

    def test_a_missing_plugin_fails_with_what_was_tried(self):
        [finding] = findings("plugin", NCCL_NET_PLUGIN="nosuchplugin")
        self.assertEqual(finding["grade"], "fail")
        self.assertIn("nosuchplugin, libnccl-net-nosuchplugin.so", finding["why"])

    def test_variables_of_another_network_are_reported(self):
        for network, grade in (("Socket", "warn"), ("IB", "fail")):
            grades = {each["what"].split(" ")[0]: each["grade"] for each in findings("variables", NCCL_NET=network)}
            self.assertEqual(grades, {"NCCL_NET_PLUGIN=heddle": "ok", f"NCCL_NET={network}": grade})

    def test_a_wrong_setting_fails_and_the_other_checks_run(self):
        found = findings("variables", HEDDLE_PATHS="many")
        self.assertEqual([each["what"] for each in found if each["grade"] == "fail"], ["cannot set paths to 'many'"])
        self.assertTrue(findings("interface", HEDDLE_PATHS="many"))

    def test_the_slot_of_the_profiler_is_resolved_as_nccl_does(self):
        found = findings("variables", NCCL_PROFILER_PLUGIN="nosuchplugin")
        [finding] = [each for each in found if each["what"].startswith("NCCL_PROFILER_PLUGIN")]
        self.assertEqual(finding["grade"], "warn")
        self.assertIn("nosuchplugin, libnccl-profiler-nosuchplugin.so", finding["why"])

    def test_the_tuner_without_figures_fails(self):
        self.assertEqual([each["grade"] for each in findings("tuner")], ["ok"])
        self.assertEqual([each["grade"] for each in findings("tuner", HEDDLE_NCCL_TUNER="on")], ["fail"])
        [finding] = findings("tuner", HEDDLE_NCCL_TUNER="on", HEDDLE_NCCL_NETWORK="/no/such.toml")
        self.assertEqual(finding["grade"], "fail")
        self.assertIn("/no/such.toml", finding["what"])
        [finding] = findings("tuner", HEDDLE_NCCL_TUNER="on", HEDDLE_NCCL_NET_GBPS="40", HEDDLE_NCCL_NET_US="20")
        self.assertEqual(finding["what"], "on: 40000000 kb/s between nodes, 20000 ns one way; every rank needs "
                                          "these figures")

    def test_the_folder_of_recordings_is_checked(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual([each["grade"] for each in findings("recording", HEDDLE_RECORD=folder)], ["ok"])
            file = os.path.join(folder, "file")
            with open(file, "w", encoding="utf-8"):
                pass
            self.assertEqual([each["grade"] for each in findings("recording", HEDDLE_RECORD=file)], ["fail"])

    def test_a_file_of_nics_for_other_hosts_is_warned_of(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as nics:
            nics.write('[[nic]]\nname = "nosuch0"\n')
            nics.flush()
            self.assertEqual([each["grade"] for each in findings("nics", HEDDLE_NCCL_NICS=nics.name)], ["warn"])

    def test_a_conf_file_counts_where_the_environment_is_silent(self):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
            conf.write("# of the site\nNCCL_TUNER_PLUGIN=other\nNCCL_NET=Socket\n")
            conf.flush()
            found = findings("variables", NCCL_CONF_FILE=conf.name)
        self.assertTrue(any(f"NCCL_TUNER_PLUGIN=other ({conf.name})" == each["what"] for each in found), found)
        self.assertTrue(any("NCCL_NET=heddle (the environment)" == each["what"] for each in found), found)

    def test_a_wrong_file_of_nics_fails_with_its_line(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as nics:
            nics.write('[[nic]]\nname = "lo"\nrails = 1\n')
            nics.flush()
            [finding] = findings("nics", HEDDLE_NCCL_NICS=nics.name)
        self.assertEqual(finding["grade"], "fail")
        self.assertIn(f"{nics.name}:3", finding["what"])

    def test_keys_that_others_read_fail(self):
        with tempfile.NamedTemporaryFile("w") as keys:
            keys.write("0" * 64 + "\n")
            keys.flush()
            os.chmod(keys.name, 0o644)
            [finding] = findings("keys", HEDDLE_KEY_FILE=keys.name)
        self.assertEqual(finding["grade"], "fail")

    def test_the_text_has_a_line_for_each_finding_and_a_sum(self):
        done = program.run("nccl", "doctor", settings=LOOPBACK)
        document = json.loads(program.run("nccl", "doctor", "--json", settings=LOOPBACK).stdout)
        lines = done.stdout.splitlines()
        for each in document["findings"]:
            self.assertTrue(any(line.startswith(f"{each['grade']:<4}  {each['topic']}") for line in lines), each)
        self.assertTrue(lines[-1].startswith(f"{document['failed']} failed, {document['warnings']} warnings"))


if __name__ == "__main__":
    unittest.main()
