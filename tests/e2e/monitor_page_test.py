#!/usr/bin/env python3
"""The live page of heddle monitor in headless Chromium: what it shows of a running job, wide and narrow.

Needs chromium; skipped where it is missing: exit status 77.
"""

import html
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

import json_reference_test
import program
from gpus_test import ROWS
from monitor_test import LOOPBACK, wait_until

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
GIVEN = "the script of a page is not of the program, and this test gives it its data"
# A frame as wide as a window that Chromium may not make as narrow; it reads the page in it when the page has data.
FRAME = """<!doctype html><iframe id=page width=%d height=900 src="/"></iframe><pre id=found></pre><script>
const look = setInterval(() => {
  const root = page.contentDocument?.documentElement;
  if (!root?.querySelector("#processes tr")) return;
  const text = id => [...root.querySelectorAll("#" + id + " tr")].map(
      tr => [...tr.children].map(td => td.textContent));
  const shown = id => !root.querySelector("#" + id).hidden;
  const dots = [...root.querySelectorAll(".dot")].map(dot => dot.parentElement);
  found.textContent = JSON.stringify({
    scroll: root.scrollWidth, client: root.clientWidth, job: root.querySelector("#job").textContent,
    cut: dots.filter(td => td.getBoundingClientRect().right > td.closest(".wide").getBoundingClientRect().right + 1)
        .map(td => td.textContent),
    parts: ["matrixpart", "nicpart", "burstpart", "planpart"].filter(shown), matrix: text("matrix"),
    shares: [...root.querySelectorAll("#matrix td")].map(td => td.style.getPropertyValue("--share")),
    titles: [...root.querySelectorAll("#matrix td")].map(td => td.title),
    matrixsaid: root.querySelector("#matrixsaid").textContent, nics: text("nics"), bursts: text("bursts"),
    strips: [...root.querySelectorAll(".strip")].map(svg => svg.querySelectorAll(".peak, .burst").length),
    marked: [...root.querySelectorAll(".strip")].map(svg => svg.querySelectorAll(".burst").length),
    plan: text("plan"), plansaid: root.querySelector("#plansaid").textContent,
    verdict: root.querySelector("#verdict").textContent, processes: text("processes"), gpus: text("gpus"),
    about: root.querySelector("#about").textContent, past: text("past"),
    alarms: [...root.querySelectorAll("#alarms .alarm")].map(
        card => [...card.querySelectorAll("h2, p, li")].map(part => part.textContent))});
  clearInterval(look);
}, 50);
</script>"""


