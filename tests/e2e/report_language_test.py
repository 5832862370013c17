#!/usr/bin/env python3
"""heddle verify report --language: a report's page again in other words, without a test; what has no translation fails.

Catalogues are files of apps/cli/pages/words; a browser, where there is one, draws the page of a report and lists the
sentences that it found no words for."""

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
import urllib.parse

import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "apps/cli/pages/verify.html").read_text(encoding="utf-8")
CATALOGUES = sorted((ROOT / "apps/cli/pages/words").glob("*.json"))
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
NODE = shutil.which("node") or shutil.which("nodejs")
FIELD = re.compile(r"\{[nqwhtf]?\}")  # of a template, see apps/cli/pages/translator.js
SAMPLES = {"{}": "abc", "{t}": "h0 - leaf0", "{n}": "12", "{q}": "9.0 Mb/s", "{w}": "h0", "{h}": "h0, h1"}
# Sources whose rows, notes, reasons and headlines a report shows.
SAYING = [*sorted(path for path in (ROOT / "acceptance/stages").glob("*.cc") if not path.stem.endswith("_test")),
          *(ROOT / "acceptance" / name for name in ("acceptance.cc", "good_group.cc", "headlines.cc", "host_facts.cc",
                                                    "link_verdicts.cc", "machine_addresses.cc", "machine_rows.cc",
                                                    "nic_rows.cc", "rank_cores.cc", "run_counts.cc",
                                                    "value_votes.cc", "machine/driver_settings.cc",
                                                    "machine/firewall.cc", "machine/gpus.cc", "machine/pcie.cc",
                                                    "machine/machine_facts.cc", "fabrics/machines.cc")),
          ROOT / "nodes/rdma_ports.cc"]
# Of texts that are put together of several, or with a field.
PIECES = {"pair", "pairs", "ahead", "behind", "{} ranks", "from ", "from random weights", "stage collectives",
          "stage pairs"}
NOT_SHOWN = re.compile(r"--[\w-]+|env|resnet18|heddle_torch\.train|\{\}ms|[a-z]+(_[a-z0-9]+)+|perf|bw|lat|"
                       r"write \{\}=ADDRESS, .*")
# Of the verdicts of diagnosis, which the stage traffic shows: what is wrong, what to do, and advice of path_faults.cc.
VERDICTS = [ROOT / "insight/diagnosis.cc", *sorted(path for path in (ROOT / "insight/diagnosis").glob("*.cc")
                                                   if not path.stem.endswith("_test"))]
SAYS = re.compile(r"verdict\.(?:summary|action) =|advice_for\(history\.place, |"
                  r"advice_for\(const Place& place, const char\* what\) \{")
# What a row, a note or a reason is made by; each up to the end of its parentheses, braces or statement.
MAKES = re.compile(r"(rows_?\.push_back|add_fail|add_reason|\badd|Row row|Headline made|notes_?\.push_back|"
                   r"leave_host_out)[({]|"
                   r"\b(?:measured|expected|todo|note|value|reason|complaint|stopped_by)\w* \+?= |"
                   r"(?:const (?:std::string|char\*) )(?:expected|todo|kTodo|measured)\b|return fmt::format")
# Of the report: what a row may say, a failed one too.
ROWS = (("goodput", "h0 to h1", "9.0 Mb/s, 47% of what the links carry", "at least 13.2 Mb/s", "fail",
         "see the links and hosts that this stage names; else repeat it with --full"),
        ("link rate", "leaf0 to spine1", "4.1 Mb/s", "at least 6.5 Mb/s of 10.0 Mb/s", "fail",
         "it carries less than its rate: check the negotiated speed, lanes and optics at both ends, and rate limits "
         "of the port"),
        ("reach", "all", "its processes are stopped", "they run", "fail",
         "see what stopped them (SIGSTOP, a frozen cgroup, a debugger) on all"),
        ("reach", "2 of 6 pairs", "answered, payload unchanged", "all", "pass", None),
        ("left out", "h1", "h0 to h1, reach: no answer in time", "", "warn", "mend it, then test the fabric again"),
        ("largest good group", "2 of 4 hosts", "h0, all do not work together", "the rest works", "fail",
         "what is left out is not the only fault: see the rows below"),
        ("MTU", "24 of 24 ports", "1500 bytes", "1500 bytes", "pass", None))


