#!/usr/bin/env python3
"""heddle size report: a recorded job's verdict, its measures and its trial agree with each other and with plan advise;
the sheet is one A4 page in English and Japanese, and on a phone's screen nothing is cut."""

import html
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
FULL = pathlib.Path("/dev/full")

# One spine as fast as a host: what crosses it from a leaf shares one link.
FABRIC = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 1
hosts_per_leaf = 2
[host_link]
rate = "40Mbit/s"
queue = "250KB"
mtu = 1500
[switch_link]
rate = "40Mbit/s"
queue = "250KB"
mtu = 1500
"""
# Two spines: connections have a choice of routes.
SPINES = FABRIC.replace("spines = 1", "spines = 2")
# Each hop of the ring crosses the spine.
RING = """version = 1
[[job]]
kind = "all_reduce"
algorithm = "ring"
bytes = "400KB"
count = 7
hosts = ["h0", "h2", "h1", "h3"]
"""
# On one leaf: the hosts' own links are all that it uses.
LEAF = RING.replace('["h0", "h2", "h1", "h3"]', '["h0", "h1"]')
# A computation that takes far longer than what is called before it.
HIDDEN = """version = 1
[[job]]
kind = "program"
ranks = 4
[[job.communicator]]
name = "all"
ranks = ["0..3"]
[[job.program]]
ranks = ["0..3"]
repeat = 6
actions = ["all_reduce all 40KB ring as b0", "compute 200ms", "wait b0"]
"""
MEASURES = ["number of paths", "planned paths", "order of ranks", "algorithm", "the job's program", "more bandwidth",
            "another fabric"]


class Recorded(unittest.TestCase):
    """Recordings of simulations, and their sheets."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="sheet-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        for name, text in (("fabric", FABRIC), ("spines", SPINES), ("ring", RING), ("leaf", LEAF), ("hidden", HIDDEN)):
            (cls.folder / f"{name}.toml").write_text(text, encoding="utf-8")
        for name, fabric in (("ring", "fabric"), ("leaf", "fabric"), ("hidden", "fabric"), ("ring", "spines")):
            done = cls.run_here("sim", "--topology", f"{fabric}.toml", "--workload", f"{name}.toml", "--trace",
                                f"{name}-{fabric}", "--initial-window", "64KB", "--burst", "64KB")
            assert done.returncode == 0, done.stderr
        cls.sheets = {}

    @classmethod
    def run_here(cls, *words, timeout=4 * program.PATIENCE_S, **more):
        return program.run(*words, cwd=cls.folder, timeout=timeout, **more)

    def sheet(self, job, fabric="fabric", *words, status=0):
        key = (job, fabric, *words)
        if key not in self.sheets:
            done = self.run_here("size", "report", f"{job}-fabric" if fabric != "spines" else f"{job}-spines",
                                 "--topology", f"{fabric}.toml", "--seeds", "2", *words, "--json")
            self.assertEqual(done.returncode, status, done.stderr)
            self.sheets[key] = json.loads(done.stdout)
        return self.sheets[key]


