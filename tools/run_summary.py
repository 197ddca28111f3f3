#!/usr/bin/env python3
"""One line a run of kith: speed by phase, memory, time, last metrics.

usage: run_summary.py RUN...
       run_summary.py --self-test

A step is the median of all but the first two, in which a GPU prepares itself;
`warm` is what all steps and evaluations would take at the medians.
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
    warm = steps[2:] or steps
    phases = {name: statistics.median(s["seconds"][name] for s in warm)
              for name in warm[0]["seconds"]}
    evaluation = statistics.median(e["seconds"] for e in evaluations)
    seconds = (sum(s["seconds"]["total"] for s in steps) +
               sum(e["seconds"] for e in evaluations))
    at_medians = (phases["total"] * len(steps) +
                  evaluation * len(evaluations))
    peak = max(max(s["peak_mb"].values()) for s in steps)
    metrics = evaluations[-1]["metrics"]
    metrics = metrics.get("metrics", metrics)
    return (f"{pathlib.Path(run).name}: "
            f"{steps[-1]['images'] / phases['total']:.0f} images/s; step "
            + ", ".join(f"{k} {v:.4f}" for k, v in phases.items())
            + f" s; first step {steps[0]['seconds']['total']:.1f} s; "
            f"evaluation {evaluation:.2f} s; {len(steps)} steps and "
            f"{len(evaluations)} evaluations {seconds:.1f} s, warm "
            f"{at_medians:.1f} s; memory {peak} MB; "
            + ", ".join(f"{k} {100 * v:.2f}" for k, v in metrics.items()
                        if isinstance(v, float)))


def self_test():
    """A made-up run gives the expected line."""
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        run.mkdir()
        records = [{"kind": "step", "images": 100,
                    "seconds": {"loss": 0.1, "total": total},
                    "peak_mb": {"loss": 7}} for total in (9, 2, 0.5, 0.5)]
        records.append({"kind": "eval", "seconds": 3,
                        "metrics": {"recall_any@1": 0.5}})
        (run / "log.jsonl").write_text(
            "\n".join(json.dumps(record) for record in records))
        line = summary(run)
        for part in ("run: 200 images/s", "total 0.5000", "first step 9.0 s",
                     "15.0 s, warm 5.0 s", "memory 7 MB",
                     "recall_any@1 50.00"):
            assert part in line, f"no '{part}' in: {line}"


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
