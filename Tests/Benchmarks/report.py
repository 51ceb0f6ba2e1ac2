"""The table, for people, and the same as JSON."""

import json
import re
import statistics

import plots
from growth import exponent


class Row:
    """One figure of all servers: their medians, how far the rounds lay apart, and whether ours is good enough."""

    def __init__(self, name, what, unit, goal, figures, others=None, failures=None):
        self.name, self.what, self.unit, self.goal = name, what, unit, goal
        self.medians = {server: statistics.median(values) for server, values in figures.items()}
        self.spread = {
            server: (max(values) - min(values)) / statistics.median(values) if statistics.median(values) else 0
            for server, values in figures.items()}
        self.others, self.failures = others or {}, failures or {}
        rivals = {server: value for server, value in self.medians.items() if server != "shareserve"}
        self.ours = self.medians.get("shareserve")
        self.best = min(rivals, key=rivals.get) if rivals else None
        self.ratio = self.ours / rivals[self.best] if self.ours is not None and self.best and rivals[self.best] else None
        bound = goal.bound(rivals) if goal else None
        self.is_met = None if bound is None or self.ours is None else self.ours <= bound

    def json(self):
        return {
            "name": self.name, "what": self.what, "unit": self.unit, "goal": str(self.goal) if self.goal else None,
            "met": self.is_met, "medians": self.medians, "spread": self.spread, "best": self.best, "ratio": self.ratio,
            "others": self.others, "failures": self.failures}

    def show(self):
        ours = "not built" if self.ours is None else f"{self.ours:.4g}"
        best = f"{self.best} {self.medians[self.best]:.4g}" if self.best else "–"
        ratio = f"{self.ratio:.2f}" if self.ratio is not None else "–"
        mark = {True: "✓", False: "✗", None: " "}[self.is_met]
        spread = f"±{self.spread.get('shareserve', 0) * 50:.0f} %"
        rest = ", ".join(
            f"{server} {value:.4g}" for server, value in self.medians.items() if server not in ("shareserve", self.best))
        print(f"{self.what:38} {self.unit:11} {ours:>9} {spread:>6} {best:>17} {ratio:>6}  {str(self.goal or '–'):16} {mark}  {rest}")
        for server, failure in self.failures.items():
            print(f"    {server}: {failure.splitlines()[0] if failure else 'failed'}")
        for key, found in self.others.items():
            print(f"    {key}: " + ", ".join(f"{server} {value:.4g}" for server, value in found.items()))


def show(rows):
    """Prints all rows."""
    print(f"\n{'workload':38} {'unit':11} {'ours':>9} {'':>6} {'best peer':>17} {'ratio':>6}  {'goal':16}    others")
    for row in rows:
        row.show()
    missed = [row.what for row in rows if row.is_met is False]
    print("\ngoals missed: " + ("; ".join(missed) if missed else "none"))


def show_growth(curves):
    """Prints the points of each curve, and how it grows at its end."""
    for name, points in curves.items():
        print(f"\n{name:42} {'s':>10} {'CPU s':>10} {'peak MiB':>9}")
        for point in points:
            print(f"{plots.amount(point['size']):>42} {point['seconds']:10.4f} {point['cpu']:10.4f} {point['memory']:9.1f}")
        grows = exponent(points, "cpu")
        if grows is not None:
            print(f"{'growth of CPU s at the end, 1 is straight':>42} {grows:21.2f}")


def write(place, rows, curves):
    """Leaves the figures as JSON and the curves as SVG in `place`."""
    (place / "bench.json").write_text(json.dumps({"rows": [row.json() for row in rows], "growth": curves}, indent=1))
    for name, points in curves.items():
        (place / (re.sub(r"\W+", "-", name) + ".svg")).write_text(plots.chart(name, points))
    print(f"\nfigures and plots: {place}")
