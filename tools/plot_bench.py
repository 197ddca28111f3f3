#!/usr/bin/env python3
"""Draws results of `kith bench loss:NAME --json` as an SVG: time and extra
memory against the size of the batch, on logarithmic axes.

usage: plot_bench.py RESULTS OUT.svg [--references FILE] [--title TEXT]
       plot_bench.py --self-test

RESULTS holds JSON objects one after another, as `>>` collects them; of two
with the same settings and batch the later one counts. A series is what was
run with the same settings: device, products, SiMix, and whatever else differs
between the results. Dashed lines are the bare matrix products.

FILE is CSV with the header name,M,ms,mb: points from elsewhere, such as
published numbers. A cell of ms or mb may be empty.
"""

import argparse
import csv
import json
import math
import pathlib
import sys
import tempfile
import xml.etree.ElementTree
from html import escape

# Okabe & Ito's colours, told apart with every kind of colour vision.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
INK, FAINT, GRID = "#1f2328", "#59636e", "#d8dee4"

WIDTH, PLOT_HEIGHT, MARGIN = 920, 300, 20
FONT, SMALL, TITLE = 13, 12, 16
GAP = 36  # between the panels
LETTER = 0.55  # mean width of a letter, of the font size

STYLE = f"""
text {{ font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans',
  'Liberation Sans', Arial, sans-serif; font-size: {FONT}px; fill: {INK}; }}
.title {{ font-size: {TITLE}px; font-weight: 600; }}
.head {{ font-weight: 600; }}
.faint {{ fill: {FAINT}; font-size: {SMALL}px; }}
.middle {{ text-anchor: middle; }}
.end {{ text-anchor: end; }}
.grid {{ stroke: {GRID}; }}
.minor {{ stroke: {GRID}; stroke-opacity: .5; }}
.axis {{ stroke: {FAINT}; }}
.line {{ fill: none; stroke-linejoin: round; }}
.dashed {{ stroke-dasharray: 6 4; }}
.reference {{ fill: #fff; stroke: {INK}; stroke-width: 1.5; }}
"""


# ---------------------------------------------------------------- the results

class Series:
    """Runs with the same settings, and how they are drawn."""

    def __init__(self, label, colour):
        self.label = label
        self.colour = colour
        self.runs = {}  # by M

    def points(self, value):
        """(M, value(run)) in the order of M, without what is unknown."""
        found = [(m, value(run)) for m, run in sorted(self.runs.items())]
        return [(m, v) for m, v in found if v is not None and v > 0]


def read_results(text):
    """JSON objects that follow each other, on a line each or not."""
    decoder, results, at = json.JSONDecoder(), [], 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return results
        result, at = decoder.raw_decode(text, at)
        results.append(result)


def device_label(result):
    device = result["device"]
    if device.startswith("cpu"):
        return "CPU"
    return device[device.find("(") + 1:-1] if "(" in device else device


def on_gpu(result):
    return not result["device"].startswith("cpu")


# What tells series apart: a key of the results, and how a value is shown. The
# ones of ALWAYS count, the others where the results differ.
PARTS = [("name", lambda r: r["name"].removeprefix("loss:")),
         ("device", device_label),
         ("threads", lambda r: f"{r['threads']} threads"),
         ("cpu", lambda r: r["cpu"]),
         ("dim", lambda r: f"d = {r['dim']}"),
         ("per_class", lambda r: f"{r['per_class']} a class"),
         ("products",
          lambda r: "TF32" if r["products"] == "tf32" else r["products"]),
         ("simix", lambda r: "SiMix" if r["simix"] else "")]
ALWAYS = ("device", "products", "simix")
OF_CPU = ("threads", "cpu")  # say nothing of a GPU


