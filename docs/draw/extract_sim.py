"""Figures of `bench/run sim`: traffic over simulated RoCE NICs and over heddle, and the model of those NICs beside
published figures.
"""

from figure import figure, one

_TRAFFIC = (("permutation", "p99", "roce_permutation", "permutation of 2 MB: 99th percentile of flow time"),
            ("incast with victims", "p99", "roce_incast", "incast: its 99th percentile of flow time"),
            ("incast with victims", "victims_p99", "roce_victims",
             "incast: 99th percentile of its victims' flow time"),
            ("ring all-reduce", "mean", "roce_all_reduce", "16 ranks, ring all-reduce of 1 MB: time of a call"),
            ("ring all-reduces on all hosts", "mean", "roce_all_reduces",
             "a ring all-reduce of 1 MB on each 16 of them at once: time of a call"),
            ("training step", "mean", "roce_training", "16 ranks, training: time of a step to its computation"))


def _of_seeds(value):
    """A document of one seed may have the value alone."""
    return one(value) if isinstance(value, float) else value


def _beside_roce(document):
    made = []
    for traffic, key, name, what in _TRAFFIC:
        cases = [case for case in document["cases"] if case["traffic"] == traffic]
        conditions, systems = (list(dict.fromkeys(case[field] for case in cases)) for field in ("condition", "system"))
        found = {(case["system"], case["condition"]): case["times_of_ideal"][key] for case in cases}
        rows = [(system, [_of_seeds(found[system, each]) for each in conditions]) for system in systems]
        hosts = "" if document["hosts"] == 64 else f"_{document['hosts']}"
        if cases:
            made.append(figure(f"{name}{hosts}_simulated", f"{document['hosts']} hosts, {what}, simulated",
                               "times the ideal", conditions, rows, 1, better="less", simulated=True))
    return made


def _published(document):
    rows = document["rows"]
    made = figure("roce_published_simulated", "Simulated RoCE NICs and lossless switches beside published figures",
                  "model of RoCE NICs", ["simulated"], [(row["what"], [one(row["measured"])]) for row in rows], 2,
                  better="no_peer", simulated=True)
    for row, shown in zip(rows, made["rows"]):
        shown["note"] = f"{row['unit']} (published: {row['published']}; {row['source']})".strip()
    return [made]


def sim(document):
    by_peer = {"roce": _beside_roce, "published": _published}
    return by_peer[document["peer"]](document) if document.get("peer") in by_peer else []
