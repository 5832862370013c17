"""Where a peer is ahead: each case of each figure that has peers, by topic; as tables of performance.md, which show the
worst case of a figure, and as the page of all. Pure.
"""

import collections
import re
import textwrap
import typing

from figure import cell, directions, is_ours, one

SHOWN_BELOW = 0.97  # a peer that is ahead by less is not listed
_MOST = 6

TOPICS = {"connection": "One connection", "incast": "Many senders to one receiver",
          "collectives": "Collectives and training", "nccl": "NCCL's traffic, without a GPU",
          "gpu": "NCCL on a GPU", "rdma": "RDMA", "simulated": "Simulated"}
# Of a measured figure that names no topic itself.
_TOPIC_OF = {"p2p": "connection", "loss": "connection", "multipath": "connection", "distance": "connection",
             "nics": "connection", "failure": "connection", "plan": "connection", "verify": "connection",
             "incast": "incast", "allreduce": "collectives", "training": "collectives", "elastic": "collectives",
             "nccl": "nccl", "gpu": "gpu", "rdma": "rdma"}
# They move bytes without the same work, are calculated, or ran on another machine.
_NO_PEERS = re.compile(r"\b(sockets|flows),? alone|^OpenSSL alone|^bound\b|^integrator\b")


class Case(typing.NamedTuple):
    """`share`: heddle to the peer, so that below 1 the peer is ahead."""
    share: float
    what: str
    heddle: str
    peer: str
    shown: str
    figure: str


def _share(mine, theirs, more):
    above, below = (mine, theirs) if more else (theirs, mine)
    return above / below if below else 1.0


def _name(figure):
    return figure.get("short", figure["title"])


def _peers(figure, index, row):
    """(name, value) of the programs beside which a row is, in a column."""
    limit = [(figure["one_is"], one(1))] if "one_is" in figure else []
    return limit + [(each["name"], each["values"][index]) for each in figure["rows"]
                    if each["values"][index] and each.get("case") == row.get("case") and not is_ours(each["name"])
                    and not _NO_PEERS.search(each["name"])]


# The second run of one program, and heddle with less than it is compared with: a measure of the row beside it.
_NOT_COMPARED = (" again", ", one NIC")


def _behind_peers(figure):
    """Of each column and each of heddle's rows, beside the best peer."""
    own = [row for row in figure["rows"] if is_ours(row["name"]) and not row["name"].endswith(_NOT_COMPARED)]
    unit = "" if isinstance(figure["better"], list) else f", {figure['unit']}"  # such columns name their own
    for index, (column, better) in enumerate(zip(figure["columns"], directions(figure))):
        more = better == "more"
        for row in own if better != "no_peer" else ():
            mine, peers = row["values"][index], _peers(figure, index, row)
            if not mine or not peers:
                continue
            name, theirs = (max if more else min)(peers, key=lambda peer: peer[1]["median"])
            share = _share(mine["median"], theirs["median"], more)
            where = f", {column}" if len(figure["columns"]) > 1 else ""
            which = f", {row['name']}" if len(own) > 1 else ""
            yield Case(share, f"{_name(figure)}{where}{which}{unit}", cell(mine, figure["digits"]),
                       f"{name}: {cell(theirs, figure['digits'])}", f"{share:.2f}", figure["id"])


def _behind_ratios(figure):
    """Of a figure whose values are heddle to its peer."""
    for row in figure["rows"]:
        for column, value in zip(figure["columns"], row["values"]):
            where = f", {column}" if len(figure["columns"]) > 1 else ""
            if value:
                yield Case(value["median"], f"{_name(figure)}: {row['name']}{where}", "-", "-",
                           cell(value, figure["digits"]), figure["id"])


def _behind_comparison(figure):
    for row in figure["comparison"]:
        if row.get("ratio"):
            yield Case(row["ratio"]["median"], row["what"], cell(row["heddle"], row["digits"]),
                       f"{row['peer_name']}: {cell(row['peer'], row['digits'])}", cell(row["ratio"], 2), figure["id"])


def _compared(figure):
    if "comparison" in figure:
        return _behind_comparison(figure)
    if figure["unit"] == "times as fast" and figure["better"] == "more":
        return _behind_ratios(figure)
    return _behind_peers(figure)


def _topic(figure, data):
    topic = "simulated" if figure.get("simulated") else figure.get("topic") or _TOPIC_OF.get(data["scenario"])
    if topic not in TOPICS:
        raise SystemExit(f"error: a peer is ahead in the figure {figure['id']} of {data['scenario']}, which has no "
                         "topic: add the scenario to _TOPIC_OF in docs/draw/slower.py")
    return topic


def cases(found):
    """{topic: cases}, the furthest behind first. `found`: id to (figure, data). A figure whose values are compared in
    another one is listed there alone.
    """
    made = collections.defaultdict(list)
    for figure, data in found.values():
        if figure.get("compared_in") in found:
            continue
        behind = [case for case in _compared(figure) if case.share < SHOWN_BELOW]
        if behind:
            made[_topic(figure, data)] += behind
    return {topic: sorted(some) for topic, some in made.items()}


def _lines(head, rows):
    return "\n".join([f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1),
                      *(f"| {' | '.join(row)} |" for row in rows)])


_HEAD = ("case", "heddle", "peer", "heddle to the peer")


def table(topic, some):
    """At most six figures of a topic, each with its worst case and the number of its cases."""
    if not some:
        return "No peer is ahead by more than 3%."
    worst, count = {}, collections.Counter(case.figure for case in some)
    for case in some:
        worst.setdefault(case.figure, case)
    shown = list(worst.values())[:_MOST]
    rows = [(*case[1:5], str(count[case.figure])) for case in shown]
    anchor = re.sub(r"[^\w\- ]", "", TOPICS[topic].lower()).replace(" ", "-")
    return (_lines((*_HEAD, "such cases"), rows) +
            f"\n\nThe worst of {len(shown)} of {len(worst)} figures: [all {len(some)} cases]"
            f"(performance/slower.md#{anchor}).")


def check_topics(found, shown):
    """An error for a topic that has cases and no table on the page."""
    for topic in sorted(set(cases(found)) - set(shown)):
        raise SystemExit(f"error: docs/performance.md does not show where heddle is slower in {topic}: add "
                         f"'<!-- slower {topic} -->' and '<!-- end -->' below a heading of its own")


def page(found):
    """All cases of all topics."""
    made = cases(found)
    intro = ("Every case in which the median of a peer is ahead of heddle's by more than 3%, the furthest first: "
             "heddle to the peer, so that 0.5 is half as fast, or twice the time or the cost. A peer is a program that "
             "did the same work in the same run; several of them count as the best one. Where figures are ratios, "
             "heddle and peer have no values of their own. Made from the JSON files of this folder by "
             "`docs/draw/draw.py`; do not edit.")
    lines = ["# Where heddle is slower", "", textwrap.fill(intro, 118, break_on_hyphens=False), ""]
    for topic, title in TOPICS.items():
        if topic in made:
            lines += [f"## {title}", "", _lines(_HEAD, [case[1:5] for case in made[topic]]), ""]
    return "\n".join(lines)