def make_series(results):
    """The series, and the settings that all results share, as text."""
    def differs(key):
        return len({r[key] for r in results
                    if not (on_gpu(r) and key in OF_CPU)}) > 1
    parts = [(k, show) for k, show in PARTS if k in ALWAYS or differs(k)]
    series = {}
    for result in results:
        words = [show(result) for key, show in parts
                 if not (on_gpu(result) and key in OF_CPU)]
        label = ", ".join(word for word in words if word)
        if label not in series:
            series[label] = Series(label, COLOURS[len(series) % len(COLOURS)])
        series[label].runs[result["batch"]] = result
    same = [show(results[0]) for key, show in PARTS
            if key in ("dim", "per_class") and not differs(key)]
    return list(series.values()), ", ".join(same)


def product_lines(series):
    """(colour, points) of the products, once for series that share them: they
    do not depend on the loss, its classes or SiMix."""
    lines = {}
    for s in series:
        run = next(iter(s.runs.values()))
        key = tuple(run[k] for k in ("device", "products", "dim", "threads"))
        points = s.points(lambda r: r["products_ms"])
        if key not in lines or len(points) > len(lines[key][1]):
            lines[key] = (lines.get(key, (s.colour,))[0], points)
    return list(lines.values())


def read_references(path):
    """[(name, M, ms or None, mb or None)]"""
    def number(row, key):
        return float(row[key]) if (row.get(key) or "").strip() else None
    with open(path, newline="", encoding="utf-8") as file:
        return [(row["name"].strip(), float(row["M"]), number(row, "ms"),
                 number(row, "mb"))
                for row in csv.DictReader(file, skipinitialspace=True)]


# ---------------------------------------------------------------- the drawing

def width_of(text, font=FONT):
    return len(text) * font * LETTER


def shown_number(value):
    """1000, 0.1; no exponents where people can read the number."""
    if value >= 1e7 or value < 1e-4:
        return f"{value:.0e}"
    return f"{value:.10f}".rstrip("0").rstrip(".")


class LogAxis:
    """Values from lo to hi, on pixels from begin to end."""

    def __init__(self, values, begin, end):
        low, high = min(values), max(values)
        if high < 4 * low:  # room for two ticks
            low, high = low / 2, high * 2
        space = (high / low) ** 0.06
        self.lo, self.hi = low / space, high * space
        self.begin, self.end = begin, end

    def at(self, value):
        share = math.log(value / self.lo) / math.log(self.hi / self.lo)
        return self.begin + share * (self.end - self.begin)

    def inside(self, values):
        return [v for v in values if self.lo <= v <= self.hi]

    def decades(self, steps):
        first = math.floor(math.log10(self.lo))
        last = math.ceil(math.log10(self.hi))
        return self.inside([step * 10.0 ** e for e in range(first, last + 1)
                            for step in steps])

    def ticks(self):
        """Decades; where there are few, steps between them as well."""
        for steps in ([1], [1, 3], [1, 2, 5], range(1, 10)):
            ticks = self.decades(steps)
            if len(ticks) >= 3:
                break
        return ticks


def spread(axis, ticks):
    """Those of the ticks whose labels do not touch, evenly if they can be."""
    for step in range(1, len(ticks) + 1):
        chosen = ticks[::step]
        boxes = [(axis.at(t), width_of(shown_number(t), SMALL) + 10)
                 for t in chosen]
        if all(b[0] - a[0] > (a[1] + b[1]) / 2
               for a, b in zip(boxes, boxes[1:])):
            return chosen
    return ticks[:1]


def line(x1, y1, x2, y2, kind, more=""):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'class="{kind}"{more}/>')


def text(x, y, words, kind=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">'
            f'{escape(words)}</text>')


def marker(shape, x, y):
    """A sign of a reference: each name has its own."""
    corners = [
        [(0, -6), (6, 0), (0, 6), (-6, 0)],               # diamond
        [(0, -6), (6, 5), (-6, 5)],                       # triangle
        [(-5, -5), (5, -5), (5, 5), (-5, 5)],             # square
        [(0, 6), (6, -5), (-6, -5)],                      # triangle, down
        [(-6, -2), (0, -6), (6, -2), (4, 5), (-4, 5)],    # pentagon
    ][shape % 5]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" class="reference"/>'


def polyline(pixels, colour, kind, width):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in pixels)
    return (f'<polyline points="{path}" class="{kind}" stroke="{colour}" '
            f'stroke-width="{width}"/>')


