#!/usr/bin/env python3
"""heddle size sites: the how-to's CSV and commands, damaged CSVs with their line, job files, prices and the page."""

import json
import pathlib
import re
import tempfile
import unittest

import program

HOW_TO = pathlib.Path(__file__).resolve().parents[2] / "docs/how-to/size_a_cluster.md"
JOB = ("--model", "llama-3-8b", "--gpus", "1024", "--zero", "2", "--site-km", "300", "--site-rate", "1.6T")
# Wind at night in the north, sun at noon in the south; made up.
WIND = [900 if hour < 7 or hour > 19 else 200 for hour in range(24)]
SUN = [max(0, 1400 - 200 * abs(hour - 12)) for hour in range(24)]


def csv(sites):
    return "site,hour,kwh\n" + "".join(f"{name},{hour},{value}\n" for name, kwh in sites.items()
                                       for hour, value in enumerate(kwh))


class SizeSites(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def written(self, text, name="surplus.csv"):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def run_here(self, *words):
        return program.run("size", *words, cwd=self.folder)

    def answer(self, *words, status=0):
        done = self.run_here("sites", "--surplus", "surplus.csv", *words, "--json")
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def figures(self, *words):
        return {figure["name"]: figure["value"] for figure in self.answer(*words)["figures"]}

    def test_the_csv_and_the_commands_of_the_how_to_work(self):
        page = HOW_TO.read_text(encoding="utf-8").split("## Sites on surplus power")[1].split("\n## ")[0]
        self.written(re.search(r"(?s)```csv\n(.*?)```", page).group(1))
        commands = re.search(r"(?s)```sh\n(.*?)```", page).group(1).replace("\\\n", "").strip().split("\n")
        self.assertEqual(len(commands), 2)
        for command in commands:
            done = self.run_here(*command.split()[2:])
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("advice: cheapest: ", done.stdout)

    def test_each_hour_is_the_surplus_over_the_power_of_a_gpu(self):
        self.written(csv({"north": WIND, "south": SUN}))
        answer = self.answer(*JOB)
        figures = {figure["name"]: figure["value"] for figure in answer["figures"]}
        self.assertAlmostEqual(figures["gpu_kw"], (700 + 10_200 / 8 - 700) * 1.2 / 1000)
        self.assertEqual(figures["surplus_kwh"], sum(WIND) + sum(SUN))
        (hours,) = (table for table in answer["tables"] if table["name"] == "hours")
        for hour, row in enumerate(hours["rows"]):
            powered = [min(512, kwh[hour] / figures["gpu_kw"]) // 8 * 8 for kwh in (WIND, SUN)]  # whole nodes
            self.assertEqual([row[2], row[4]], powered)
            # All sites in equal shares, or one of them.
            self.assertIn(row[5], {2 * min(powered), max(powered)})
            self.assertGreaterEqual(row[5], row[7])
        self.assertEqual(figures["powered_gpu_hours"], sum(row[5] for row in hours["rows"]))

    def test_the_exposed_share_is_that_of_size_cluster(self):
        self.written(csv({"north": [10_000], "south": [10_000]}))
        figures = self.figures(*JOB)
        cluster = json.loads(self.run_here("cluster", *JOB, "--sites", "2", "--json").stdout)
        step = {figure["name"]: figure["value"] for figure in cluster["figures"]}
        exposed = step["exposed_s"] / step["step_s"]
        self.assertAlmostEqual(figures["exposed_gpu_hours"] / figures["powered_gpu_hours"], exposed, places=9)

    def test_a_thin_link_moves_the_job_or_leaves_it_at_one_site(self):
        self.written(csv({"north": WIND, "south": SUN}))
        self.assertIn("most computation on surplus: one site at a time.", self.answer(*JOB[:-1], "1G")["advice"][0])
        self.written(csv({"north": WIND, "south": [0] * 24}))
        self.assertIn("most computation on surplus: all GPUs at north.", self.answer(*JOB[:-1], "1G")["advice"][0])

    def test_damaged_files_are_named_with_their_line(self):
        for text, why in (("", "no column 'site'"), ("site,hour,kwh\n", "it has no hours"),
                          ("site,hour\nn,0\n", "no column 'kwh'"), ("site,hour,kwh\nn,0\n", "surplus.csv:2"),
                          ("site,hour,kwh\nn,0,1\nn,2,1\n", "surplus.csv:3"), ("site,hour,kwh\nn,0,-1\n", "'-1'"),
                          ("site,hour,kwh\nn,0,nan\n", "'nan'"), ("site,hour,kwh\nn,0,inf\n", "'inf'"),
                          ("site,hour,kwh\nn,0,1e400\n", "'1e400'"), ("site,hour,kwh\n,0,1\n", "has no name"),
                          ("site,hour,kwh\nn,9000,1\n", "no hour from 0 to 8783"),
                          ("site,hour,kwh\nn,0,1\ns,0,1\ns,1,1\n", "'s' has 2 hours"),
                          ("site,hour,kwh\nn,0,1\ns,0,1\ne,0,1\n", "give --gpus a multiple of 3"),
                          ("site,hour,kwh\n" + "".join(f"n{i},0,1\n" for i in range(65)), "more than 64 sites")):
            with self.subTest(text=text):
                self.written(text)
                done = self.run_here("sites", "--surplus", "surplus.csv", *JOB)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(why, done.stderr)
        self.assertIn("none.csv", self.run_here("sites", "--surplus", "none.csv", *JOB).stderr)

    def test_surplus_that_powers_nothing_has_status_1(self):
        self.written(csv({"north": [0.5], "south": [0.5]}))
        answer = self.answer(*JOB, status=1)
        self.assertFalse(answer["sound"])
        self.assertIn("no hour's surplus powers a replica", answer["advice"][0])

    def test_a_job_that_does_not_fit_in_memory_has_status_1_and_what_fits(self):
        self.written(csv({"north": WIND, "south": SUN}))
        answer = self.answer("--model", "llama-3-8b", "--gpus", "1024", status=1)
        self.assertIn("it fits with --zero 2", answer["advice"][0])
        self.assertEqual(answer["figures"], [])

    def test_a_job_file_has_the_power_and_finds_the_csv_beside_it(self):
        self.written(csv({"north": WIND, "south": SUN}))
        asked = self.answer(*JOB, "--grid-price", "0.2", "--pue", "1.1", "--write", "job.toml")
        text = (self.folder / "job.toml").read_text(encoding="utf-8")
        self.assertRegex(text, r'(?s)\[power\].*surplus = "surplus.csv"')
        done = program.run("size", self.folder / "job.toml", "--json")
        self.assertEqual(json.loads(done.stdout), asked)

    def test_the_page_has_hours_distances_and_costs(self):
        self.written(csv({"north": WIND, "south": SUN}))
        self.answer(*JOB, "--gpu-price", "2", "--report", "sites.html")
        page = (self.folder / "sites.html").read_text(encoding="utf-8")
        for part in ("By hour", "By distance", "a GPU-hour of computation"):
            self.assertIn(part, page)


if __name__ == "__main__":
    unittest.main()
