#!/usr/bin/env python3
"""Draws the charts of the docs and fills in their tables, from the JSON files of docs/performance.

docs/draw/draw.py           writes charts, tables and the appendix
docs/draw/draw.py --check   writes nothing; names what is not as it would be made, and exits with 1

`bench/run SCENARIO --save docs/performance/NAME.json` measures anew; then run this.
"""

import json
import pathlib
import sys

import chart
import extract
import fabric
import pages
import shown_rows
import slower

DOCS = pathlib.Path(__file__).resolve().parent.parent
_PAGES = ("performance.md", "../README.md")


def read_files(folder):
    """(name, data, figures) of every file, in the order of their names."""
    files = []
    for path in sorted(folder.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        files.append((path.stem, data, [shown_rows.with_shown_rows(each) for each in extract.figures(data)]))
    return files


def make(docs):
    """{path: text} of everything that is made."""
    files = read_files(docs / "performance")
    found = {}
    for name, data, figures in files:
        for figure in figures:
            if figure["id"] in found:
                raise SystemExit(f"error: {name}.json has the figure {figure['id']}, which another file has, too")
            kind = "simulated" if figure.get("simulated") else "measured"
            found[figure["id"]] = (figure, {**data, "kind": kind, "file": name})
    texts = {(docs / name).resolve(): (docs / name).read_text(encoding="utf-8") for name in _PAGES}
    shown = [found[name][0] for text in texts.values() for name in pages.charts(text)]
    made = {docs / pages.chart_path(figure): chart.draw(figure) for figure in shown}
    made[docs / "performance" / "results.md"] = pages.results(files)
    made[docs / "performance" / "slower.md"] = slower.page(found)
    tcp, ours = (_over_spines(found["multipath"][0], name) for name in ("TCP cubic, 1 flow", "heddle"))
    made[docs / "images" / "fabric.svg"] = fabric.picture(tcp, ours)
    return made | {path: pages.fill(text, found) for path, text in texts.items()}


def _over_spines(figure, name):
    """Mb/s over even spines at MTU 9000, as the README's picture shows it."""
    column = figure["columns"].index("even, MTU 9000")
    row = next(row for row in figure["rows"] if row["name"] == name)
    return row["values"][column]["median"] * figure["capacities_mbits"][column]


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    made = make(DOCS)
    stale = [path for path, text in made.items()
             if not path.is_file() or path.read_text(encoding="utf-8") != text]
    unmade = sorted(set((DOCS / "performance").glob("*.svg")) - set(made))
    if arguments:
        for path in [*stale, *unmade]:
            print(f"{path.relative_to(DOCS.parent)}: is not as docs/draw/draw.py makes it")
        return 1 if stale or unmade else 0
    for path in stale:
        path.write_text(made[path], encoding="utf-8")
    for path in unmade:
        path.unlink()
    print(f"{len(stale)} files written, {len(unmade)} removed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