def dots(pixels, colour, radius):
    return [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" '
            f'fill="{colour}"/>' for x, y in pixels]


def curves(axes, lines):
    """The lines, the first at the bottom. One that others hide is wider, to
    be seen on both sides of them."""
    drawn = [([(axes[0].at(m), axes[1].at(v)) for m, v in points], colour,
              dashed) for points, colour, dashed in lines]
    def hides(over, under):
        under = dict(under)
        common = [(y, under[x]) for x, y in over if x in under]
        return (len(common) >= 2
                and sum(abs(a - b) < 3 for a, b in common) > len(common) / 2)
    out = []
    for i, (pixels, colour, dashed) in enumerate(drawn):
        if dashed:
            out.append(polyline(pixels, colour, "line dashed", 1.5))
            continue
        above = sum(hides(other, pixels) for other, _, _ in drawn[i + 1:])
        out.append(polyline(pixels, colour, "line", 2.25 + 3 * above))
        out += dots(pixels, colour, 3.5 + 2 * above)
    return out


def panel(left, right, top, head, batches, lines, references):
    """One plot. `lines`: (points, colour, dashed); `references`: (shape, M,
    value)."""
    values = [v for points, _, _ in lines for _, v in points]
    values += [v for _, _, v in references]
    out = [text(left, top + FONT, head, "head")]
    top, bottom = top + 26, top + 26 + PLOT_HEIGHT
    if not values:
        return out + [text((left + right) / 2, (top + bottom) / 2,
                           "not measured", "faint middle")]
    y = LogAxis(values, bottom, top)
    ticks = y.ticks()
    start = left + max(width_of(shown_number(t), SMALL) for t in ticks) + 8
    x = LogAxis(batches, start, right)
    for v in y.decades(range(1, 10)):
        out.append(line(start, y.at(v), right, y.at(v), "minor"))
    for v in ticks:
        out.append(line(start, y.at(v), right, y.at(v), "grid"))
        out.append(text(start - 8, y.at(v) + 4, shown_number(v), "faint end"))
    measured = sorted({m for points, _, _ in lines for m, _ in points})
    for m in spread(x, measured):
        out.append(line(x.at(m), bottom, x.at(m), bottom + 5, "axis"))
        out.append(text(x.at(m), bottom + 19, shown_number(m), "faint middle"))
    out.append(line(start, bottom, right, bottom, "axis"))
    out.append(text((start + right) / 2, bottom + 40,
                    "M, examples in the batch", "faint middle"))
    out += curves((x, y), lines)
    out += [marker(shape, x.at(m), y.at(v)) for shape, m, v in references]
    return out


def legend(top, series, shapes):
    """Entries in rows, and the y below them."""
    entries = [(s.label, [line(0, 0, 24, 0, "line",
                                 f' stroke="{s.colour}" stroke-width="2.25"'),
                          f'<circle cx="12" cy="0" r="3.5" '
                          f'fill="{s.colour}"/>']) for s in series]
    entries.append(("bare matrix products, same colours",
                    [line(0, 0, 24, 0, "line dashed",
                          f' stroke="{FAINT}" stroke-width="1.5"')]))
    entries += [(name, [marker(shape, 12, 0)])
                for name, shape in shapes.items()]
    out, x, y = [], MARGIN, top
    for label, sign in entries:
        width = 32 + width_of(label)
        if x > MARGIN and x + width > WIDTH - MARGIN:
            x, y = MARGIN, y + 22
        out.append(f'<g transform="translate({x:.1f} {y - 4:.1f})">'
                   + "".join(sign) + "</g>")
        out.append(text(x + 32, y, label))
        x += width + 22
    return out, y + 20