@unittest.skipIf(BROWSER is None, "there is no chromium: scripts/setup --browser")
class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-monitor-page-")
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)
        nvidia_smi = self.place / "nvidia-smi"
        nvidia_smi.write_text(f"#!/bin/sh\ncat <<E\n{ROWS}E\n", encoding="utf-8")
        nvidia_smi.chmod(0o755)

    def beside(self, root, state):
        """Where the monitor's page and its state, or a given one, are served from one origin with the frame."""
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                kind, body = "text/html", b""
                if self.path.startswith("/frame/"):
                    body = (FRAME % int(self.path.removeprefix("/frame/"))).encode()
                elif state is not None and self.path == "/state.json":
                    kind, body = "application/json", json.dumps(state).encode()
                elif self.path != "/favicon.ico":
                    with urllib.request.urlopen(root + self.path[1:], timeout=program.PATIENCE_S) as answer:
                        kind, body = answer.headers["Content-Type"], answer.read()
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_address[1]}/"

    def open(self, root, width, state=None):
        """What the page shows in a frame of this width, and what Chromium logged of its script."""
        served = self.beside(root, state)
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                               f"--user-data-dir={self.place}/browser", "--virtual-time-budget=3000", "--dump-dom",
                               f"{served}frame/{width}"],
                              capture_output=True, text=True, timeout=120, check=False)
        found = re.search(r'<pre id="found">(\{.*?\})</pre>', done.stdout, re.DOTALL)
        self.assertIsNotNone(found, done.stdout[-2000:] + done.stderr[-2000:])
        return json.loads(html.unescape(found.group(1))), [line for line in done.stderr.splitlines()
                                                           if "CONSOLE" in line]

    def test_a_running_job_is_shown_wide_and_narrow_without_errors(self):
        job = str(self.place / "job")
        with program.started("record", "-o", job, "--", program.HEDDLE, "run", "-n", 3, "--", program.HEDDLE, "bench",
                             "allreduce", "-b", "1M", "-e", "1M", "-n", 10_000_000, settings=LOOPBACK) as running, \
             program.started("monitor", job, "--gpus", "--serve", "127.0.0.1:0", "--every", "200ms",
                             settings={"PATH": f"{self.place}:/usr/bin:/bin"}) as monitor:
            try:
                root = monitor.wait_for("the page is at").split()[-1]

                def state():
                    with urllib.request.urlopen(root + "state.json", timeout=program.PATIENCE_S) as answer:
                        return json.load(answer)

                wait_until(lambda: state()["operations"] > 0 and len(state().get("gpus", [])) == 2
                           and state()["traffic"])
                self.expect_listed(state())
                for width in program.sample((1280, 390)):
                    with self.subTest(width=width):
                        self.expect_shown(*self.open(root, width), width)
            finally:
                running.process.terminate()
                running.wait()

    def expect_listed(self, state):
        known = json_reference_test.listed("heddle monitor")
        self.assertEqual([field for field in sorted(json_reference_test.fields(state))
                          if not any(each.fullmatch(field) for each in known)], [])

    def expect_as_wide(self, shown, width):
        self.assertEqual(shown["client"], shown["scroll"], "it overflows")
        self.assertIn(width - shown["client"], range(20), "more than a scroll bar is missing")

    def expect_shown(self, shown, logged, width):
        self.assertEqual(logged, [])
        self.expect_as_wide(shown, width)
        self.assertEqual(shown["job"], "job")
        self.assertRegex(shown["about"], r"ago; [1-9]\d* collectives compared")
        faults = len(shown["alarms"])  # on a busy machine a rank may be slow
        self.assertRegex(shown["verdict"], rf"^{faults or 'no'} faults?$")
        self.assertGreaterEqual(len(shown["processes"]), 3)
        self.assertTrue({"0", "1", "2"} <= {re.sub(r"\D", "", row[0]) for row in shown["processes"]},
                        shown["processes"])
        self.assertTrue(all(int(row[2]) > 0 for row in shown["processes"]), shown["processes"])
        self.assertEqual([row[1:3] for row in shown["gpus"]], [["0", "97%"], ["1", "unknown"]])
        self.assertEqual(shown["cut"], [])
        self.assertEqual(shown["parts"][0], "matrixpart")
        self.assertEqual([row[0] for row in shown["matrix"]], ["", "0", "1", "2"])
        self.assertRegex(shown["matrixsaid"], r"^Payload that arrived in the last \d+\.\d s, .* Most: rank \d on ")

    @unittest.skipIf(program.sanitized(), GIVEN)
    def test_traffic_bursts_and_plan_are_shown_as_they_are_served_wide_and_narrow(self):
        job = self.place / "job"
        job.mkdir()
        with program.started("monitor", job, "--serve", "127.0.0.1:0") as monitor:
            root = monitor.wait_for("the page is at").split()[-1]
            with urllib.request.urlopen(root + "state.json", timeout=program.PATIENCE_S) as answer:
                state = {**json.load(answer), **injected()}
            self.expect_listed(state)
            for width in (1280, 500, 390):
                with self.subTest(width=width):
                    shown, logged = self.open(root, width, state)
                    self.assertEqual(logged, [])
                    self.expect_as_wide(shown, width)
                    self.assertEqual(shown["cut"], [], "a state is cut off")
                    self.assertEqual(shown["parts"], ["matrixpart", "nicpart", "burstpart", "planpart"])
                    self.expect_as_served(shown, state)
            state["traffic"] = {**state["traffic"], "left_out": "of 300 processes <b>"}
            del state["plan"]
            shown, logged = self.open(root, 390, state)
            self.assertEqual((logged, shown["parts"]), ([], ["matrixpart"]))
            self.assertEqual(shown["matrixsaid"], "of 300 processes <b>")
            shown, logged = self.open(root, 390, {**state, "traffic": None})
            self.assertEqual((logged, shown["parts"]), ([], []))

    @unittest.skipIf(program.sanitized(), GIVEN)
    def test_an_alarm_is_a_card_and_one_that_is_over_a_row(self):
        job = self.place / "job"
        job.mkdir()
        alarm = {"number": 2, "class": "non_communication_slow", "place": "rank", "place_text": "rank 1 on <b>h1",
                 "processes": ["1"], "host": "<b>h1", "since_ns": 12_340_000_000, "until_ns": None, "confidence": 0.934,
                 "cost_share": 0.3, "summary": "the others wait for rank 1 on <b>h1: 30% of the time",
                 "evidence": ["it computes 1.50 times as long", "in 40 of 100 blocks"],
                 "try": "look for other programs", "raised_ns": 20_000_000_000, "cleared_ns": None}
        over = {**alarm, "number": 1, "class": "communication_hang", "place_text": "job", "cost_share": None,
                "cleared_ns": 27_500_000_000}
        with program.started("monitor", job, "--serve", "127.0.0.1:0") as monitor:
            root = monitor.wait_for("the page is at").split()[-1]
            with urllib.request.urlopen(root + "state.json", timeout=program.PATIENCE_S) as answer:
                state = {**json.load(answer), **injected(), "alarms": [alarm], "past_alarms": [over]}
            self.expect_listed(state)
            shown, logged = self.open(root, 390, state)
            self.assertEqual((logged, shown["verdict"]), ([], "1 fault"))
            self.expect_as_wide(shown, 390)
            self.assertEqual(shown["alarms"], [[
                "non communication slow: rank 1 on <b>h1since 12.3 s, confidence 93%, costs 30% of the time",
                "the others wait for rank 1 on <b>h1: 30% of the time", "it computes 1.50 times as long",
                "in 40 of 100 blocks", "Try: look for other programs"]])
            self.assertEqual(shown["past"], [["communication hang", "job", "12.3 s", "7.5 s"]])
            shown, _ = self.open(root, 390, {**state, "alarms": [alarm, {**over, "cleared_ns": None}]})
            self.assertEqual(shown["verdict"], "2 faults")
            self.assertEqual(shown["alarms"][1][0], "communication hang: jobsince 12.3 s, confidence 93%")
            shown, _ = self.open(root, 390, {**state, "alarms": [], "operations": 0})
            self.assertEqual((shown["alarms"], shown["verdict"]), ([], "not enough evidence yet"))

    def expect_as_served(self, shown, state):
        traffic = state["traffic"]
        span_s = (traffic["until_ns"] - traffic["from_ns"]) / 1e9
        # The unit is that of the largest: Mb/s.
        self.assertEqual((shown["verdict"], shown["alarms"]), ("no fault", []))
        self.assertEqual([row[1:] for row in shown["matrix"][1:]],
                         [["\u2013" if i == j and not each else "0" if not each else figure(each * 8 / span_s / 1e6)
                           for j, each in enumerate(row)] for i, row in enumerate(traffic["bytes"])])
        most = max(max(row) for row in traffic["bytes"])
        for share, each in zip(shown["shares"], sum(traffic["bytes"], [])):
            self.assertAlmostEqual(float(share), each / most, places=6)
        self.assertEqual(shown["titles"][1], "rank 0 on h0 to rank 1 on h1: 94.0 Mb/s")
        self.assertIn("Most: rank 0 on h0 to rank 1 on h1, 94.0 Mb/s. 2.0 KiB more", shown["matrixsaid"])
        ways = [(nic, name, nic[name]) for nic in traffic["nics"] for name in ("sent", "received")]
        self.assertEqual([row[:5] for row in shown["nics"]],
                         [[f"{nic['host']} {nic['name']}, {name}", "1.0 Gb/s" if nic["rate_bits_per_s"] else "unknown",
                           f"{figure(way['bytes'] * 8 / span_s / 1e6)} Mb/s",
                           f"{figure(way['peak_bits_per_s'] / 1e6)} Mb/s", str(way["bursts"])]
                          for nic, name, way in ways])
        self.assertEqual(shown["strips"], [sum(peak > 0 for peak in way["peaks_bits_per_s"]) for _, _, way in ways])
        self.assertEqual(shown["marked"], [0, 0, 1, 0], "the burst is in one part of one strip")
        self.assertEqual(shown["bursts"], [["h1 eth0, sent", "61.0 s", "300 \u00b5s", "23.4 KiB", "790 Mb/s", "7.4",
                                            "allreduce x2"]])
        self.assertEqual(shown["plan"], [["h0", "has it"], ["h1", "has an older one: no route to <h1>"],
                                         ["h2", "has none yet"]])
        self.assertRegex(shown["plansaid"], r"^plan\.json, of .*: 12 flows, plan 2 since the monitor began; 1 of 3 "
                                            r"machines have it as /there/plan\.json\. The file as it is now is not "
                                            r"used: cut$")


