"""Figures of C4P (C4, HPCA 2025), for a column of their own: theirs, of their fabric and jobs, and no measurement here.

Those marked "recalled" were written down from memory and not looked up again. C4P is compared with ECMP there.
"""

HEAD = "C4P's, theirs"
_NONE = "-"

# What a figure is of: its text, and whether it is recalled.
FIGURES = {
    "one job, bus bandwidth": {"figure": "<240, ~360 of 362", "unit": "Gb/s", "recalled": True},
    "eight jobs, 1:1": {"figure": "+70%", "unit": "over ECMP", "recalled": True},
    "eight jobs, 2:1": {"figure": "+66%", "unit": "over ECMP", "recalled": True},
    "an uplink of eight failed, ECMP": {"figure": "186 of 315", "unit": "Gb/s", "recalled": True},
    "an uplink of eight failed, planned again": {"figure": "301 of 315", "unit": "Gb/s", "recalled": True},
    "step, moderate communication": {"figure": "about 15%", "unit": "of the run time", "recalled": False},
    "step, hidden communication": {"figure": "none", "unit": "", "recalled": True},
}


def _text(name):
    """The cell, with * for what is recalled."""
    if name is None:
        return _NONE
    of = FIGURES[name]
    return f"{of['figure']} {of['unit']}".strip() + ("*" if of["recalled"] else "")


def rate(case):
    """By the case of bench/run plan and of its tenants. Others have none."""
    return _text({"one ring, two ports": "one job, bus bandwidth", "eight rings, 1:1": "eight jobs, 1:1",
                  "eight rings, 2:1": "eight jobs, 2:1", "eight jobs, 1:1": "eight jobs, 1:1",
                  "eight jobs, 2:1": "eight jobs, 2:1"}.get(case))


def failed_uplink(key):
    """By the key of a strategy after the failure."""
    return _text({"ecmp": "an uplink of eight failed, ECMP", "plan": "an uplink of eight failed, planned again",
                  "replan": "an uplink of eight failed, planned again"}.get(key))


def step(case):
    return _text({"30% exposed": "step, moderate communication",
                  "hidden behind the backward pass": "step, hidden communication"}.get(case))


def jobs(key):
    """Of eight jobs, by the key of a strategy: C4P plans all jobs of a fabric."""
    both = [FIGURES[f"eight jobs, {name}"]["figure"] for name in ("1:1", "2:1")]
    return f"{', '.join(both)} over ECMP*" if key == "together" else _NONE


def note():
    print("\nC4P's figures are theirs (C4, HPCA 2025), of other fabrics, jobs and hosts: no measurement of this "
          "program.\n* recalled, not looked up again")
