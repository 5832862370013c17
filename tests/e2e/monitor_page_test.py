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

import program
from gpus_test import ROWS
from monitor_test import LOOPBACK, wait_until

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
# A frame as wide as a window that Chromium may not make as narrow; it reads the page in it when the page has data.
FRAME = """<!doctype html><iframe id=page width=%d height=900 src="/"></iframe><pre id=found></pre><script>
const look = setInterval(() => {
  const root = page.contentDocument?.documentElement;
  if (!root?.querySelector("#processes tr")) return;
  const text = id => [...root.querySelectorAll("#" + id + " tr")].map(
      tr => [...tr.children].map(td => td.textContent));
  found.textContent = JSON.stringify({
    scroll: root.scrollWidth, client: root.clientWidth, job: root.querySelector("#job").textContent,
    verdict: root.querySelector("#verdict").textContent, processes: text("processes"), gpus: text("gpus"),
    about: root.querySelector("#about").textContent, alarms: root.querySelectorAll(".alarm").length});
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

    def beside(self, root):
        """Where the monitor's page and its state are served from one origin with the frame, which reads them."""
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                kind, body = "text/html", b""
                if self.path.startswith("/frame/"):
                    body = (FRAME % int(self.path.removeprefix("/frame/"))).encode()
                elif self.path != "/favicon.ico":
                    with urllib.request.urlopen(root + self.path[1:], timeout=10) as answer:
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

    def open(self, root, width):
        """What the page shows in a frame of this width, and what Chromium logged of its script."""
        served = self.beside(root)
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
                    with urllib.request.urlopen(root + "state.json", timeout=10) as answer:
                        return json.load(answer)

                wait_until(lambda: state()["operations"] > 0 and len(state().get("gpus", [])) == 2)
                for width in (1280, 390):
                    with self.subTest(width=width):
                        self.expect_shown(*self.open(root, width), width)
            finally:
                running.process.terminate()
                running.wait()

    def expect_shown(self, shown, logged, width):
        self.assertEqual(logged, [])
        self.assertEqual((shown["client"], shown["scroll"]), (width, width), "it overflows, or is not as wide")
        self.assertEqual(shown["job"], "job")
        self.assertRegex(shown["about"], r"ago; [1-9]\d* collectives compared")
        self.assertGreaterEqual(len(shown["processes"]), 3)
        self.assertTrue({"0", "1", "2"} <= {re.sub(r"\D", "", row[0]) for row in shown["processes"]},
                        shown["processes"])
        self.assertTrue(all(int(row[2]) > 0 for row in shown["processes"]), shown["processes"])
        self.assertEqual([row[1:3] for row in shown["gpus"]], [["0", "97%"], ["1", "unknown"]])


if __name__ == "__main__":
    if BROWSER is None:
        print("skipped: there is no chromium: scripts/setup --browser")
        sys.exit(77)
    unittest.main()
