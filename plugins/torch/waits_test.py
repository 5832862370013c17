#!/usr/bin/env python3
"""How long a job's ranks wait for communication, by its recordings and by the job's own count. The two are compared in
milliseconds, so nothing else may run beside it.
"""

import json
import pathlib
import sys
import tempfile
import unittest

import backend_test
import program


class Waits(unittest.TestCase):
    def waits(self, folder, job):
        """What the summary of a job that waits.py ran has, rank by rank, and the seconds that the rank counted."""
        done = program.run("summary", folder / job, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        ranks = sorted(json.loads(done.stdout)["processes"], key=lambda rank: rank["name"])
        self.assertEqual(len(ranks), 2)
        for number, rank in enumerate(ranks):
            counted = json.loads((folder / f"{job}.{number}.json").read_text())
            rank.update(counted, unseen_ns=counted["blocked_ns"] - rank["exposed_ns"])
        shown = ("exposed_ns", "blocked_ns", "hidden_ns")
        print(job, *({name: round(rank[name] / 1e6, 1) for name in shown} for rank in ranks), "ms", file=sys.stderr,
              flush=True)
        return ranks

    def test_waits_of_ddp_are_seen_in_recordings(self):
        made = tempfile.TemporaryDirectory(prefix="heddle-torch-test-")
        self.addCleanup(made.cleanup)
        folder = pathlib.Path(made.name)
        done = backend_test.run_ranks(2, backend_test.HERE / "testing" / "waits.py", folder, timeout=400)
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        steps, late_ns = 20, 50e6
        for job in ("late_rank", "late_rank_and_futures_of_futures"):
            prompt, late = self.waits(folder, job)
            self.assertGreater(prompt["exposed_ns"], 0.8 * steps * late_ns)
            self.assertLess(abs(prompt["unseen_ns"]), 0.2 * prompt["blocked_ns"])
            self.assertLess(late["exposed_ns"], 0.5 * prompt["exposed_ns"])
        for rank in self.waits(folder, "overlapped"):
            self.assertGreater(rank["hidden_ns"], 0)
            self.assertLess(abs(rank["unseen_ns"]), 0.2 * rank["blocked_ns"] + steps * 1.5e6)
        for job in ("computing", "asleep_elsewhere"):
            ranks = self.waits(folder, job)
            for rank in ranks:
                self.assertLess(rank["exposed_ns"], 0.02 * steps * late_ns)
            # On a busy machine the first rank is late itself, and waits less.
            self.assertGreater(ranks[0]["hidden_ns"], 0.6 * steps * late_ns)


if __name__ == "__main__":
    if backend_test.MISSING:
        print(f"skipped '{backend_test.MISSING}'")
        sys.exit(77)
    unittest.main()