def report(verdict="FAIL"):
    rows = [dict(zip(("check", "where", "measured", "expected", "grade", "todo"), row)) for row in ROWS]
    stage = {"name": "pairs", "title": "Throughput and latency of pairs", "outcome": "failed", "reason": None,
             "started": "2026-11-25 18:46:00 UTC", "seconds": 1.5, "rows": rows, "commands": ["heddle perf h1"],
             "loads": [], "data": {}}
    load = {"peak_bits_per_s": 4e6, "bytes": 1000, "dropped": 0, "errors": 0}
    link = {"a": "h0", "b": "leaf0", "label": "h0 - leaf0", "rate_bits_per_s": 1e7, "named": False,
            "forward": load, "backward": load}
    return {"verdict": verdict,
            "summary": "0 of 1 stages passed; 2 checks failed, 0 warnings, 1 passed, 1 for information",
            "fabric": "rack7", "topology": "rack7.toml", "emulated": True, "started": "2026-11-25 18:45:19 UTC",
            "seconds": 37.0, "depth": "quick", "coverage": "full", "signal": 0, "complete": True, "asked": {},
            "failed": 2, "warnings": 0, "passed": 1, "information": 1, "others_busy_share": 0.1, "headlines": [
                {"label": "latency", "value": "14 us", "note": "stage pairs"}], "stages": [stage],
            "nodes": [{"name": "h0", "tier": 0, "named": False}, {"name": "all", "tier": 0, "named": True},
                      {"name": "leaf0", "tier": 1, "named": False}],
            "links": [link], "versions": {"heddle": "0.1.0", "kernel": "Linux", "machine": "x86_64, 2 processors"},
            "notes": ["coverage ring: 4 of 12 pairs of hosts are measured"]}


def is_running(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def skeleton(text):
    """Its literal text: fields of any kind as {}."""
    return re.sub(r"\{[^{}]*\}", "{}", text)


def statement(source, start):
    """From `start` to the end of the parentheses, braces or statement that begin before it."""
    depth, quoted = 0, False
    for at in range(start, len(source)):
        each = source[at]
        if each == '"' and source[at - 1] != "\\":
            quoted = not quoted
        if quoted:
            continue
        depth += (each in "({") - (each in ")}")
        if depth < 0 or (each == ";" and depth <= 0):
            return source[start:at]
    return source[start:]


def shown_texts(path):
    """The literals of a source that go into a report: whole texts, and pieces of a longer one."""
    source = re.sub(r'R"\w*\(.*?\)\w*"', '""', path.read_text(encoding="utf-8"), flags=re.DOTALL)
    source = re.sub(r"^\s*//.*$|  // .*$", "", source, flags=re.MULTILINE)
    source = re.sub(r'(?<!\\)"\s*\n\s*"', "", source)  # literals side by side are one
    texts = set()
    for made in MAKES.finditer(source):
        part = statement(source, made.end())
        part = re.sub(r'\b(?:value|at|contains|number_of|find)\([^()]*"[^()]*\)', "", part)  # keys of documents
        texts |= set(re.findall(r'"((?:[^"\\]|\\.)*)"', part))
    return {skeleton(text) for text in texts
            if re.search(r"[a-z]{2}", skeleton(text).replace("{}", "")) and not NOT_SHOWN.fullmatch(skeleton(text))}


def translated(texts, catalogue, names=()):
    """What the page's script makes of texts: a list of [translation, template or None], and what it notes."""
    script = ((ROOT / "apps/cli/pages/translator.js").read_text(encoding="utf-8") + f"""
const made = translator({json.dumps(catalogue)}, new Set({json.dumps(list(names))}));
const found = {json.dumps(texts)}.map((text) => [made.say(text), made.match(text)?.from ?? null]);
const answer = JSON.stringify([found, [...made.untranslated]]);""")
    if NODE:
        done = subprocess.run([NODE, "-e", script + "\nconsole.log(answer);"], capture_output=True, text=True,
                              timeout=200, check=True)
        return json.loads(done.stdout)
    with tempfile.TemporaryDirectory(prefix="rp") as place:
        page = pathlib.Path(place, "page.html")
        page.write_text(f"<meta charset=utf-8><pre id=p></pre><script>{script}\np.textContent = answer;</script>",
                        encoding="utf-8")
        drawn = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
                                f"--user-data-dir={place}/profile", "--dump-dom", f"file://{page}"],
                               capture_output=True, text=True, timeout=200, check=True)
        return json.loads(html.unescape(re.search("<pre[^>]*>(.*?)</pre>", drawn.stdout, re.DOTALL).group(1)))


