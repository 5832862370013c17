#!/usr/bin/env python3
"""heddle monitor --gpus with programs that print what nvidia-smi prints: alone, beside a job, and when they fail."""

import json
import os
import pathlib
import signal
import tempfile
import time
import unittest
import urllib.request

import program
from monitor_test import processes_with, wait_until

ROWS = """0, GPU-b9e0a0b1, NVIDIA H100 80GB HBM3, 97, 61000, 81559, 412.50, 61, 1980, 0x0000000000000040
1, GPU-0c2f7a4e, NVIDIA H100 80GB HBM3, [N/A], 4, 81559, [Unknown Error], 33, 345, [N/A]
"""


class Gpus(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-gpus-test-")
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)
        self.job = self.place / "job"

    def nvidia_smi(self, text):
        """Replaces the program; `text` is of a shell."""
        new = self.place / "new"
        new.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        new.chmod(0o755)
        new.rename(self.place / "nvidia-smi")

    def settings(self):
        return {"PATH": f"{self.place}:/usr/bin:/bin"}

    def monitor(self, *words):
        return program.started("monitor", *words, "--gpus", "--gpus-every", "500ms", "--serve", "127.0.0.1:0",
                               settings=self.settings())

    @staticmethod
    def metrics(monitor):
        """{name and labels: value} of its page."""
        root = monitor.wait_for(" at http://").split()[-1].removesuffix("metrics")
        with urllib.request.urlopen(root + "metrics", timeout=program.PATIENCE_S) as answer:
            lines = answer.read().decode().splitlines()
        return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))

    def wait_for_metric(self, monitor, name, value):
        def found():
            shown = self.metrics(monitor)
            return any(each.startswith(name + "{") and shown[each] == value for each in shown)
        wait_until(found)
        return self.metrics(monitor)

    def figures(self, metrics, gpu):
        """{name: value} of the figures of one GPU."""
        return {name.partition("{")[0].removeprefix("heddle_gpu_"): float(value) for name, value in metrics.items()
                if f'gpu="{gpu}"' in name and "info" not in name and "reason" not in name}

    def test_gpus_alone_are_served_until_ctrl_c(self):
        self.nvidia_smi(f"cat <<E\n{ROWS}E")
        with self.monitor() as monitor:
            shown = self.wait_for_metric(monitor, "heddle_gpu_reading_ok", "1")
            self.assertEqual(self.figures(shown, 0),
                             {"utilization_ratio": 0.97, "memory_used_bytes": 61000 * 2**20,
                              "memory_bytes": 81559 * 2**20, "power_watts": 412.5, "temperature_celsius": 61,
                              "sm_clock_hertz": 1.98e9})
            self.assertEqual(self.figures(shown, 1).keys(),
                             {"memory_used_bytes", "memory_bytes", "temperature_celsius", "sm_clock_hertz"})
            limits = {name: value for name, value in shown.items() if "clock_limited" in name}
            self.assertEqual([name.split('reason="')[1][:-2] for name, value in limits.items() if value == "1"],
                             ["hw_thermal_slowdown"])
            self.assertFalse(any("heddle_monitor" in name for name in shown))
            monitor.signal(signal.SIGINT)
            self.assertEqual(monitor.wait(), 130, monitor.said())

    def test_beside_a_job_its_metrics_are_there_too(self):
        self.nvidia_smi(f"cat <<E\n{ROWS}E")
        with self.monitor(self.job) as monitor:
            shown = self.wait_for_metric(monitor, "heddle_gpu_reading_ok", "1")
            self.assertTrue(any(name.startswith("heddle_monitor_build_info{") for name in shown))
            root = monitor.wait_for(" at http://").split()[-1].removesuffix("metrics")
            with urllib.request.urlopen(root + "state.json", timeout=program.PATIENCE_S) as answer:
                state = json.load(answer)
            self.assertEqual([(gpu["gpu"], gpu["utilization"], gpu["power_watts"]) for gpu in state["gpus"]],
                             [(0, 0.97, 412.5), (1, None, None)])
            self.assertEqual(state["gpus_complaint"], "")

    def test_a_failure_is_reported_once_and_the_figures_come_back(self):
        self.nvidia_smi("echo 'NVIDIA-SMI has failed'; exit 9")
        with self.monitor(self.job) as monitor:
            shown = self.wait_for_metric(monitor, "heddle_gpu_reading_ok", "0")
            self.assertEqual(self.figures(shown, 0), {})
            monitor.wait_for("cannot read all GPUs by nvidia-smi: it ended with 9: NVIDIA-SMI has failed")
            wait_until(lambda: self.readings(monitor, "failed") >= 3)
            self.nvidia_smi("kill -9 $$")
            monitor.wait_for("signal 9 ended it")
            self.nvidia_smi("echo Welcome")
            monitor.wait_for("it printed 'Welcome', which is no row of figures")
            self.nvidia_smi(f"cat <<E\n{ROWS}E")
            self.assertTrue(self.figures(self.wait_for_metric(monitor, "heddle_gpu_reading_ok", "1"), 0))
            self.assertEqual(sum("it ended with 9" in line for line in monitor.errors), 1, monitor.said())

    def readings(self, monitor, result):
        return sum(float(value) for name, value in self.metrics(monitor).items()
                   if name.startswith("heddle_gpu_readings_total") and f'"{result}"' in name)

    def test_one_that_hangs_ends_with_the_monitor(self):
        mark = f"3{os.getpid()}{time.monotonic_ns() % 1_000_000}"  # of no other test
        self.nvidia_smi(f"sleep {mark} & wait")
        with self.monitor() as monitor:
            wait_until(lambda: processes_with("sleep", mark))
            self.metrics(monitor)
            monitor.signal(signal.SIGTERM)
            self.assertEqual(monitor.wait(), 143, monitor.said())
        wait_until(lambda: not processes_with("sleep", mark))

    def test_impossible_options_are_refused(self):
        serve = ("--serve", "127.0.0.1:0")
        for options, words in (((*serve,), "there is no program nvidia-smi"),
                               ((self.job, *serve), "there is no program nvidia-smi"),
                               ((self.job,), "--serve"),
                               ((self.job, *serve, "--hosts", "node1"), "--hosts"),
                               ((*serve, "--site", "nats://127.0.0.1:1/x"), "--site"),
                               ((*serve, "--policy", "steer.toml"), "cannot watch GPUs alone with --policy"),
                               ((*serve, "--on-change", "true"), "cannot watch GPUs alone with --on-change"),
                               ((*serve, "--json"), "cannot watch GPUs alone with --json"),
                               ((self.job, *serve, "--gpus-every", "1ms"), "too short")):
            with self.subTest(options=options):
                done = program.run("monitor", "--gpus", *options, settings={"PATH": str(self.place)})
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)
        done = program.run("monitor", self.job, *serve, "--gpus-every", "1s")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--gpus", done.stderr)


if __name__ == "__main__":
    unittest.main()