def figure(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def injected():
    """Of /state.json: three ranks, two NICs, a burst, and a plan that one of three machines has."""
    def way(mean, peaks, bursts=0):
        return {"bytes": mean, "peak_bits_per_s": max(peaks), "bursts": bursts, "peaks_bits_per_s": peaks}
    steady = [1.2e8] * 5 + [0] + [1.1e8] * 4
    nics = [{"host": f"h{i}", "name": "eth0", "rate_bits_per_s": i * 10**9 or None,
             "sent": way(24_000_000, steady if i == 0 else [1e8] * 5 + [7.9e8] + [1e8] * 4, i),
             "received": way(23_000_000, steady)} for i in range(2)]
    process = {"events": 123_456_789, "missed_events": 0, "last_ns": 50_000_000_000, "closed": False, "heard": True}
    return {
        "job": "job", "job_ns": 63_000_000_000, "began_realtime_ns": 1_764_400_000_000_000_000, "operations": 3,
        "processes": [{"name": str(i), "host": f"a-machine-with-a-long-name-{i}.example", "rank": i, **process}
                      for i in range(3)],
        "traffic": {
            "from_ns": 60_000_000_000, "until_ns": 62_000_000_000, "left_out": "", "counted": "delivered",
            "rows": "rank", "parties": [{"name": str(i), "host": f"h{i}", "rank": i} for i in range(3)],
            "bytes": [[0, 23_500_000, 125_000], [0, 0, 14_700_000], [22_100_000, 1, 0]], "unplaced_bytes": 2048,
            "bin_ns": 100_000, "nics_in_all": 2, "nics": nics, "bursts_in_all": 1,
            "bursts": [{"host": "h1", "nic": "eth0", "direction": "sent", "begin_ns": 61_000_000_000,
                        "length_ns": 300_000, "bytes": 24_000, "peak_bits_per_s": 7.9e8, "times_mean": 7.4,
                        "operations": "allreduce x2", "phase": ""}]},
        "plan": {"file": "plan.json", "target": "/there/plan.json", "number": 2,
                 "read_realtime_ns": 1_764_400_030_000_000_000, "flows": 12, "complaint": "cut",
                 "machines": [{"host": "h0", "has": 2, "complaint": ""},
                              {"host": "h1", "has": 1, "complaint": "no route to <h1>"},
                              {"host": "h2", "has": None, "complaint": ""}]}}


if __name__ == "__main__":
    if BROWSER is None:
        print("skipped: there is no chromium: scripts/setup --browser")
        sys.exit(77)
    unittest.main()
