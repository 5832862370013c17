#!/usr/bin/env python3
"""heddle verify report --language: a report's page again in other words, without a test; what has no translation fails.

Catalogues are files of apps/cli/pages/words; a browser, where there is one, draws the page of a report and lists the
sentences that it found no words for."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "apps/cli/pages/verify.html").read_text(encoding="utf-8")
CATALOGUES = sorted((ROOT / "apps/cli/pages/words").glob("*.json"))
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
# Of the report: what a row may say, a failed one too.
ROWS = (("goodput", "h0 to h1", "9.0 Mb/s, 47% of what the links carry", "at least 13.2 Mb/s", "fail",
         "see the links and hosts that this stage names; else repeat it with --full"),
        ("link rate", "leaf0 to spine1", "4.1 Mb/s", "at least 6.5 Mb/s of 10.0 Mb/s", "fail",
         "it carries less than its rate: check the negotiated speed, lanes and optics at both ends, and rate limits "
         "of the port"),
        ("MTU", "24 of 24 ports", "1500 bytes", "1500 bytes", "pass", None))


def report(verdict="FAIL"):
    rows = [dict(zip(("check", "where", "measured", "expected", "grade", "todo"), row)) for row in ROWS]
    stage = {"name": "pairs", "title": "Throughput and latency of pairs", "outcome": "failed", "reason": None,
             "started": "2026-11-25 18:46:00 UTC", "seconds": 1.5, "rows": rows, "commands": ["heddle perf h1"],
             "loads": [], "data": {}}
    load = {"peak_bits_per_s": 4e6, "bytes": 1000, "dropped": 0, "errors": 0}
    link = {"a": "h0", "b": "leaf0", "label": "h0 - leaf0", "rate_bits_per_s": 1e7, "named": False,
            "forward": load, "backward": load}
    return {"verdict": verdict, "summary": "0 of 1 stages passed; 2 checks failed, 0 warnings, 1 passed",
            "fabric": "rack7", "topology": "rack7.toml", "emulated": True, "started": "2026-11-25 18:45:19 UTC",
            "seconds": 37.0, "depth": "quick", "coverage": "full", "signal": 0, "complete": True, "asked": {},
            "failed": 2, "warnings": 0, "passed": 1, "others_busy_share": 0.1, "headlines": [
                {"label": "latency", "value": "14 us", "note": "stage pairs"}], "stages": [stage],
            "nodes": [{"name": "h0", "tier": 0, "named": False}, {"name": "leaf0", "tier": 1, "named": False}],
            "links": [link], "versions": {"heddle": "0.1.0", "kernel": "Linux", "machine": "x86_64, 2 processors"},
            "notes": ["coverage ring: 4 of 12 pairs of hosts are measured"]}


class Language(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rp")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "report.json").write_text(json.dumps(report()), encoding="utf-8")

    def write(self, *words):
        return program.run("verify", "report", self.folder, *words)

    def test_catalogues_have_the_fields_of_their_templates(self):
        self.assertTrue(CATALOGUES)
        keys = []
        for path in CATALOGUES:
            catalogue = json.loads(path.read_text(encoding="utf-8"))
            self.assertEqual(catalogue["language"], path.stem)
            words = catalogue["words"]
            keys.append({template for template, _ in words})
            self.assertEqual(len(keys[-1]), len(words), f"{path.name} has a template twice")
            for template, translated in words:
                self.assertTrue(translated, template)
                used = {int(each) for each in re.findall(r"\{(\d+)\}", translated)}
                self.assertEqual(used, set(range(template.count("{}"))), template)
        self.assertTrue(all(each == keys[0] for each in keys), "catalogues with other templates")

    def test_titles_of_charts_and_stages_are_in_every_catalogue(self):
        stages = (ROOT / "acceptance/acceptance.cc").read_text(encoding="utf-8")
        wanted = set(re.findall(r'Stage\{"\w+", "([^"]+)"', stages))
        wanted |= set(re.findall(r'make\("(?:h3|summary)", \{\}, "([^"+]+)"\)', PAGE))
        self.assertGreater(len(wanted), 10)
        for path in CATALOGUES:
            known = {template for template, _ in json.loads(path.read_text(encoding="utf-8"))["words"]}
            self.assertEqual(wanted - known, set(), f"{path.name} lacks them")

    def test_a_report_is_written_again_with_the_same_data(self):
        done = self.write("--language", "ja")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (self.folder / "report.ja.html").read_text(encoding="utf-8")
        self.assertIn('<html lang="ja">', page)
        self.assertIsNone(re.search(r"@[A-Z]+@", page))
        self.assertEqual(program.page_data(self.folder / "report.ja.html"), report())
        self.assertEqual(self.write().returncode, 0)
        self.assertIn('<html lang="en">', (self.folder / "report.html").read_text(encoding="utf-8"))

    def test_what_cannot_be_written_is_refused(self):
        (self.folder / "SHA256SUMS.sig").write_text("signed", encoding="utf-8")
        done = self.write("--language", "ja")
        self.assertEqual(done.returncode, 2)
        self.assertIn("its signature would no longer fit", done.stderr)
        self.assertFalse((self.folder / "report.ja.html").exists())
        (self.folder / "report.json").write_text("{}", encoding="utf-8")
        self.assertEqual(self.write().returncode, 2)
        self.assertNotEqual(self.write("--language", "xx").returncode, 0)

    def test_without_a_browser_there_is_no_pdf_and_a_clear_answer(self):
        done = program.run("verify", "report", self.folder, "--pdf", settings={"PATH": "/nonexistent"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("install the package chromium", done.stderr)
        self.assertFalse((self.folder / "report.pdf").exists())

    @unittest.skipUnless(BROWSER, "there is no chromium")
    def test_a_pdf_is_printed_and_nothing_is_left(self):
        with tempfile.TemporaryDirectory(prefix="rp") as place:
            done = program.run("verify", "report", self.folder, "--language", "ja", "--pdf",
                               settings={"TMPDIR": place, "HOME": place})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(list(pathlib.Path(place).iterdir()), [])
        self.assertEqual((self.folder / "report.ja.pdf").read_bytes()[:5], b"%PDF-")

    @unittest.skipUnless(BROWSER, "there is no chromium")
    def test_a_browser_finds_words_for_every_sentence(self):
        self.assertEqual(self.write("--language", "ja").returncode, 0)
        drawn = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
                                f"--user-data-dir={self.folder}/profile", "--dump-dom",
                                f"file://{self.folder}/report.ja.html"],
                               capture_output=True, text=True, timeout=60, check=False).stdout
        self.assertIn('data-untranslated="[]"', drawn)
        for text in ("検収試験報告書", "不合格", "h0 → h1", "リンク上限の 47%", "10.0 Mb/s のうち 6.5 Mb/s 以上"):
            self.assertIn(text, drawn)


if __name__ == "__main__":
    unittest.main()
