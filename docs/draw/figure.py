"""A figure: {id, title, unit, digits, columns, rows: [{name, values}], …} with one value a column: {median, min, max},
or None where nothing was measured. A figure with "simulated" holds no measured value, and one without it no simulated
one. `better` is its direction: "more", "less" or "no_peer" where heddle is beside no other program, or a list with one
for each column.
"""

import statistics


def one(value):
    return {"median": value, "min": value, "max": value}


def is_ours(name):
    return name.startswith("heddle")


def number(value, digits):
    return f"{value:,.{digits}f}"


def cell(value, digits):
    """Of a table: the median and the range, or a text where only a range is known."""
    if value is None or isinstance(value, str):
        return value or "-"
    median, low, high = (number(value[key], digits) for key in ("median", "min", "max"))
    return median if low == high == median else f"{median} ({low} to {high})"


def percent(value):
    return {key: 100 * value[key] for key in ("median", "min", "max")}


def figure(name, title, unit, columns, rows, digits=2, **more):
    """`rows`: (name, values) in the order in which they are shown."""
    return {"id": name, "title": title, "unit": unit, "digits": digits, "columns": columns,
            "rows": [{"name": row, "values": [value and {key: value[key] for key in ("median", "min", "max")}
                                              for value in values]} for row, values in rows], **more}


_DIRECTIONS = ("more", "less", "no_peer")


def check_direction(made):
    """An error for a figure without a direction: pages.py could not list where a peer is ahead."""
    better = made.get("better")
    each = better if isinstance(better, list) else [better]
    if set(each) - set(_DIRECTIONS) or len(each) not in (1, len(made.get("columns", each))):
        raise SystemExit(f"error: the figure {made['id']} does not say whether more or less of it is better: give it "
                         f"better={' or '.join(_DIRECTIONS)}, or a list with one of these for each column")


def directions(made):
    """One for each column."""
    better = made["better"]
    return better if isinstance(better, list) else [better] * len(made["columns"])


def by_program(parts, key, rename=lambda name: name):
    """Rows of several parts that each list their programs; a program that a part lacks has None there."""
    names = list(dict.fromkeys(program["program"] for part in parts for program in part["programs"]))
    found = [{program["program"]: program[key] for program in part["programs"]} for part in parts]
    return [(rename(name), [part.get(name) for part in found]) for name in names]


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def size_name(count):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count // unit} {name}"
    return f"{count} B"
