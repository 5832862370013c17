"""A figure: {id, title, unit, digits, columns, rows: [{name, values}], …} with one value a column: {median, min, max},
or None where nothing was measured. A figure with "simulated" holds no measured value, and one without it no simulated
one.
"""

import statistics


def one(value):
    return {"median": value, "min": value, "max": value}


def percent(value):
    return {key: 100 * value[key] for key in ("median", "min", "max")}


def figure(name, title, unit, columns, rows, digits=2, **more):
    """`rows`: (name, values) in the order in which they are shown."""
    return {"id": name, "title": title, "unit": unit, "digits": digits, "columns": columns,
            "rows": [{"name": row, "values": [value and {key: value[key] for key in ("median", "min", "max")}
                                              for value in values]} for row, values in rows], **more}


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