def catalogues():
    return [json.loads(path.read_text(encoding="utf-8")) for path in CATALOGUES]


@unittest.skipUnless(NODE or BROWSER, "there is neither node nor chromium")
class Words(unittest.TestCase):
    def test_each_template_is_the_one_that_its_own_text_matches(self):
        """`{} work together` once took "h1, h2 do not work together", and the page said the opposite."""
        for catalogue in catalogues():
            templates = [template for template, _ in catalogue["words"]
                         if FIELD.search(template) and "{f}" not in template]
            samples = [FIELD.sub(lambda field: SAMPLES[field.group()], each) for each in templates]
            found, _ = translated(samples, catalogue)
            self.assertEqual([template for _, template in found], templates)

    def test_hosts_that_do_not_work_together_are_not_said_to(self):
        found, noted = translated(["h1, h2 do not work together"], catalogues()[0])
        self.assertEqual((found[0][0], noted), ("h1, h2 は相互に通信できない", []))

    def test_sentences_are_not_taken_by_templates_of_names_and_numbers(self):
        for text, template in (("packets to and from it are smaller", None),
                               ("stage 'pairs' did not pass", "stage '{w}' did not pass"),
                               ("no route to the others without the links that are left out", None),
                               ("12 more hosts", None), ("as many bytes", None),
                               ("a stage of it to b: is slow", "{}: {}")):
            self.assertEqual(translated([text], catalogues()[0])[0][0][1], template, text)

    def test_a_piece_without_words_is_noted_and_stays_english(self):
        found, noted = translated(["Do: paint the switch green"], catalogues()[0])
        self.assertEqual((found[0][0], noted), ("対処：paint the switch green", ["paint the switch green"]))

    def test_quantities_are_known_in_all_units(self):
        """Sizes in KiB once had no words."""
        quantities = ("64 B", "512 KiB", "4 MiB", "1 GiB", "50.0 kb/s", "9.0 Mb/s", "1.20 Gb/s", "2.00 Tb/s", "14.0 us",
                      "1.50 ms", "2.00 s", "47%", "0 bit/s", "4.00 Mbit/s", "1.00 kB", "300 ns", "14.0 µs", "1e-05%")
        found, _ = translated([f"at least {each}" for each in quantities], catalogues()[0])
        self.assertEqual([text for text, _ in found], [f"{each} 以上" for each in quantities])

    def test_verdicts_of_diagnosis_have_words(self):
        """Where a rank was late, a Japanese report had English rows."""
        rank, link = "rank 3 on h3", "link from rank 3 on h3 to rank 0 on h0"
        texts = [rank, link, "NIC of h2 (sending)", "route by 10.0.0.1, [fd00::2]", "12 ranks", "job",
                 f"data is late on the {link}", "data is late on the NIC of h2 (receiving)",
                 f"the others wait for {rank}: 31% of the time",
                 f"{rank} never started allreduce 12, in which 1 rank wait",
                 f"{rank} computes slowly, and data is late on the NIC of h2", "flows collide on the route by 10.0.0.1",
                 "the fabric between 4 ranks fails and comes back: 5 times",
                 f"the link between {rank} and rank 0 on h0 fails and comes back: 3 times",
                 "look for a NIC, cable or switch port that goes down and up (dmesg, ethtool, the switch's log)",
                 "find the link of these routers that is down (port counters, optics, the switches' logs) and take it "
                 "out of service until it is mended: programs that keep to one path are on it"]
        for catalogue in catalogues():
            found, noted = translated(texts, catalogue, names=("h0", "h2", "h3"))
            self.assertEqual(noted, [])
            for text, (words, _) in zip(texts, found):
                self.assertNotRegex(words, r"\b(rank|link|data|the|late|on|of|NIC of|job|route)\b", text)
        self.assertEqual(translated([link], catalogues()[0])[0][0][0], "h3 のランク 3 から h0 のランク 0 へのリンク")

    def test_names_of_hosts_are_no_words(self):
        texts = ["all to training", "training to all: 9.0 Mb/s", "all, training work together", "all: unknown"]
        found, _ = translated(texts, catalogues()[0], names=("all", "training"))
        self.assertEqual([text for text, _ in found], ["all → training", "training → all：9.0 Mb/s",
                                                       "all, training は相互に正常に通信可能", "all：不明"])


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
                self.assertEqual(used, set(range(len(FIELD.findall(template)))), template)
        self.assertTrue(all(each == keys[0] for each in keys), "catalogues with other templates")

    def test_texts_of_rows_notes_and_reasons_are_in_every_catalogue(self):
        for catalogue in catalogues():
            templates = {skeleton(template) for template, _ in catalogue["words"]}
            whole = " \n ".join(templates)
            for path in SAYING:
                texts = shown_texts(path)
                self.assertTrue(texts or path.name.startswith(("recorded", "all_to_all", "nic_pairs")), path)
                for text in sorted(texts - templates - PIECES):
                    if text.replace("{}%", "{}") in templates:
                        continue  # a quantity has its unit
                    # A piece begins or ends where another text goes on.
                    piece = re.sub(r"^(\{\})+|(\{\})+$", "", text)
                    is_piece = piece != text or piece[0] in " ,;:" or piece[-1] in " :"
                    self.assertTrue(is_piece and piece in whole, f"{path.name} has no words for '{text}'")

    def test_what_diagnosis_says_and_advises_is_in_every_catalogue(self):
        said = set()
        for path in VERDICTS:
            source = re.sub(r'(?<!\\)"\s*\n\s*"', "", path.read_text(encoding="utf-8"))
            for made in SAYS.finditer(source):
                texts = re.findall(r'"((?:[^"\\]|\\.){6,})"', statement(source, made.end()))
                said |= {skeleton(text) for text in texts}
        self.assertGreater(len(said), 25)
        for catalogue in catalogues():
            known = [skeleton(template) for template, _ in catalogue["words"]]
            for text in said:
                text = text.replace("rank{} wait", "ranks wait").replace("{}%", "{}")
                self.assertTrue(text in known or text.endswith(" ") and text + "{}" in known, text)

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

    def browser(self, script):
        """A folder with a program in place of chromium; $target is the file that it should write."""
        place = self.folder.parent / (self.folder.name + "-browser")
        place.mkdir(exist_ok=True)
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        program_file = place / "chromium"
        program_file.write_text(f"""#!/bin/sh
printf '%s\\n' "$@" > {place}/words
for each; do case $each in --print-to-pdf=*) target=${{each#*=}};; esac; done
{script}
""", encoding="utf-8")
        program_file.chmod(0o755)
        return place

    def test_a_folder_with_an_odd_name_prints_its_own_page(self):
        """Of TMPDIR a%41b once the page of aAb was printed."""
        browser = self.browser("echo %PDF-1.7 > $target")
        place = browser / "a%41b ü#?"
        place.mkdir()
        done = program.run("verify", "report", self.folder, "--pdf",
                           settings={"PATH": f"{browser}:/usr/bin:/bin", "TMPDIR": str(place)})
        self.assertEqual(done.returncode, 0, done.stderr)
        words = (browser / "words").read_text(encoding="utf-8").split()
        self.assertRegex(words[-1], "^file:///[A-Za-z0-9/._~%-]+$")
        self.assertTrue(urllib.parse.unquote(words[-1]).startswith(f"file://{place}/"), words[-1])
        self.assertEqual("--no-sandbox" in words, os.geteuid() == 0)
        self.assertLessEqual({"--no-first-run", "--disable-background-networking"}, set(words))
        self.assertEqual(list(place.iterdir()), [])

    def test_a_browser_that_fails_leaves_the_report_as_it_was(self):
        good = {"report.html": "good", "report.pdf": "good", "SHA256SUMS": "good", "SHA256SUMS.sig": "good"}
        for name, text in good.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        before = sorted(path.name for path in self.folder.iterdir())
        key = self.folder.parent / (self.folder.name + ".key")
        self.addCleanup(key.unlink, missing_ok=True)
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True, capture_output=True)
        for script, answer in (("echo one >&2; echo no display >&2; exit 3", "ended with status 3: no display"),
                               ("exit 0", "set TMPDIR to a folder below $HOME"),
                               ("echo text > $target", "wrote another file")):
            browser = self.browser(script)
            done = program.run("verify", "report", self.folder, "--pdf", "--sign", key,
                               settings={"PATH": f"{browser}:/usr/bin:/bin"})
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(answer, done.stderr)
            self.assertIn("print the page from a browser", done.stderr)
            self.assertNotIn("nftables", done.stderr)
        (self.folder / "more").symlink_to("/etc/passwd")
        done = program.run("verify", "report", self.folder, "--sign", key)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("a signature covers files alone", done.stderr)
        (self.folder / "more").unlink()
        self.assertEqual({name: (self.folder / name).read_text(encoding="utf-8") for name in good}, good)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)

    def test_ctrl_c_ends_the_browser_with_all_that_it_started(self):
        browser = self.browser("trap '' INT TERM; sleep 1000 & echo $$ $! > $0.pids; wait")
        pids = browser / "chromium.pids"
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            pids.unlink(missing_ok=True)
            with subprocess.Popen([program.HEDDLE, "verify", "report", self.folder, "--pdf"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=program.environment(PATH=f"{browser}:/usr/bin:/bin", TMPDIR=str(browser))) as run:
                while not (pids.exists() and pids.read_text(encoding="utf-8").endswith("\n")):
                    self.assertIsNone(run.poll())
                    time.sleep(0.01)
                shell, sleeping = map(int, pids.read_text(encoding="utf-8").split())
                run.send_signal(number)
                run.wait(program.PATIENCE_S)
            if number == signal.SIGKILL:  # only the browser itself is ended then
                while is_running(shell):
                    time.sleep(0.01)
                os.kill(sleeping, signal.SIGKILL)
                continue
            self.assertEqual(run.returncode, 128 + number)
            end = time.monotonic() + program.PATIENCE_S
            while is_running(shell) or is_running(sleeping):  # a process that was killed ends once it has a core
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            self.assertEqual([path.name for path in browser.glob("heddle-pdf*")], [])
        self.assertEqual([path.name for path in self.folder.iterdir()], ["report.json"])

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
                               capture_output=True, text=True, timeout=200, check=False).stdout
        self.assertIn('data-untranslated="[]"', drawn)
        for text in ("検収試験報告書", "不合格", "h0 → h1", "リンク帯域上限の 47%", "6.5 Mb/s 以上（上限 10.0 Mb/s）",
                     "<td>all</td>",
                     "<td class=\"expected\">すべて</td>", "h0, all は相互に通信できない"):
            self.assertIn(text, drawn)


if __name__ == "__main__":
    unittest.main()
