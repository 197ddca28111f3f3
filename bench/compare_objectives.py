#!/usr/bin/env python3
"""Times kith's losses and miners beside their plain PyTorch forms.

The forms are in bench/plain. Each is first compared with kith on a small batch
in double precision, value and gradient (miners: the number of tuples). Then
both are timed on the batch that `kith bench` draws, in this run: value and
gradient, median after warming up, with the device waited for. Needs torch and
NumPy. A Markdown table goes to standard output; exit status 1 if a value or a
gradient differs.
"""

import argparse
import json
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

from plain.run import Run, draw_batch, form_of, write_params


class OutOfTime(Exception):
    """A plain form took longer than the limit."""


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kith", default="build/release/kith",
                        help="the program (default: %(default)s)")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--batches", default="112,2000",
                        help="multiples of 4, with commas (%(default)s);\n"
                        "'' only checks")
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--only", action="append", metavar="NAME",
                        help="loss:NAME or miner:NAME; may be repeated")
    parser.add_argument("--seconds", type=float, default=0.2,
                        help="least time for each timing (%(default)s)")
    parser.add_argument("--limit", type=float, default=60,
                        help="seconds for one run of a form (%(default)s)")
    parser.add_argument("--memory-gb", type=float,
                        help="most that a form may need (cpu 4, cuda 64)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--no-check", action="store_true",
                        help="times only")
    parser.add_argument("--json", metavar="FILE", help="writes the numbers")
    args = parser.parse_args()
    if args.memory_gb is None:
        args.memory_gb = 4 if args.device == "cpu" else 64
    return args


def run_kith(args, *words):
    """What the program prints, of `bench` a list; RuntimeError if nothing."""
    done = subprocess.run([args.kith, *words, "--json"], capture_output=True,
                          text=True)
    # Of several parts, those that failed say so in the document.
    if done.returncode != 0 and not done.stdout:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    found = json.loads(done.stdout)
    return found.get("benchmarks", [found])


def known_names(args):
    """All parts of the program, or those asked for."""
    names = [f"{kind}:{part['name']}"
             for kind, kinds in (("loss", "losses"), ("miner", "miners"))
             for part in run_kith(args, "list", kinds)[0][kinds]]
    for name in args.only or []:
        if name not in names:
            sys.exit(f"{name}: not one of {', '.join(names)}")
    return [name for name in names if not args.only or name in args.only]


def check_loss(args, name, folder):
    """How kith's value and gradient differ from the form's, or None."""
    x, labels = draw_batch(32, 16)
    run = Run(name, x, labels, "cpu", torch.float64)
    value, grad = run()
    np.save(folder / "x.npy", run.x.numpy())
    np.save(folder / "labels.npy", labels.numpy())
    words = ["loss", name.partition(":")[2], "--normalize", "false",
             "--embeddings", str(folder / "x.npy"),
             "--labels", str(folder / "labels.npy"),
             "--grad", str(folder / "grad.npy"), "--device", "cpu"]
    if run.tuples is not None:
        np.save(folder / "tuples.npy", run.tuples.numpy())
        words += ["--tuples", str(folder / "tuples.npy")]
    if run.params:
        write_params(folder / "params.safetensors", run.params)
        words += ["--params", str(folder / "params.safetensors")]
    theirs = run_kith(args, *words)[0]["value"]
    worst = float(np.abs(np.load(folder / "grad.npy") - grad.numpy()).max())
    if abs(theirs - float(value)) > 1e-6 * max(1, abs(theirs)):
        return f"value {float(value):.9g}, kith's {theirs:.9g}"
    if worst > 1e-5 * max(1e-3, float(grad.abs().max())):
        return f"gradients differ by {worst:.3g}"
    return None


def check_miner(args, name):
    """The same for the number of tuples of a miner without chance."""
    form = form_of(name)
    if not form.sure:
        return None
    theirs = run_kith(args, "bench", name, "--batch", "32", "--dim", "16",
                      "--seconds", "0", "--device", "cpu")[0]["tuples"]
    ours = len(form.run(*draw_batch(32, 16)))
    return None if theirs == ours else f"{ours} tuples, kith's {theirs}"


