#!/usr/bin/env python3
"""The page of a report of heddle verify: what each stage measured has a chart or a table, what is folded in is printed,
and it fits a phone and a laptop by itself. A browser draws it."""

import functools
import html
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

import program
from verify_folder_test import STAGE, document

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
# Each page in a frame as wide as a window that Chromium may not make as narrow; then what it shows.
FRAMES = """<!doctype html><body></body><pre id=found></pre><script>
const all = %s, found = [];
const text = (each) => each.textContent;
const drawn = (root, id) => [...root.querySelectorAll(id + " svg")];
const seen = (each) => getComputedStyle(each);
const right = (each) => each.getBoundingClientRect().right;
const look = (page, root) => ({
  scroll: root.scrollWidth, client: root.clientWidth, resources: page.performance.getEntriesByType("resource").length,
  cut: [...root.querySelectorAll("main *")].filter((each) => !each.closest(".wide") && !each.closest("svg")
    && right(each) > root.clientWidth).map((each) => each.tagName + " " + each.textContent.slice(0, 40)),
  words_cut: [...root.querySelectorAll("svg text")].filter((each) => {
    const box = each.getBoundingClientRect(), whole = each.closest("svg").getBoundingClientRect();
    return box.width > 0 && (box.left < whole.left - 1 || box.right > whole.right + 1);
  }).map(text),
  verdict: [text(root.querySelector("#verdict")), seen(root.querySelector("#verdict")).backgroundColor],
  colors: ["pass", "warn", "fail", "idle"].map((name) => {
    const made = root.ownerDocument.createElement("i");
    made.style.color = "var(--" + name + ")";
    root.querySelector("body").append(made);
    const color = seen(made).color;
    made.remove();
    return color;
  }),
  tiles: [...root.querySelectorAll("#tiles > div")].map((each) => [...each.children].map(text)),
  lines: drawn(root, "#map").flatMap((svg) => [...svg.querySelectorAll("line")]).map((each) => seen(each))
    .filter((each) => each.stroke !== "rgba(0, 0, 0, 0)").map((each) => [each.stroke, each.strokeDasharray]),
  nodes: drawn(root, "#map").flatMap((svg) => [...svg.querySelectorAll("rect")]).map(
    (each) => [text(each.nextSibling.firstChild), seen(each).stroke]),
  reach: drawn(root, "#stage-reach").flatMap((svg) => [...svg.querySelectorAll("rect")]).map((each) => seen(each).fill),
  routes: [...root.querySelectorAll("#stage-reach .charts tbody tr")].map((tr) => [...tr.children].map(text)),
  training: drawn(root, "#stage-training").map((svg) => [...svg.querySelectorAll("rect")].map(
    (each) => Math.round(each.getBoundingClientRect().width))),
});
for (const [width, address] of all) {
  const frame = document.createElement("iframe");
  Object.assign(frame, {width, height: 900, src: address});
  document.body.append(frame);
}
const frames = [...document.querySelectorAll("iframe")];
const wait = setInterval(() => {
  const roots = frames.map((each) => each.contentDocument?.documentElement);
  if (!roots.every((root) => root?.querySelector("body[data-ready]"))) return;
  clearInterval(wait);
  document.getElementById("found").textContent = JSON.stringify(roots.map(
    (root, i) => look(frames[i].contentWindow, root)));
}, 50);
</script>"""
# All that a page may load: what is in it.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
VIEWS = [(1280, "/report.html"), (390, "/report.html"), (390, "/report.ja.html")]
LONG = "gpu-node-0017.rack12.example.net"
PRINTED = '<script>dispatchEvent(new Event("beforeprint"));</script></body>'


def size(in_place):
    return {"bytes": 65536, "count": 16384, "type": "float", "redop": "sum", "root": "-1", "time_us": 80.0,
            "algorithm_bits_per_s": 8e9, "bus_bits_per_s": 1e10, "wrong_out_of_place": 0, "in_place": in_place,
            "wrong": 0, "bound_bits_per_s": 2e10, "algorithm": "ring"}


def link(a, b, share, named=False):
    """Of 10 Gb/s, which it has carried a share of."""
    load = {"peak_bits_per_s": 1e10 * share, "bytes": 10**9, "dropped": 4 if named else 0, "errors": 0}
    idle = {"peak_bits_per_s": 0, "bytes": 0, "dropped": 0, "errors": 0}
    return {"a": a, "b": b, "label": f"{a} - {b}", "rate_bits_per_s": 1e10, "named": named, "forward": load,
            "backward": idle}


