#!/usr/bin/env python3
"""heddle size --report: a page that holds the answer, and calculates what heddle size does."""

import itertools
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import program

NODE = shutil.which("node") or shutil.which("nodejs")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
# The script of the page, run for each line of the standard input.
RUN = """
const lines = require("fs").readFileSync(0, "utf8").trim().split("\\n");
const model = JSON.parse(lines[0]).model;
for (const line of lines.slice(1)) console.log(JSON.stringify(sizeFormulas.cluster(model, JSON.parse(line))));
"""
# Jobs with each kind of parallelism, and of exchange; their replicas, and sequences of a replica.
JOBS = (
    (("--model", "llama-3-8b"), (1, 2, 64, 96), 1),
    (("--model", "llama-3-70b", "--tensor", "8", "--pipeline", "4", "--zero", "1", "--gpu", "b200"), (4, 24), 16),
    (("--model", "llama-3-70b", "--tensor", "2", "--context", "2", "--zero", "3", "--sequence-parallel",
      "--oversubscription", "2"), (8, 36), 2),
    (("--model", "deepseek-v3", "--expert", "16", "--pipeline", "2", "--zero", "2", "--recompute"), (32, 96), 4),
    (("--model", "llama-3-8b", "--site-loss", "1e-4", "--site-window", "8M", "--rtt", "1us"), (16, 48), 2),
    (("--model", "llama-3-8b", "--site-loss", "1%", "--site-selective-repeat", "--gpus-per-node", "4"), (16,), 1),
)
SITES = (1, 2, 4)
RATES = (("100G", "3.2T"), ("1.6T", "400G"))
OVERLAPS = (0.1, 1)
DISTANCES = (0, 80, 4000)