def check(args, name, folder):
    """What is wrong with the form of a part, or None."""
    if form_of(name) is None:
        return "bench/plain has no form of it"
    try:
        if name.startswith("loss:"):
            return check_loss(args, name, folder)
        return check_miner(args, name)
    except RuntimeError as error:
        return str(error)


def check_all(args, names):
    """Complains of each form that does not agree; how many do not."""
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            problem = check(args, name, pathlib.Path(folder))
            if problem:
                print(f"{name}: {problem}", file=sys.stderr)
                faults += 1
    return faults


def time_once(run, device):
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    run()
    if device == "cuda":
        torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start)


def give_up(*_):
    raise OutOfTime


def time_form(args, name, batch):
    """Milliseconds, or why there is no time."""
    form = form_of(name)
    if form is None:
        return "no form"
    if form.floats and 4e-9 * form.floats(batch, args.dim) > args.memory_gb:
        return "out of memory"
    x, labels = draw_batch(batch, args.dim)
    # As miners give them: at most three columns.
    run = Run(name, x, labels, args.device, torch.float32, widest=3)
    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, args.limit)
    try:
        first = time_once(run, args.device)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if first > 5e3:
            return first  # warming up makes no difference
        times, start = [], time.perf_counter()
        while len(times) < 3 or (time.perf_counter() - start < args.seconds
                                 and len(times) < 100):
            times.append(time_once(run, args.device))
        return statistics.median(times)
    except OutOfTime:
        return "out of time"
    except (RuntimeError, MemoryError) as error:
        if isinstance(error, RuntimeError) and "memory" not in str(error):
            raise
        return "out of memory"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def time_kith(args, names, batch):
    """{name: milliseconds or why there is none}, of one process."""
    results = run_kith(
        args, "bench", *names, "--batch", str(batch), "--dim", str(args.dim),
        "--per-class", "4", "--device", args.device, "--seconds",
        str(args.seconds), "--threads", str(args.threads))
    return {result["name"]: result["time_ms"]["median"]
            if "time_ms" in result else result.get("error", "no time")
            for result in results}


def cell(value):
    return value if isinstance(value, str) else f"{value:.3g}"


def print_table(rows):
    print("| name | batch | PyTorch form, ms | kith, ms | times faster |")
    print("|---|---|---|---|---|")
    for row in rows:
        print(f"| `{row['name']}` | {row['batch']} | {cell(row['plain_ms'])} | "
              f"{cell(row['kith_ms'])} | {cell(row['ratio'])} |")
    slower = [f"{row['name']} at {row['batch']}" for row in rows
              if not isinstance(row["ratio"], str) and row["ratio"] < 1]
    print("\nSlower than its form: " + (", ".join(slower) or "none") + ".")


def main():
    args = parse_arguments()
    torch.set_num_threads(args.threads)
    names = known_names(args)
    faults = 0 if args.no_check else check_all(args, names)
    rows = []
    for batch in map(int, filter(None, args.batches.split(","))):
        kith_ms = time_kith(args, names, batch)
        for name in names:
            print(f"{name} at {batch}", file=sys.stderr)
            row = {"name": name, "batch": batch, "dim": args.dim,
                   "device": args.device, "threads": args.threads,
                   "plain_ms": time_form(args, name, batch),
                   "kith_ms": kith_ms[name]}
            numbers = [row["plain_ms"], row["kith_ms"]]
            row["ratio"] = ("-" if any(isinstance(n, str) for n in numbers)
                            else numbers[0] / numbers[1])
            rows.append(row)
    rows.sort(key=lambda row: (row["name"], row["batch"]))
    if rows:
        print_table(rows)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")
    if faults:
        sys.exit(f"{faults} of {len(names)} do not agree with kith")


if __name__ == "__main__":
    main()