def fabric():
    """Two leaves and a spine with three hosts: idle, half full, full and faulty links, and a faulty host."""
    tiers = {"h0": 0, "h1": 0, "h2": 0, LONG: 0, "leaf0": 1, "leaf1": 1, "spine0": 2}
    return {"nodes": [{"name": name, "tier": tier, "named": name == "h2"} for name, tier in tiers.items()],
            "links": [link("h0", "leaf0", 0), link("h1", "leaf0", 0.5), link("h2", "leaf1", 1),
                      link("leaf0", "spine0", 0.25), link(LONG, "leaf1", 0.75),
                      link("leaf1", "spine0", 0.1, named=True)]}


def whole_report():
    """Seven stages, and what was left after a failure."""
    pair = {"from": "h0", "to": "h1", "goodput_bits_per_s": 9e9, "allowed_bits_per_s": 1e10, "tcp_bits_per_s": 5e9,
            "tcp_lat_us": 20.0, "udp_bw_sent_bits_per_s": 8e9, "udp_bw_received_bits_per_s": 4e9, "udp_lat_us": 15.0,
            "half_round_trip_us_p50": 9.0, "half_round_trip_us_p99": 12.0, "rc_bw_bits_per_s": 9.7e9, "rc_lat_us": 2.5}
    pairs = [pair, {**pair, "from": LONG, "to": LONG.replace("17", "18")}]
    places = [{"name": name, "switch": False, "ports": [{"device": "eth0", "carrier": True, "mtu_bytes": 9000}],
               "facts": {"heddle": "0.1.0", "kernel": kernel, "NIC firmware": "mlx5_core 28.41"}}
              for name, kernel in (("h0", "Linux 6.8"), ("h1", "Linux 6.8"), ("h2", "Linux 6.1"))]
    collectives = {"sizes": [size({"time_us": 79.0, "algorithm_bits_per_s": 8e9, "bus_bits_per_s": 1e10,
                                   "wrong": None})], "nccl_sizes": [size(None)],
                   "other_sizes": [{"check": "reduce-scatter", "sizes": [size(None)]}],
                   "tcp_ring": {"least_bits_per_s": 4e9},
                   "wire": {"least_bits_per_s": 1.1e10, "most_bits_per_s": 1.2e10, "share": 0.6}}
    flows = [{"from": "h0", "to": "h1", "goodput_bits_per_s": 9e9, "segments": 1, "retransmitted": 0}]
    together = {"goodput_bits_per_s": 9e9, "allowed_bits_per_s": 1e10, "tcp_bits_per_s": 5e9}
    stress = {"permutation": {**together, "flows": flows},
              "incast": {**together, "flows": flows, "bystander_tcp_us_p50": 40.0, "bystander_tcp_us_p99": 2500.0},
              "all_to_all": {**together, "bytes": 65536, "bus_bits_per_s": 3e9, "bound_bits_per_s": 5e9,
                             "tcp_at_slowest_bits_per_s": 2e9},
              "victim": {"from": "h2", "to": "h1", "half_round_trip_us_p50": 30.0, "half_round_trip_us_p99": 900.0,
                         "idle_half_round_trip_us_p50": 8.0, "idle_half_round_trip_us_p99": 11.0}}
    timeline = {"name": "all-reduces", "hosts": ["h0"], "span_ns": 1000, "left_out": 0,
                "moments": [[0, "call", "moment of it", 0, 10]]}
    traffic = {"timelines": [timeline], "matrices": [{"name": "all-reduces", "parties": [{"name": "0", "host": "h0"}],
                                                      "expected": [[0]], "measured": [[0]]}]}
    reach = {"pairs": [{"from": a, "to": b, "reached": b != "h2", "complaint": "no answer in time",
                        "packet_bytes": 9000} for a in ("h0", "h1", "h2") for b in ("h0", "h1", "h2") if a != b],
             "routes": [{"from": "h0", "to": "h2", "routes": 1, "expected": 2}]}
    training = {"built_in": {"ranks": 3, "gradient_bytes": 10**8, "one_host_step_s": 0.2, "ideal_step_s": 0.25,
                             "ideal_exposed_s": 0.05, "computing_s": 0.2, "exposed_s": 0.2},
                "torch": [{"backend": "heddle", "ranks": 1, "images_per_s": 20.0},
                          {"backend": "heddle", "ranks": 3, "images_per_s": 50.0},
                          {"backend": "gloo", "ranks": 3, "images_per_s": 25.0}]}
    headlines = [{"label": "slowest pair", "value": "90%",
                  "note": "h0 to h1: 9.0 Gb/s of 10.0 Gb/s that its links carry"},
                 {"label": "all-reduce", "value": "50%", "note": "bus bandwidth of 64.0 KiB: 10.0 Gb/s of 20.0 Gb/s"},
                 {"label": "latency", "value": "9.0 us",
                  "note": "one-way latency (RTT/2) of 64 B on the idle fabric, median of all pairs; beside an incast "
                          "900 us at p99"}]
    data = {"inventory": {"places": places, "machines": []}, "reach": reach, "training": training,
            "pairs": {"pairs": pairs}, "collectives": collectives,
            "stress": stress, "traffic": traffic,
            "rest": {"hosts": ["h0", "h1"], "stages": {"collectives": {"sizes": collectives["sizes"]}}}}
    rows = [{"check": "tcp_bw", "where": "1 of 1 pairs", "measured": "5 Gb/s", "expected": "", "grade": "info",
             "todo": None},
            {"check": "latency", "where": "h1", "measured": "4.20 us", "expected": "", "grade": "warn",
             "todo": "repeat `heddle perf`"}]
    stages = [{**STAGE, "name": name, "data": each, "rows": rows, "commands": ["heddle perf h1 bw"]}
              for name, each in data.items()]
    return document(stages=stages, emulated=False, summary="7 of 8 stages passed", verdict="FAIL", failed=1,
                    headlines=headlines, **fabric())


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and / with the frames; notes what it was asked for."""
    asked = []

    def do_GET(self):
        Handler.asked.append(self.path)
        if self.path != "/":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        super(http.server.SimpleHTTPRequestHandler, self).end_headers()
        self.wfile.write((FRAMES % json.dumps(VIEWS)).encode())

    def end_headers(self):
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, *_):
        pass


@unittest.skipUnless(BROWSER, "there is no chromium")
@unittest.skipIf(program.sanitized(), "the script of a page is not of the program")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="rp") as place:
            folder = pathlib.Path(place)
            (folder / "report.json").write_text(json.dumps(whole_report()), encoding="utf-8")
            done = program.run("verify", "report", folder)
            assert done.returncode == 0, done.stderr
            page = (folder / "report.html").read_text(encoding="utf-8")
            (folder / "printed.html").write_text(page.replace("</body>", PRINTED), encoding="utf-8")
            cls.shown, cls.printed = (cls.drawn(folder, name) for name in ("report.html", "printed.html"))
            done = program.run("verify", "report", folder, "--language", "ja")
            assert done.returncode == 0, done.stderr
            cls.page, (cls.wide, cls.narrow, cls.japanese) = page, cls.viewed(folder)

    @staticmethod
    def drawn(folder, name):
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
                               f"--user-data-dir={folder}/profile", "--dump-dom", f"file://{folder}/{name}"],
                              capture_output=True, text=True, timeout=program.PATIENCE_S, check=True)
        text = re.sub(r"<script.*?</script>", "", done.stdout, flags=re.DOTALL)
        assert 'data-ready="yes"' in text, done.stderr[-2000:]
        return text

    @classmethod
    def viewed(cls, folder):
        """What each view shows, and what Chromium logged of their scripts and policies."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                                   f"--user-data-dir={folder}/profile", "--virtual-time-budget=5000", "--dump-dom",
                                   f"http://127.0.0.1:{server.server_address[1]}/"],
                                  capture_output=True, text=True, timeout=program.PATIENCE_S, check=True)
        finally:
            server.shutdown()
            server.server_close()
        cls.logged = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
        assert found and found.group(1), done.stdout[-1000:] + done.stderr[-2000:]
        return json.loads(html.unescape(found.group(1)))

    def test_it_fits_a_laptop_and_a_phone(self):
        for (width, address), view in zip(VIEWS, (self.wide, self.narrow, self.japanese)):
            with self.subTest(width=width, page=address):
                self.assertEqual(view["scroll"], view["client"], "it overflows")
                self.assertIn(width - view["client"], range(20), "more than a scroll bar is missing")
                self.assertEqual((view["cut"], view["words_cut"]), ([], []))

    def test_long_names_of_hosts_lose_their_domain_in_charts_alone(self):
        self.assertIn(">gpu-node-0017 → gpu-node-0018<", self.shown)
        self.assertIn(f"<td>{LONG} → {LONG.replace('17', '18')}</td>", self.shown)

    def test_it_loads_nothing(self):
        self.assertEqual(self.logged, [], "the page's script complains, or its policy does")
        self.assertEqual(set(Handler.asked) - {"/favicon.ico"}, {"/", *(address for _, address in VIEWS)})
        self.assertEqual([view["resources"] for view in (self.wide, self.narrow, self.japanese)], [0, 0, 0])
        self.assertNotRegex(self.page, r"""(?i)\b(src|href|action|srcset)\s*=\s*["'\w]|url\(|@import""")
        self.assertEqual(set(re.findall(r"https?://[\w./]+", self.page)), {"http://www.w3.org/2000/svg"})

    def test_the_verdict_and_three_figures_stand_on_top(self):
        _, _, failed, _ = self.wide["colors"]
        self.assertEqual(self.wide["verdict"], ["FAIL", failed])
        self.assertEqual(self.wide["tiles"], [[each[name].replace(" us", " µs") for name in ("label", "value", "note")]
                                              for each in whole_report()["headlines"]])
        self.assertEqual(self.japanese["verdict"][0], "不合格")

    def test_links_have_the_color_of_their_load_and_faults_are_marked(self):
        _, _, failed, _ = self.wide["colors"]
        lines = self.wide["lines"]
        self.assertEqual(len(lines), 6)
        self.assertEqual(lines[1][0], "rgb(47, 116, 192)")  # half of its rate
        self.assertEqual(lines[2][0], "rgb(194, 113, 12)")  # all of it
        self.assertEqual(len({color for color, _ in lines}), 6)
        self.assertEqual([(color == failed, dash != "none") for color, dash in lines],
                         [(False, False)] * 5 + [(True, True)])
        self.assertEqual([name for name, color in self.wide["nodes"] if color == failed], ["h2"])
        self.assertEqual(len(self.wide["nodes"]), 7)
        self.assertEqual(self.narrow["lines"], lines)

    def test_reach_and_training_have_charts(self):
        passed, _, failed, _ = self.wide["colors"]
        # Nine squares by row; those to h2 failed, and none is of a host to itself.
        squares = [failed if j == 2 else passed if i != j else None for i in range(3) for j in range(3)]
        squares[8] = None
        own = {color for color, square in zip(self.wide["reach"], squares) if square is None}
        self.assertEqual((len(self.wide["reach"]), len(own)), (9, 1))
        self.assertEqual([color for color in self.wide["reach"] if color not in own], list(filter(None, squares)))
        self.assertEqual(self.wide["routes"], [["h0", "h2", "1", "2"]])
        steps, rates = self.wide["training"]
        # One host, the formula and all hosts: computing above exposed communication; a bar for each backend.
        self.assertEqual((len(steps), len(rates)), (6, 3))
        self.assertAlmostEqual(steps[0] / steps[5], 1, delta=0.05)
        self.assertAlmostEqual(steps[2] / steps[3], 4, delta=0.3)
        self.assertAlmostEqual(rates[1] / rates[2], 2, delta=0.1)

    def test_each_stage_shows_what_it_measured(self):
        for text in ("rc_bw", "rc_lat", "TCP, at most", "port, least", "The permutation, all flows together",
                     "The incast, all flows together", "The all-to-all, all flows together", "TCP, as its slowest",
                     "Latency of h2 to h1, idle and beside the incast", "TCP, beside its incast", "40.0 µs, 2.50 ms",
                     "Hosts that were tested alone", "out-of-place", "in-place", "redop", "N/A", "info",
                     "reduce-scatter, as nccl-tests prints it"):
            self.assertIn(text, self.shown)

    def test_a_matrix_of_256_ranks_is_drawn_and_of_more_hosts_what_did_not_arrive_is_listed(self):
        """No stage was shown: the largest value of a matrix was sought by a call with too many arguments."""
        names = [f"h{i}" for i in range(257)]
        row = [1] * 256
        matrix = {"name": "all-reduces", "parties": [{"name": name, "host": name} for name in names[:256]],
                  "expected": [row] * 256, "measured": [row] * 256}
        pairs = [{"from": a, "to": b, "reached": a != "h7", "complaint": "no answer in time", "packet_bytes": 1500}
                 for a, b in zip(names, names[1:])]
        stages = [{**STAGE, "name": name, "data": each, "rows": [], "commands": []}
                  for name, each in (("reach", {"pairs": pairs}), ("traffic", {"matrices": [matrix]}))]
        with tempfile.TemporaryDirectory(prefix="rp") as place:
            folder = pathlib.Path(place)
            (folder / "report.json").write_text(json.dumps(document(stages=stages)), encoding="utf-8")
            done = program.run("verify", "report", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            shown = self.drawn(folder, "report.html")
        stages = shown[shown.index('id="stage-reach"'):shown.index('id="raw"')]
        reach, traffic = stages.split('id="stage-traffic"')
        self.assertIn("<tr><td>h7</td><td>h8</td><td>no answer in time</td></tr>", reach)
        self.assertNotIn("<rect", reach)
        self.assertEqual(traffic.count("<rect"), 2 * 256 * 256)

    def test_versions_are_of_every_host_and_equal_ones_stand_together(self):
        table = self.shown[self.shown.index("Versions of each host"):]
        self.assertRegex(table, r"<td>h0, h1</td><td>0.1.0</td><td>Linux 6.8</td><td>mlx5_core 28.41</td>")
        self.assertRegex(table, r"<td>h2</td><td>0.1.0</td><td>Linux 6.1</td>")

    def test_a_printed_page_has_what_is_folded_in(self):
        """Links, facts, commands and raw data were not in the PDF."""
        self.assertNotRegex(self.shown, "<details[^>]* open")
        self.assertGreater(self.printed.count("<details"), 5)
        self.assertEqual(len(re.findall("<details[^>]* open", self.printed)), self.printed.count("<details"))
        self.assertIn("1 in report.json", self.printed)
        self.assertIn("moment of it", self.shown)
        self.assertNotIn("details { display: none", self.printed)

    def test_raw_data_on_paper_repeat_no_rows_and_charts_stand_side_by_side(self):
        """Of 33 pages 22 were raw data."""
        raw = self.printed[self.printed.index('id="raw"'):self.printed.index('id="tip"')]
        self.assertIn('"rows": "2 above"', raw)
        self.assertIn('"commands": "1 above"', raw)
        self.assertNotIn("of 1 pairs", raw)
        self.assertIn("of 1 pairs", self.shown[self.shown.index('id="raw"'):])
        self.assertIn('"tcp_bits_per_s":5000000000', raw)
        widths = [int(each) for each in re.findall(r'<svg width="(\d+)', self.printed)]
        self.assertLessEqual(max(widths), 820)
        self.assertGreater(widths.count(390), 5)
        self.assertNotIn(390, [int(each) for each in re.findall(r'<svg width="(\d+)', self.shown)])

    def test_on_paper_each_stage_that_ran_begins_a_page(self):
        rows = whole_report()["stages"][0]["rows"]
        ran = [{**STAGE, "name": name, "rows": rows} for name in ("inventory", "reach", "pairs")]
        idle = [{**STAGE, "name": name, "outcome": "not run", "started": None} for name in ("collectives", "stress")]
        with tempfile.TemporaryDirectory(prefix="rp") as folder:
            pathlib.Path(folder, "report.json").write_text(json.dumps(document(stages=ran + idle)), encoding="utf-8")
            done = program.run("verify", "report", folder, "--pdf")
            self.assertEqual(done.returncode, 0, done.stderr)
            printed = pathlib.Path(folder, "report.pdf").read_bytes()
        self.assertEqual(len(re.findall(rb"/Type\s*/Page\b", printed)), 1 + len(ran), "the verdict's, and the stages'")

    def test_units_are_those_of_the_rows_and_commands_have_a_font(self):
        """Charts once had Mbit/s and 65.5 kB where rows have Mb/s and 64 KiB."""
        body = self.shown[:self.shown.index('id="raw"')]
        for text in (">9.00 Gb/s, 90%<", ">64 KiB<", ">4.20 µs<", "repeat <code>heddle perf</code>",
                     ">passed, with warnings<"):
            self.assertIn(text, body)
        self.assertNotRegex(body, r"\dbit/s|\d [kMG]bit/s|65\.5 kB|\d us\b|`heddle")


if __name__ == "__main__":
    unittest.main()
