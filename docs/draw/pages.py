"""What stands in the pages of figures: tables and sources between markers, and the appendix of all results. Pure."""

import re
import textwrap

import slower
from figure import cell, is_ours

BLOCK = re.compile(r"(<!-- (figure|table|slower) (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def prose(text):
    return textwrap.fill(" ".join(text.split()), 118, break_long_words=False, break_on_hyphens=False)


def _bold(row, figure):
    ours = is_ours(row["name"]) and not figure.get("all_ours")
    return f"**{row['name']}**" if ours else row["name"]


def table(figure, every_row=False):
    """Markdown; only `page_rows` where a figure names them and not `every_row` is asked for."""
    if "comparison" in figure:
        return comparison(figure["comparison"])
    kept = None if every_row else figure.get("page_rows")
    lines = [f"| {figure['unit']} | " + " | ".join(figure["columns"]) + " |",
             "|---|" + "---:|" * len(figure["columns"])]
    for row in figure["rows"]:
        if kept is None or row["name"] in kept:
            name = _bold(row, figure) + (f" {row['note']}" if row.get("note") else "")
            lines.append(f"| {name} | " + " | ".join(cell(value, figure["digits"]) for value in row["values"]) + " |")
    return "\n".join(lines)


def comparison(rows):
    lines = ["| | heddle | without heddle | | times as fast |", "|---|---:|---:|---|---:|"]
    for row in rows:
        digits = row["digits"]
        ours = f"**{cell(row['heddle'], digits)}**" if row["heddle"] else "-"
        lines.append(f"| {row['what']} | {ours} | {cell(row['peer'], digits) if row['peer'] else '-'} | "
                     f"{row['peer_name']} | {cell(row['ratio'], 2)} |")
    return "\n".join(lines)


def source(data):
    """Where, when and by which command; a line of code and a line of prose."""
    machine = data["machine"]
    gpu = f"{machine['gpu']}, " if "gpu" in machine else ""
    gpu += f"NCCL {machine['nccl']}, PyTorch {machine['torch']}, " if "nccl" in machine else ""
    where = f"{gpu}{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}"
    commit = f", commit {data['commit']}" if data.get("commit") else ""
    kind = "Simulated" if data.get("kind") == "simulated" else "Measured"
    how = " Transcribed from an earlier report." if data.get("origin") == "transcribed" else ""
    rounds = data.get("document", {}).get("rounds")
    how += f" {rounds} round{'s' if rounds > 1 else ''}." if rounds else ""
    return f"```sh\n{data['command']}\n```\n\n" + prose(f"{kind} {data['date']}{commit}: {where}.{how}")


def short_source(data):
    """When and by which command, below a table of a page; the appendix has the machine."""
    commit = f", commit {data['commit']}" if data.get("commit") else ""
    kind = "Simulated" if data.get("kind") == "simulated" else "Measured"
    how = ", transcribed from an earlier report" if data.get("origin") == "transcribed" else ""
    return prose(f"{kind} by `{data['command']}`, {data['date']}{commit}{how}.")


def chart_path(figure):
    return f"performance/{figure['id']}.svg"


def _losses(found):
    """Rows of other commands for a table of comparisons: where heddle is behind, so that no table shows gains alone."""
    rows = []
    for row in found["training"][0]["rows"] if "training" in found else ():
        if row["values"][0] and row["values"][0]["median"] < slower.SHOWN_BELOW:
            rows.append({"what": f"ResNet-18, {row['name']} ¹", "digits": 0, "heddle": None, "peer": None,
                         "peer_name": "Gloo over TCP", "ratio": row["values"][0]})
    if "latency" in found:
        figure = found["latency"][0]
        ours, raw = (next(row["values"][0] for row in figure["rows"] if row["name"] == name)
                     for name in ("heddle", "raw UDP"))
        share = raw["median"] / ours["median"]
        rows.append({"what": "one-way latency of 64 bytes, no rate limit, µs ¹", "digits": 1, "heddle": ours,
                     "peer": raw, "peer_name": "UDP sockets", "ratio": {"median": share, "min": share, "max": share}})
    return rows[-2:]


def _compared(figure, data, found):
    """A table of comparisons with where it comes from."""
    losses = _losses(found)
    machine = data["machine"]
    commit = f", commit {data['commit']}" if data.get("commit") else ""
    text = (f"`{data['command']}`, {data['date']}{commit}: {machine['cpu']}, {machine['cores']} cores. Median (least "
            f"to most). {figure.get('remark', '')}")
    if losses:
        text += " ¹ Not part of `make verify`: from `bench/run training` and `bench/run p2p`."
    return f"{comparison(figure['comparison'] + losses)}\n\n{prose(text)}\n"


def _hidden_rows(figure, file):
    """A line that leads to the rows that the page does not show, or nothing."""
    shown, every = (len(table(figure, every_row).splitlines()) for every_row in (False, True))
    return f"\n{shown - 2} of {every - 2} rows: [all](performance/results.md#{file}).\n" if shown < every else ""


def _filled(kind, figure, data):
    body = table(figure) + "\n" + _hidden_rows(figure, data["file"])
    if kind == "table":
        return f"{body}\n{short_source(data)}\n"
    return f"![{figure['title']}]({chart_path(figure)})\n\n{body}\n{source(data)}\n"


def fill(page, found):
    """The page with its blocks made anew. `found`: id to (figure, data). An id that nothing has is an error."""
    topics = [match.group(3) for match in BLOCK.finditer(page) if match.group(2) == "slower"]
    behind = slower.cases(found) if topics else {}
    if topics:
        slower.check_topics(found, topics)

    def block(match):
        if match.group(2) == "slower":
            return match.group(1) + slower.table(match.group(3), behind.get(match.group(3), [])) + "\n" + match.group(4)
        figure, data = found[match.group(3)]
        if "comparison" in figure:
            return match.group(1) + _compared(figure, data, found) + match.group(4)
        return match.group(1) + _filled(match.group(2), figure, data) + match.group(4)
    return BLOCK.sub(block, page)


def charts(page):
    """The ids of the figures that a page shows as charts."""
    return [match.group(3) for match in BLOCK.finditer(page) if match.group(2) == "figure"]


def results(files):
    """The appendix: every figure of every file, measured ones first. `files`: (name, data, figures)."""
    lines = ["# All results", "",
             "Made from the JSON files of this folder by `docs/draw/draw.py`; do not edit. Values are the median",
             "(least to most) of interleaved rounds. [method.md](method.md) says how they are measured.", ""]
    for title, simulated in (("Measured", False), ("Simulated", True)):
        lines += [f"## {title}", ""]
        for name, data, figures in files:
            shown = [figure for figure in figures if bool(figure.get("simulated")) == simulated]
            if not shown:
                continue
            lines += [f"### {name}", "", source({**data, "kind": "simulated" if simulated else "measured"}), ""]
            for figure in shown:
                lines += [f"**{figure['title']}**", "", table(figure, every_row=True), ""]
                lines += [prose(figure["remark"]), ""] if figure.get("remark") else []
    return "\n".join(lines)
