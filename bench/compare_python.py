#!/usr/bin/env python3
"""Processor time and memory of kith.losses beside plain PyTorch, in Python.

The plain forms are those of bench/plain. Each loss runs in a process of its
own, forward and backward on one batch of unit vectors (4 examples a class), on
the CPU with one thread: the median of processor times, and by how much the peak
memory of the process grew. Needs the package kith and NumPy. A Markdown table
goes to standard output.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time

import torch

import kith
from plain.run import draw_batch, draw_params, draw_tuples, form_of

NAMES = "recall_at_k,smooth_ap,multi_similarity,triplet_all,proxy_anchor,hist"


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--losses", default=NAMES,
                        help="names, with commas (default: %(default)s)")
    parser.add_argument("--batches", default="400,2000",
                        help="multiples of 4, with commas (%(default)s)")
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=2,
                        help="least time for each timing (%(default)s)")
    parser.add_argument("--memory-gb", type=float, default=4,
                        help="most that a plain form may need (%(default)s)")
    parser.add_argument("--only", nargs=3, metavar=("KIND", "LOSS", "BATCH"),
                        help=argparse.SUPPRESS)
    return parser.parse_args()


def make_run(kind, name, x, labels):
    """What computes the loss and its gradients once."""
    form = form_of(f"loss:{name}")
    classes, dim = len(labels) // 4, x.shape[1]
    tuples = draw_tuples(labels, form.width)
    if kind == "plain":
        params = {key: value.requires_grad_() for key, value in
                  draw_params(form, classes, dim).items()}
        return lambda x: form.run(x, labels, tuples, params).backward()
    loss = kith.losses.by_name[name]
    sizes = (classes, dim) if loss.part.fields["needs_classes"] else ()
    module = loss(*sizes, normalize=False)
    return lambda x: module(x, labels, tuples).backward()


def measure(kind, name, batch, dim, seconds):
    """Median seconds of the processor, and megabytes."""
    torch.set_num_threads(1)
    x, labels = draw_batch(batch, dim)
    run = make_run(kind, name, x, labels)
    small, few = draw_batch(8, dim)  # what is loaded at the first call
    make_run(kind, name, small, few)(small.requires_grad_())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = []
    while sum(times) < seconds or len(times) < 3:
        start = time.process_time()
        run(x.detach().requires_grad_())
        times.append(time.process_time() - start)
        if times[0] > 10 * seconds:
            break
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return statistics.median(times), (after - before) / 1024


def measured(args, kind, name, batch):
    done = subprocess.run(
        [sys.executable, __file__, "--only", kind, name, str(batch), "--dim",
         str(args.dim), "--seconds", str(args.seconds)],
        capture_output=True, text=True)
    if done.returncode != 0:
        return "failed: " + done.stderr.strip().splitlines()[-1], ""
    seconds, megabytes = json.loads(done.stdout)
    return (f"{seconds:.2g} s" if seconds >= 1 else f"{seconds * 1e3:.2g} ms",
            f"{megabytes:.0f} MB")


def main():
    args = parse_arguments()
    if args.only:
        kind, name, batch = args.only
        print(json.dumps(measure(kind, name, int(batch), args.dim,
                                 args.seconds)))
        return
    print("| loss | batch | PyTorch | memory | kith | memory |")
    print("|---|---|---|---|---|---|")
    for name in args.losses.split(","):
        form = form_of(f"loss:{name}")
        for batch in (int(text) for text in args.batches.split(",")):
            need = 4e-9 * form.floats(batch, args.dim) if form.floats else 0
            plain = (("-", f"needs {need:.0f} GB") if need > args.memory_gb
                     else measured(args, "plain", name, batch))
            ours = measured(args, "kith", name, batch)
            print(f"| {name} | {batch} | {' | '.join((*plain, *ours))} |",
                  flush=True)


if __name__ == "__main__":
    main()