class Sheet(Recorded):
    def test_a_bad_order_of_ranks_is_a_go_with_the_better_order_first(self):
        sheet = self.sheet("ring")
        self.assertEqual(sheet["verdict"], "go")
        first = sheet["measures"][sheet["first"]]
        self.assertEqual((first["measure"], first["kind"], first["effort"]),
                         ("order of ranks", "rank_order", "setting"))
        # Two hops share each uplink, then one has it: half of the step.
        self.assertAlmostEqual(first["gain"]["mean"], 0.5, delta=0.06)
        self.assertIn("heddle run --hosts", first["todo"])
        self.assertIn("heddle run --hosts h0,h2,h1,h3", first["undo"])
        self.assertIn(first["change"], sheet["conclusion"])
        self.assertAlmostEqual(sheet["waiting"]["mean"], 1, delta=0.02)  # the job computes nothing

    def test_every_measure_is_answered_and_gains_what_the_fabric_says(self):
        sheet = self.sheet("ring")
        measures = [row["measure"] for row in sheet["measures"]]
        self.assertEqual(list(dict.fromkeys(measures)), MEASURES)
        changes = {row["change"]: row for row in sheet["measures"]}
        # Twice the rate of all links is half the step, and one switch has no link that two hops share.
        self.assertAlmostEqual(changes["all links at twice the rate"]["gain"]["mean"], 0.5, delta=0.06)
        self.assertAlmostEqual(changes["one switch for all hosts"]["gain"]["mean"], 0.5, delta=0.08)
        self.assertLess(changes["hosts' links at twice the rate"]["gain"]["mean"], 0.1)
        roce = changes["RoCE NICs on a lossless fabric"]
        self.assertEqual((roce["effort"], roce["host_cores"]), ("hardware", 0))
        self.assertNotEqual(roce["gain"]["mean"], 0)  # it was simulated, although links are slow
        for row in sheet["measures"]:
            with self.subTest(change=row["change"]):
                self.assertEqual(row["why_not"] == "gains", row["reason"] == "")
                if row["gain"]:
                    self.assertLessEqual(row["gain"]["low"], row["gain"]["mean"])
                    self.assertLessEqual(row["gain"]["mean"], row["gain"]["high"])
                    self.assertTrue(row["todo"] and row["undo"])

    def test_gains_are_those_of_plan_advise(self):
        done = self.run_here("plan", "advise", "ring-fabric", "--topology", "fabric.toml", "--seeds", "2", "--json")
        advised = {change["name"]: change["gain"] for change in json.loads(done.stdout)["changes"]}
        compared = 0
        for row in self.sheet("ring")["measures"]:
            if row["effort"] == "hardware" or row["in_use"] or not row["gain"]:
                continue
            self.assertEqual(row["gain"], advised[row["change"]], row["change"])
            compared += 1
        self.assertGreater(compared, 2)

    def test_the_trial_has_a_baseline_conditions_of_this_job_and_what_undoes_it(self):
        sheet = self.sheet("ring")
        first = sheet["measures"][sheet["first"]]
        self.assertEqual([stage["name"][:2] for stage in sheet["stages"]], ["1.", "2.", "3.", "4."])
        self.assertIn("record 30 steps", sheet["stages"][0]["todo"])
        self.assertIn("plan advise ring-fabric --topology fabric.toml --try ", sheet["stages"][1]["todo"])
        self.assertIn(first["change"], sheet["stages"][1]["proceed"])
        most = re.search(r"at most ([\d.]+) ms", sheet["stages"][2]["proceed"])
        self.assertAlmostEqual(float(most[1]), sheet["step_us"] / 1e3 * (1 - 0.7 * first["gain"]["low"]), delta=1)
        self.assertEqual(sheet["stages"][2]["undo"], first["undo"])

    def test_the_cpu_is_bytes_times_the_cost_of_a_gigabyte_over_the_step(self):
        sheet = self.sheet("ring", "fabric", "--cpu-per-gb", "50")
        # A ring of four sends 2 (n - 1) / n of 400 kB.
        self.assertAlmostEqual(sheet["sent_bytes"], 600e3, delta=100)
        self.assertAlmostEqual(sheet["host_cores"], 600e3 * 50e-9 / (sheet["step_us"] / 1e6), places=4)
        first = sheet["measures"][sheet["first"]]
        self.assertAlmostEqual(first["host_cores"], sheet["host_cores"] / (1 - first["gain"]["mean"]), places=4)

    def test_hidden_communication_is_a_no_go(self):
        sheet = self.sheet("hidden")
        self.assertEqual((sheet["verdict"], sheet["first"]), ("no_go", None))
        self.assertLess(sheet["waiting"]["high"], 0.02)
        self.assertIn("no network can gain more", sheet["conclusion"])
        self.assertEqual(sheet["waiting"]["mean"], 0)
        self.assertEqual({row["why_not"] for row in sheet["measures"] if row["gain"]}, {"hidden"})
        self.assertEqual(len(sheet["stages"]), 1)

    def test_a_job_that_its_hosts_links_bind_wants_hardware(self):
        sheet = self.sheet("leaf")
        first = sheet["measures"][sheet["first"]]
        self.assertEqual((sheet["verdict"], first["change"]), ("go", "hosts' links at twice the rate"))
        self.assertAlmostEqual(first["gain"]["mean"], 0.5, delta=0.06)
        self.assertIn("heddle verify --hosts", sheet["stages"][1]["todo"])
        self.assertEqual(self.sheet("leaf", "fabric", "--least-gain", "90%")["verdict"], "no_go")

    def test_paths_that_the_job_has_are_in_use_and_their_gain_is_against_one(self):
        row = self.sheet("ring", "spines")["measures"][0]
        self.assertEqual((row["measure"], row["change"], row["in_use"]),
                         ("number of paths", "16 paths of a connection", True))
        one = self.sheet("ring", "spines", "--paths", "1", "--bound", "1000")["measures"][0]
        self.assertFalse(one["in_use"])
        self.assertIn("paths of a connection instead of 1", one["change"])

    def test_gains_beyond_what_ranks_wait_are_the_simulations_error(self):
        (self.folder / "slow.toml").write_text(FABRIC.replace("40Mbit/s", "3.2Mbit/s"), encoding="utf-8")
        sheet = self.sheet("hidden", "slow")
        self.assertTrue(0.02 < sheet["off_by"] < 0.15, sheet["off_by"])
        self.assertEqual(sheet["verdict"], "no_go")
        self.assertTrue(any("that ranks wait: the simulation is off" in row["reason"] for row in sheet["measures"]))

    def test_the_trial_is_of_the_same_transport_and_undone_to_the_former_one(self):
        sheet = self.sheet("ring", "fabric", "--paths", "4", "--cc", "cubic", "--bound", "20")
        self.assertIn("--topology fabric.toml --paths 4 --bound 20", sheet["stages"][1]["todo"])
        paths = next(row for row in sheet["measures"] if row["kind"] == "paths")
        self.assertIn("HEDDLE_PATHS=", paths["undo"])

    def test_odd_fabrics_have_a_sheet(self):
        """Each ended the program: a changed fabric that no simulation takes."""
        link = '[[link]]\nends = ["{}", "{}"]\nrate = "{}"\nqueue = "250KB"\nmtu = 1500\n'
        hosts = "version = 1\n" + "".join(f'[[host]]\nname = "h{i}"\n' for i in range(2))
        direct = hosts + link.format("h0", "h1", "40Mbit/s")
        switch = '[[switch]]\nname = "s"\n'
        unlimited = hosts + switch + "".join(link.format(f"h{i}", "s", "unlimited") for i in range(2))
        tight = hosts + '[switches]\npfc = true\nbuffer = "50KB"\n' + switch + "".join(
            link.format(f"h{i}", "s", "40Mbit/s") + 'delay = "1ms"\n' for i in range(2))
        for name, text in (("direct", direct), ("unlimited", unlimited), ("tight", tight)):
            with self.subTest(name=name):
                (self.folder / f"{name}.toml").write_text(text, encoding="utf-8")
                done = self.run_here("size", "report", "leaf-fabric", "--topology", f"{name}.toml", "--seeds", "2",
                                     "--bound", "1000", "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("hosts' links at twice the rate",
                              [row["change"] for row in json.loads(done.stdout)["measures"]])

    def test_another_fabric_is_no_evidence(self):
        fast = FABRIC.replace("40Mbit/s", "400Mbit/s")
        (self.folder / "fast.toml").write_text(fast, encoding="utf-8")
        sheet = self.sheet("ring", "fast", status=1)
        self.assertEqual((sheet["verdict"], sheet["first"]), ("no_evidence", None))
        self.assertIn("is the bound", sheet["conclusion"])
        done = self.run_here("size", "report", "ring-fabric", "--topology", "fast.toml", "--seeds", "2")
        self.assertEqual((done.returncode, done.stdout.split("\n")[0]), (1, "NOT ENOUGH EVIDENCE"))

    def test_the_text_is_of_the_same_sheet_within_110_columns(self):
        done = self.run_here("size", "report", "ring-fabric", "--topology", "fabric.toml", "--seeds", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        sheet, text = self.sheet("ring"), " ".join(done.stdout.split())
        self.assertEqual(done.stdout.split("\n")[0], "GO")
        for part in (sheet["conclusion"], sheet["beside"], *(row["change"] for row in sheet["measures"]),
                     *(stage["proceed"] for stage in sheet["stages"]), *(stage["undo"] for stage in sheet["stages"])):
            self.assertIn(part, text)
        for line in done.stdout.split("\n"):
            self.assertLessEqual(len(line), 110, line)

    def test_what_cannot_be_written_or_read_is_named(self):
        base = ("size", "report", "ring-fabric", "--topology", "fabric.toml", "--seeds", "2")
        for words, why in ((("--report", "sheet.txt"), "ends in neither .html nor .pdf"),
                           (("--report", "none/sheet.html"), "none/sheet.html"),
                           (("--language", "fr"), "fr"), (("--least-gain", "2"), "--least-gain"),
                           (("--least-gain", "0.1%"), "below 0.5%"), (("--language", "ja"), "there is no page"),
                           (("--cpu-per-gb", "-1"), "--cpu-per-gb"), (("--seeds", "1"), "--seeds")):
            with self.subTest(words=words):
                done = self.run_here(*base, *words)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(why, done.stderr)
        done = self.run_here("size", "report", "nothing", "--topology", "fabric.toml")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("nothing", done.stderr)
        done = self.run_here(*base, "--report", "sheet.pdf", settings={"PATH": "/nowhere"})
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("install the package chromium", done.stderr)

    @unittest.skipUnless(FULL.exists(), "no /dev/full")
    def test_a_full_disk_is_named_and_leaves_no_page(self):
        (self.folder / "full.html").symlink_to(FULL)
        done = self.run_here("size", "report", "ring-fabric", "--topology", "fabric.toml", "--seeds", "2", "--report",
                             "full.html")
        self.assertEqual(done.returncode, 2)
        self.assertIn("full.html", done.stderr)

    def test_a_signal_ends_it_without_a_page(self):
        words = ("size", "report", "ring-fabric", "--topology", "fabric.toml", "--seeds", "100", "--report", "cut.html")
        with subprocess.Popen([program.HEDDLE, *words], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as running:
            while running.poll() is None and not program.catches(running.pid, signal.SIGINT):
                time.sleep(0.01)
            running.send_signal(signal.SIGINT)
            output, errors = running.communicate(timeout=program.PATIENCE_S)
        self.assertEqual((running.returncode, output), (130, ""), errors)
        self.assertFalse((self.folder / "cut.html").exists())


@unittest.skipUnless(BROWSER, "no chromium")
class Page(Recorded):
    # Simulations under sanitizers take several times as long; a page is not of the program.
    JOBS = (("hidden", "fabric"),) if program.sanitized() else (
        ("ring", "fabric"), ("hidden", "fabric"), ("leaf", "fabric"), ("ring", "fast"))

    def page(self, job, fabric, language="en", suffix="html"):
        (self.folder / "fast.toml").write_text(FABRIC.replace("40Mbit/s", "400Mbit/s"), encoding="utf-8")
        path = self.folder / f"{job}-{fabric}.{language}.{suffix}"
        done = self.run_here("size", "report", f"{job}-fabric", "--topology", f"{fabric}.toml", "--seeds", "2",
                             "--report", path.name, "--language", language)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return path

    def browser(self, *words):
        with tempfile.TemporaryDirectory(prefix="sheet-") as profile:
            return subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                                   *words], capture_output=True, text=True, timeout=200, check=True).stdout

    def drawn(self, path, width):
        """The page's elements after its script, and how much wider than the screen they are."""
        probe = path.with_name(f"probe-{width}.html")
        measure = ("<script>{ const root = document.documentElement; root.dataset.wide = root.scrollWidth - "
                   "root.clientWidth; }</script></body>")
        probe.write_text(path.read_text(encoding="utf-8").replace("</body>", measure), encoding="utf-8")
        # A window of Chromium is never narrower than 500: a frame is.
        frame = path.with_name("frame.html")
        frame.write_text(f"<iframe id=f src='{probe.name}' width={width} height=2000 style='border:0'></iframe><script>"
                         "f.onload = () => { const root = f.contentDocument.documentElement; "
                         "document.body.textContent = root.outerHTML; };</script>", encoding="utf-8")
        done = self.browser("--allow-file-access-from-files", "--virtual-time-budget=4000", "--dump-dom",
                            f"file://{frame}")
        return html.unescape(html.unescape(done)).split('<script id="words"')[0]  # without the data

    def noted(self, drawn, name):
        """An attribute that the page's scripts gave its root."""
        found = re.search(rf"""data-{name}=("[^"]*"|"\[.*?\]")[ >]""", drawn)
        return found.group(1).strip('"') if found else None

    def test_the_sheet_is_one_a4_page_in_both_languages(self):
        for job, fabric in self.JOBS:
            for language in ("en", "ja"):
                with self.subTest(job=job, fabric=fabric, language=language):
                    pdf = self.page(job, fabric, language, "pdf").read_bytes()
                    self.assertTrue(pdf.startswith(b"%PDF-"))
                    self.assertEqual(len(re.findall(rb"/Type\s*/Page\b", pdf)), 1)
                    box = re.search(rb"/MediaBox\s*\[0 0 ([\d.]+) ([\d.]+)\]", pdf)
                    self.assertEqual([round(float(side)) for side in box.groups()], [595, 842])

    def test_every_sentence_has_japanese_words(self):
        for job, fabric in self.JOBS:
            with self.subTest(job=job, fabric=fabric):
                drawn = self.drawn(self.page(job, fabric, "ja"), 1280)
                self.assertEqual(self.noted(drawn, "untranslated"), "[]")
                self.assertTrue('lang="ja"' in drawn)

    def test_nothing_is_wider_than_a_laptop_or_a_phone(self):
        for language in ("en", "ja"):
            path = self.page("ring", "fabric", language)
            for width in (1280, 390):
                with self.subTest(width=width, language=language):
                    self.assertEqual(self.noted(self.drawn(path, width), "wide"), "0")

    def test_a_signal_while_the_page_is_printed_ends_it_without_a_file(self):
        slow = self.folder / "slow"
        slow.mkdir()
        (slow / "chromium").write_text("#!/bin/sh\nsleep 1000\n", encoding="utf-8")
        (slow / "chromium").chmod(0o755)
        place = self.folder / "tmp"
        place.mkdir()
        words = ("size", "report", "leaf-fabric", "--topology", "fabric.toml", "--seeds", "2", "--report", "cut.pdf")
        environment = {**os.environ, "PATH": f"{slow}:{os.environ['PATH']}", "TMPDIR": str(place)}
        with subprocess.Popen([program.HEDDLE, *words], cwd=self.folder, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, env=environment) as running:
            deadline = time.monotonic() + program.PATIENCE_S
            while not list(place.iterdir()) and time.monotonic() < deadline:
                time.sleep(0.05)
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=program.PATIENCE_S)
        self.assertEqual(running.returncode, 130, errors)
        self.assertEqual(list(place.iterdir()), [])
        self.assertFalse((self.folder / "cut.pdf").exists())

    def test_the_page_shows_the_figures_of_the_json(self):
        sheet = self.sheet("ring")
        drawn = self.drawn(self.page("ring", "fabric"), 1280)
        self.assertTrue(sheet["conclusion"] in drawn)
        for row in sheet["measures"]:
            if row["gain"]:
                self.assertTrue(f'{100 * row["gain"]["mean"]:.1f}%' in drawn, row["change"])
            self.assertTrue(row["change"] in drawn, row["change"])

    def test_a_name_that_is_markup_stays_text(self):
        hostile = "<img src=x onerror=alert(1)>"
        shutil.copytree(self.folder / "ring-fabric", self.folder / hostile)
        path = self.folder / "hostile.html"
        done = self.run_here("size", "report", hostile, "--topology", "fabric.toml", "--seeds", "2", "--report", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse("<img" in path.read_text(encoding="utf-8"))
        probe = path.with_name("marked.html")
        count = "<script>document.title = document.images.length + ' images';</script></body>"
        probe.write_text(path.read_text(encoding="utf-8").replace("</body>", count), encoding="utf-8")
        self.assertTrue("<title>0 images</title>" in self.browser("--dump-dom", f"file://{probe}"))


if __name__ == "__main__":
    unittest.main()
