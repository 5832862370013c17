#!/usr/bin/env python3
"""heddle plan against the optimum by linear programming (GLPK's glpsol) on small random fabrics of two tiers:
plans are within 3% of it, and the bound that the plan names is never above it."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import program

HOST_GBITS = 100


class Case:
    """A random fabric with random flows: some jobs' permutations, a failed uplink in every third."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.leaves, self.spines, self.hosts = draw.randint(2, 5), draw.randint(2, 5), draw.randint(2, 6)
        self.spine_gbits = draw.choice((100, 200))
        hosts = list(range(self.leaves * self.hosts))
        self.bytes = {}
        for _ in range(draw.randint(1, 3)):
            draw.shuffle(hosts)
            size = draw.randint(1, 9) * 1_000_000
            for i, host in enumerate(hosts):
                pair = (host, hosts[i - 1])
                self.bytes[pair] = self.bytes.get(pair, 0) + size
        self.failed = (draw.randrange(self.leaves), draw.randrange(self.spines)) if seed % 3 == 0 else None

    def write(self, folder):
        with open(os.path.join(folder, "fabric.toml"), "w", encoding="utf-8") as file:
            file.write(f'version = 1\n[fabric]\nkind = "leaf_spine"\nleaves = {self.leaves}\nspines = {self.spines}\n'
                       f'hosts_per_leaf = {self.hosts}\n[switch_link]\nrate = "{self.spine_gbits}Gbit/s"\n')
        with open(os.path.join(folder, "matrix.csv"), "w", encoding="utf-8") as file:
            file.write("from,to,bytes\n")
            file.writelines(f"h{a},h{b},{size}\n" for (a, b), size in self.bytes.items())

    def works(self, leaf, spine):
        return self.failed != (leaf, spine)

    def between(self):
        """Bytes from leaf to leaf."""
        sums = {}
        for (a, b), size in self.bytes.items():
            pair = (a // self.hosts, b // self.hosts)
            if pair[0] != pair[1]:
                sums[pair] = sums.get(pair, 0) + size
        return sums

    def program(self):
        """Least time (ns) of the most loaded link between switches, over all divisions of bytes among spines."""
        sums, lines, up, down = self.between(), [], {}, {}
        for (a, b), size in sums.items():
            spines = [s for s in range(self.spines) if self.works(a, s) and self.works(b, s)]
            lines.append(" + ".join(f"x_{a}_{b}_{s}" for s in spines) + f" = {size}")
            for s in spines:
                up.setdefault((a, s), []).append(f"x_{a}_{b}_{s}")
                down.setdefault((b, s), []).append(f"x_{a}_{b}_{s}")
        for users in [*up.values(), *down.values()]:
            lines.append(" + ".join(users) + f" - {self.spine_gbits / 8} t <= 0")
        return "Minimize\n obj: t\nSubject To\n" + "\n".join(f" {line}" for line in lines) + "\nEnd\n"


def optimum_ns(text, folder):
    with open(os.path.join(folder, "case.lp"), "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run(["glpsol", "--lp", "case.lp", "-o", "case.out"], cwd=folder, capture_output=True, text=True,
                          check=False)
    with open(os.path.join(folder, "case.out"), encoding="utf-8") as file:
        found = re.search(r"Objective:\s+obj = (\S+)", file.read())
    if done.returncode != 0 or not found:
        raise AssertionError(done.stdout)
    return float(found.group(1))


class Optimum(unittest.TestCase):
    def test_plans_are_near_the_optimum(self):
        for seed in range(1, 25):
            case = Case(seed)
            if not case.between():
                continue
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                case.write(folder)
                failed = ["--failed", f"leaf{case.failed[0]}:spine{case.failed[1]}"] if case.failed else []
                done = program.run("plan", "--topology", "fabric.toml", "--matrix", "matrix.csv", "--json", *failed,
                                   cwd=folder)
                self.assertEqual(done.returncode, 0, done.stderr)
                plan = json.loads(done.stdout)
                optimum = optimum_ns(case.program(), folder) / 1e3
                nics = plan["planned"]["nics_us"]
                planned = plan["planned"]["between_switches_us"]
                self.assertGreaterEqual(planned, optimum * 0.9999)
                self.assertLessEqual(plan["bound_between_switches_us"], optimum * 1.0001)
                # Below the NICs' time nothing is to be gained.
                self.assertLessEqual(max(planned, nics), max(optimum, nics) / 0.97)


if __name__ == "__main__":
    if shutil.which("glpsol") is None:
        print("skipped: there is no glpsol (apt-get install glpk-utils)")
        sys.exit(77)
    unittest.main()
