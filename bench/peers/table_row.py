"""A row of the table of bench/peers/compare.sh, from the JSON lines of its rounds.

usage: table_row.py FOLDER, which holds the lines `vitrine` and, unless there is no peer, `torch`.
"""

import json
import pathlib
import statistics
import sys


def median(path, key):
    return statistics.median(json.loads(line)[key] for line in path.read_text().splitlines())


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


folder = pathlib.Path(sys.argv[1])
ours, theirs = folder / "vitrine", folder / "torch"
first = json.loads(ours.read_text().splitlines()[0])
speed = median(ours, "examples_per_second")
peer, ratio = "–", "–"
if theirs.exists():
    other = median(theirs, "examples_per_second")
    peer, ratio = number(other), f"{speed / other:.2f}"
share = f"{100 * median(ours, 'fraction_of_sgemm'):.0f} %"
image = f" at {first['image']}" if first["image"] else ""
print(f"| {first['bench']} | `{first['model']}`{image} | {first['batch']} | {number(speed)} "
      f"| {peer} | {ratio} | {share} |", flush=True)