def fits(words, replicas, sites):
    """Whether sites share the replicas, and no expert parallel group spans two."""
    given = dict(zip(words, words[1:]))
    expert, context = (int(given.get(name, "1")) for name in ("--expert", "--context"))
    return replicas % sites == 0 and replicas // sites * context % expert == 0


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "report.html"

    def page(self, *words):
        done = program.run("size", *words, "--report", self.path, "--json")
        self.assertIn(done.returncode, (0, 1), done.stderr)  # 1: it does not fit in memory
        text = self.path.read_text(encoding="utf-8")
        self.assertIsNone(re.search(r"@[A-Z]+@", text))
        return text, program.page_data(self.path), json.loads(done.stdout)

    def test_a_page_holds_the_answer_and_needs_no_network(self):
        for words in (("cluster", "--model", "llama-3-8b", "--gpus", "64"), ("distance", "--km", "100"), ("headroom",),
                      ("overlap", "--parameters", "1B", "--backward", "1s"), ("messages",),
                      ("traffic", "--model", "llama-3-8b", "--gpus", "16")):
            with self.subTest(words=words):
                text, data, answer = self.page(*words)
                self.assertNotIn("http", text.replace("http://www.w3.org/2000/svg", ""))
                for part in ("title", "figures", "tables", "charts", "advice", "assumptions"):
                    self.assertEqual(data[part], answer[part])
                self.assertEqual(data["what_if"] is not None, words[0] == "cluster")
                self.assertIn(f'question = "{words[0]}"', data["job_file"])

    def asked(self, words, replicas, batch, changed):
        nic, link, overlap, sites, km = changed
        done = program.run("size", "cluster", *words, "--data", replicas, "--batch", replicas * batch, "--nic-rate",
                           nic, "--site-rate", link, "--overlap", overlap, "--sites", sites, "--site-km", km, "--json")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    @unittest.skipIf(NODE is None, "no node on this machine")
    def test_the_page_calculates_as_the_program_does(self):
        compared, figures_seen = 0, set()
        for words, replicas, batch in JOBS:
            # The page of one job calculates all others.
            text, data, _ = self.page("cluster", *words, "--data", replicas[0], "--batch", replicas[0] * batch)
            script = re.search(r'<script id="formulas">(.*?)</script>', text, re.DOTALL).group(1)
            grid = []
            for count, (nic, link), overlap, sites in itertools.product(replicas, RATES, OVERLAPS, SITES):
                if fits(words, count, sites):
                    grid += [(count, (nic, link, overlap, sites, km)) for km in (DISTANCES if sites > 1 else (0,))]
            grid = program.sample(grid, every=8)
            bits = {"100G": 1e11, "400G": 4e11, "1.6T": 1.6e12, "3.2T": 3.2e12}
            lines = [json.dumps(data["what_if"])] + [
                json.dumps({"replicas": count, "nic_bits_per_s": bits[nic], "site_bits_per_s": bits[link],
                            "overlap": overlap, "sites": sites, "site_km": km})
                for count, (nic, link, overlap, sites, km) in grid]
            done = subprocess.run([NODE, "-e", script + RUN], input="\n".join(lines), capture_output=True, text=True,
                                  check=True)
            found = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual(len(found), len(grid))
            for (count, changed), calculated in zip(grid, found):
                answer = self.asked(words, count, batch, changed)
                with self.subTest(words=words, replicas=count, changed=changed):
                    figures_seen |= self.expect_same(answer, calculated)
                    compared += 1
        self.assertEqual(compared, 39 if program.sanitized() else 304)  # docs/how-to/size_a_cluster.md says so
        self.assertEqual(figures_seen, {
            "compute_s", "layers_s", "data_s", "buckets", "last_bucket_s", "data_nic_bytes", "window_s", "exposed_s",
            "step_s", "tokens_per_s", "needed_wire_bits_per_s", "needed_bisection_bits_per_s", "port_buffer_bytes",
            "site_bytes", "site_round_trip_s", "site_lossless_bits_per_s", "site_goodput_bits_per_s", "site_s",
            "site_most_km", "needed_site_bits_per_s", "site_window_bytes", "site_buffer_bytes",
            "site_lossless_buffer_bytes"})

    def expect_same(self, answer, calculated):
        """The names of the figures that both have; all of the program's that are about sites."""
        figures = {figure["name"]: figure["value"] for figure in answer["figures"]}
        both = figures.keys() & calculated.keys()
        for name in both:
            # Differences of nearly equal values lose digits.
            delta = 1e-9 * abs(figures[name]) + (1e-9 if name.endswith("_km") else 1e-12)
            self.assertAlmostEqual(calculated[name], figures[name], delta=delta, msg=name)
        self.assertEqual({name for name in figures if "site" in name}, {name for name in calculated if "site" in name})
        limits = next(table["rows"] for table in answer["tables"] if table["name"] == "limits")
        self.assertEqual([row[0] for row in limits], [limit[0] for limit in calculated["limits"]])
        for (name, *program_has, _), (_, *page_has) in zip(limits, calculated["limits"]):
            for one, other in zip(program_has, page_has):
                self.assertAlmostEqual(one, other, delta=1e-9 * abs(one), msg=name)
        return both

    @unittest.skipIf(BROWSER is None, "no chromium on this machine")
    def test_the_page_works_in_a_browser(self):
        _, _, answer = self.page("cluster", "--model", "llama-3-8b", "--gpus", "64", "--sites", "2", "--site-km", "80")
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
                               f"--user-data-dir={self.path.parent}/browser", "--dump-dom", f"file://{self.path}"],
                              capture_output=True, text=True, timeout=200, check=False)
        self.assertIn('data-ready="yes"', done.stdout, done.stderr[-2000:])
        step = next(figure["value"] for figure in answer["figures"] if figure["name"] == "step_s")
        shown = float(re.search(r'data-step="([^"]+)"', done.stdout).group(1))
        self.assertAlmostEqual(shown, step, delta=1e-9 * step)


if __name__ == "__main__":
    unittest.main()
