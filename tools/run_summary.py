#!/usr/bin/env python3
"""One line a run of kith: speed by phase, memory, time, last metrics.

usage: run_summary.py RUN...
       run_summary.py --self-test

A step is the median of all but the first two, in which a GPU prepares itself;
of a phase that not every step has, such as `sampler`, the median of those that
have it. `warm` is what all steps and evaluations would take at the medians.
"""

import json
import pathlib
import statistics
import sys
import tempfile


def read_log(run):
    """The step and evaluation records of RUN/log.jsonl."""
    lines = (pathlib.Path(run) / "log.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    return ([r for r in records if r["kind"] == "step"],
            [r for r in records if r["kind"] == "eval"])


def summary(run):
    """The line of a run."""
    steps, evaluations = read_log(run)
    if not steps:
        return f"{pathlib.Path(run).name}: no steps"
    warm = steps[2:] or steps
    names = list(dict.fromkeys(name for s in warm for name in s["seconds"]))
    phases = {name: statistics.median(s["seconds"][name] for s in warm
                                      if name in s["seconds"])
              for name in names}
    seconds = (sum(s["seconds"]["total"] for s in steps) +
               sum(e["seconds"] for e in evaluations))
    at_medians = phases["total"] * len(steps)
    peak = max(max(s["peak_mb"].values()) for s in steps)
    parts = [f"{steps[-1]['images'] / phases['total']:.0f} images/s",
             "step " + ", ".join(f"{k} {v:.4f}" for k, v in phases.items())
             + " s",
             f"first step {steps[0]['seconds']['total']:.1f} s"]
    metrics = {}
    if evaluations:
        evaluation = statistics.median(e["seconds"] for e in evaluations)
        at_medians += evaluation * len(evaluations)
        parts.append(f"evaluation {evaluation:.2f} s")
        metrics = evaluations[-1]["metrics"]
        metrics = metrics.get("metrics", metrics)
    parts += [f"{len(steps)} steps and {len(evaluations)} evaluations "
              f"{seconds:.1f} s, warm {at_medians:.1f} s",
              f"memory {peak} MB"]
    numbers = [f"{k} {100 * v:.2f}" for k, v in metrics.items()
               if isinstance(v, float)]
    if numbers:
        parts.append(", ".join(numbers))
    return f"{pathlib.Path(run).name}: " + "; ".join(parts)


def check(records, *parts):
    """A made-up run of these records has these parts in its line."""
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        run.mkdir()
        (run / "log.jsonl").write_text(
            "\n".join(json.dumps(record) for record in records))
        line = summary(run)
        for part in parts:
            assert part in line, f"no '{part}' in: {line}"


def self_test():
    """Made-up runs give the expected lines."""
    steps = [{"kind": "step", "images": 100,
              "seconds": {"loss": 0.1, "total": total}, "peak_mb": {"loss": 7}}
             for total in (9, 2, 0.5, 0.5)]
    evaluation = {"kind": "eval", "seconds": 3,
                  "metrics": {"recall_any@1": 0.5}}
    check([*steps, evaluation], "run: 200 images/s", "total 0.5000",
          "first step 9.0 s", "15.0 s, warm 5.0 s", "memory 7 MB",
          "recall_any@1 50.00")
    # Without evaluations.
    check(steps, "4 steps and 0 evaluations 12.0 s, warm 2.0 s; memory 7 MB")
    # The first step of an epoch alone says what its sampler took.
    for number in (0, 3):
        steps[number]["seconds"]["sampler"] = 0.25
    check(steps, "total 0.5000, sampler 0.2500 s")
    for step in steps[:2]:
        check([step], "1 steps and 0 evaluations")
    check([evaluation], "run: no steps")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    elif len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:] == ["--help"] else 2)
    else:
        for run in sys.argv[1:]:
            print(summary(run), flush=True)


if __name__ == "__main__":
    main()
