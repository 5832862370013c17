"""Charts as SVG text: bars beside each other with ranges, and ratios by size. Pure; numbers come from figures."""

import html
import math

from figure import is_ours, number

WIDTH = 760
_LABELS, _RIGHT, _TOP, _ROW = 192, 14, 76, 24
_INK, _MUTED, _GRID, _PAPER = "#1f2933", "#616e7c", "#d9e2ec", "#ffffff"
_OURS, _THEIRS = "#0b7285", "#b0bac5"
_LINES = ("#0b7285", "#e8590c", "#5f3dc4", "#868e96")
_FONT = "font-family='Helvetica, Arial, DejaVu Sans, sans-serif'"


def text(x, y, content, size=12, color=_INK, anchor="start", weight="normal"):
    return (f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' fill='{color}' text-anchor='{anchor}' "
            f"font-weight='{weight}' {_FONT}>{html.escape(str(content))}</text>")


def line(x1, y1, x2, y2, color=_GRID, width=1.0, dash=""):
    dashed = f" stroke-dasharray='{dash}'" if dash else ""
    return (f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{color}' "
            f"stroke-width='{width}'{dashed}/>")


def box(x, y, width, height, color, radius=2):
    return (f"<rect x='{x:.1f}' y='{y:.1f}' width='{max(width, 0):.1f}' height='{height:.1f}' rx='{radius}' "
            f"fill='{color}'/>")


def svg(height, parts, title, width=WIDTH):
    head = (f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' "
            f"height='{height}' role='img' aria-label='{html.escape(title, quote=True)}'>")
    return "\n".join([head, box(0, 0, width, height, _PAPER, 6), *parts, "</svg>", ""])


def shown_rows(figure):
    """At most six: those that the figure names, or all."""
    kept = figure.get("page_rows")
    return [row for row in figure["rows"] if kept is None or row["name"] in kept]


def _panel(figure, column, left, width, scale):
    """One column of a figure: a bar for each row, its range as a thin line, its median as a number."""
    several = len(figure["columns"]) > 1
    parts = [text(left, _TOP - 10, figure["columns"][column], 12, _MUTED)] if several else []
    rows = shown_rows(figure)
    height = _ROW * len(rows)
    parts.append(line(left, _TOP, left, _TOP + height))
    if "reference" in figure:
        at = left + figure["reference"] * scale
        parts.append(line(at, _TOP - 4, at, _TOP + height, _MUTED, 1, "3 3"))
    for index, row in enumerate(rows):
        value, y = row["values"][column], _TOP + index * _ROW
        if value is None:
            parts.append(text(left + 6, y + 16, "not measured", 11, _MUTED))
            continue
        ours = is_ours(row["name"]) or figure.get("all_ours", False)
        parts.append(box(left, y + 5, value["median"] * scale, _ROW - 10, _OURS if ours else _THEIRS))
        low = max(value["min"], 0)
        end = max(value["median"], value["max"])
        if value["max"] > low:
            middle = y + _ROW / 2
            parts.append(line(left + low * scale, middle, left + value["max"] * scale, middle, _INK, 1.2))
        shown = number(value["median"], figure["digits"]) + (f"  {row['note']}" if row.get("note") else "")
        parts.append(text(left + end * scale + 5, y + 16, shown, 11.5, _INK, weight="bold" if ours else "normal"))
    return parts


def bars(figure):
    """Rows as bars; a panel for each column, all on one scale that begins at 0."""
    count = len(figure["columns"])
    panel = (WIDTH - _LABELS - _RIGHT) / count
    rows = shown_rows(figure)
    note = max(len(row.get("note", "")) for row in rows)
    room = panel - 56 - 6.2 * note
    most = max(value["max"] for row in rows for value in row["values"] if value)
    parts = [text(14, 26, figure["title"], 14.5, weight="bold"), text(14, 44, figure["unit"], 11.5, _MUTED)]
    for index, row in enumerate(rows):
        ours = is_ours(row["name"])
        parts.append(text(14, _TOP + index * _ROW + 16, row["name"], 12, weight="bold" if ours else "normal"))
    for column in range(count):
        parts += _panel(figure, column, _LABELS + column * panel, panel, room / most)
    return svg(_TOP + _ROW * len(rows) + 14, parts, figure["title"])


def _ratio_axis(figure, low, high, place):
    parts, top, bottom = [], place(high), place(low)
    parts.append(box(_LINE_LEFT, top, _LINE_RIGHT - _LINE_LEFT, place(1) - top, "#f1f8fa", 0))
    for tick in (0.5, 0.7, 1, 1.5, 2, 3, 5, 7):
        if low <= tick <= high:
            y = place(tick)
            parts.append(line(_LINE_LEFT, y, _LINE_RIGHT, y, _MUTED if tick == 1 else _GRID, 1.4 if tick == 1 else 1))
            parts.append(text(_LINE_LEFT - 8, y + 4, f"{tick:g}", 11.5, _MUTED, "end"))
    parts.append(text(_LINE_LEFT + 6, top + 15, "heddle is faster", 11, _OURS))
    parts.append(text(_LINE_LEFT + 6, bottom - 6, "the peer is faster", 11, _MUTED))
    return parts


_LINE_LEFT, _LINE_RIGHT, _LINE_TOP, _LINE_HEIGHT = 46, 660, 44, 250


def ratios(figure):
    """A line for each column over the rows, on a logarithmic axis with 1 marked: above it heddle is faster."""
    values = [value for row in figure["rows"] for value in row["values"]]
    low, high = min(0.6, min(value["min"] for value in values) * 0.95), max(value["max"] for value in values) * 1.1
    span = math.log(high / low)

    def place(value):
        return _LINE_TOP + _LINE_HEIGHT * math.log(high / value) / span

    step = (_LINE_RIGHT - _LINE_LEFT) / len(figure["rows"])
    xs = [_LINE_LEFT + step * (index + 0.5) for index in range(len(figure["rows"]))]
    parts = [text(14, 26, figure["title"], 14.5, weight="bold"), *_ratio_axis(figure, low, high, place)]
    for x, row in zip(xs, figure["rows"]):
        parts.append(text(x, _LINE_TOP + _LINE_HEIGHT + 18, row["name"], 11.5, _MUTED, "middle"))
    ends = _spaced([place(figure["rows"][-1]["values"][column]["median"]) for column in range(len(figure["columns"]))])
    for column, name in enumerate(figure["columns"]):
        color = _LINES[column % len(_LINES)]
        points = [(x, place(row["values"][column]["median"])) for x, row in zip(xs, figure["rows"])]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        for (x, _), row in zip(points, figure["rows"]):
            value, shifted = row["values"][column], x + 3 * (column - (len(figure["columns"]) - 1) / 2)
            parts.append(line(shifted, place(value["min"]), shifted, place(value["max"]), color + "66", 3))
        parts.append(f"<polyline points='{path}' fill='none' stroke='{color}' stroke-width='2'/>")
        parts += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.2' fill='{color}'/>" for x, y in points]
        parts.append(text(_LINE_RIGHT + 4, ends[column] + 4, name, 12, color, weight="bold"))
    return svg(_LINE_TOP + _LINE_HEIGHT + 32, parts, figure["title"])


def _spaced(places, apart=16):
    """Labels at these heights, moved down where they would cover each other."""
    moved = list(places)
    order = sorted(range(len(places)), key=places.__getitem__)
    for before, after in zip(order, order[1:]):
        moved[after] = max(moved[after], moved[before] + apart)
    return moved


def draw(figure):
    return ratios(figure) if figure.get("chart") == "ratios" else bars(figure)