def draw(results, references, title):
    series, settings = make_series(results)
    shapes = {}
    for name, *_ in references:
        shapes.setdefault(name, len(shapes))
    names = sorted({r["name"].removeprefix("loss:") for r in results})
    out = [text(MARGIN, MARGIN + TITLE, title or ", ".join(names), "title")]
    out.append(text(MARGIN, MARGIN + TITLE + 20, settings, "faint"))
    signs, top = legend(MARGIN + TITLE + 46, series, shapes)
    out += signs
    batches = [r["batch"] for r in results] + [m for _, m, _, _ in references]
    times = [(points, colour, True)
             for colour, points in product_lines(series)]
    times += [(s.points(lambda r: r["time_ms"]["median"]), s.colour, False)
              for s in series]
    memory = [(s.points(lambda r: r["extra_memory_mb"]), s.colour, False)
              for s in series]
    half = (WIDTH - 2 * MARGIN - GAP) / 2
    out += panel(MARGIN, MARGIN + half, top,
                 "Time of value and gradient (ms)", batches, times,
                 [(shapes[n], m, v) for n, m, v, _ in references if v])
    out += panel(WIDTH - MARGIN - half, WIDTH - MARGIN, top,
                 "Peak extra memory (MB)", batches, memory,
                 [(shapes[n], m, v) for n, m, _, v in references if v])
    height = top + 26 + PLOT_HEIGHT + 40 + MARGIN
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" '
         f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
         f'role="img">',
         f"<title>{escape(title or ', '.join(names))}</title>",
         f"<style>{STYLE}</style>",
         # Its own ground, so that it reads on a dark page too.
         f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#fff" '
         f'stroke="{GRID}"/>'] + out + ["</svg>", ""])


# ------------------------------------------------------------------- the rest

def example(batch, device="cpu", products="float32", simix=False, scale=1.0):
    return {"name": "loss:recall_at_k", "device": device, "threads": 2,
            "cpu": "avx2", "batch": batch, "dim": 128, "per_class": 4,
            "simix": simix, "products": products,
            "time_ms": {"median": scale * (0.2 + batch ** 2 / 5e4)},
            "products_ms": scale * (0.1 + batch ** 2 / 2e5),
            "extra_memory_mb": None if batch == 512 else batch / 100}


def self_test():
    results = [example(2 ** e) for e in range(8, 14)]
    results += [example(2 ** e, "cuda:0 (A & B)", "tf32", True, 0.01)
                for e in range(8, 17)]
    text_form = json.dumps(results[0], indent=2) + "\n" + "\n".join(
        json.dumps(r) for r in results[1:])
    assert read_results(text_form) == results
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "references.csv"
        path.write_text("name, M, ms, mb\nelsewhere <1>, 4096, 35, \n")
        references = read_references(path)
    assert references == [("elsewhere <1>", 4096.0, 35.0, None)]
    for case in (results, results[:1], [example(512)]):
        svg = draw(case, references, "")
        root = xml.etree.ElementTree.fromstring(svg)
        words = "\n".join(e.text or "" for e in root.iter()
                          if e.tag.endswith("text"))
        for part in ("CPU, float32", "elsewhere <1>", "Peak extra memory"):
            assert part in words, part
        assert "nan" not in svg
    series, _ = make_series(results)
    assert [s.label for s in series] == ["CPU, float32", "A & B, TF32, SiMix"]
    assert len(series[0].points(lambda r: r["extra_memory_mb"])) == 5


def main():
    parser = argparse.ArgumentParser(
        description="Draws results of `kith bench loss:NAME --json`.",
        epilog=__doc__.split("\n\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="?", help="JSON objects")
    parser.add_argument("out", nargs="?", help="the picture, .svg")
    parser.add_argument("--references", help="CSV: name,M,ms,mb")
    parser.add_argument("--title", default="", help="instead of the loss")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        self_test()
        return 0
    if arguments.out is None:
        parser.error("RESULTS and OUT.svg are needed")
    try:
        results = read_results(
            pathlib.Path(arguments.results).read_text(encoding="utf-8"))
        references = (read_references(arguments.references)
                      if arguments.references else [])
        if not results:
            raise ValueError(f"{arguments.results}: no results")
        svg = draw(results, references, arguments.title)
        pathlib.Path(arguments.out).write_text(svg, encoding="utf-8")
    except (OSError, ValueError, KeyError) as error:
        what = f"no {error} in an entry" if isinstance(error, KeyError) \
            else error
        print(f"plot_bench.py: {what}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
