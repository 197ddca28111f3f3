#!/usr/bin/env python3
"""Scores queries in a gallery that is larger than the memory it may use.

Writes a gallery of unit vectors, class after class around random centres, and
one query for each of some classes, then runs `kith metrics` with --memory and
prints time, peak memory and metrics. Needs NumPy; the gallery of the default
size takes 2 GB on disk.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile
import time

import numpy as np


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kith", default="build/release/kith")
    parser.add_argument("--gallery", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--per-class", type=int, default=10)
    parser.add_argument("--noise", type=float, default=2.25)
    parser.add_argument("--memory", type=int, default=512, help="MB")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", help="for the files; default: temporary")
    return parser.parse_args()


def noisy(centres, noise, rng):
    """Unit vectors around centres, at a distance of `noise` before scaling."""
    dim = centres.shape[1]
    x = centres + noise / np.sqrt(dim) * rng.standard_normal(
        centres.shape, dtype=np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def write_files(args, folder):
    rng = np.random.default_rng(0)
    classes = args.gallery // args.per_class
    gallery = np.lib.format.open_memmap(
        folder / "gallery.npy", mode="w+", dtype=np.float32,
        shape=(classes * args.per_class, args.dim))
    first = None
    step = 10_000
    for begin in range(0, classes, step):
        centres = rng.standard_normal((min(step, classes - begin), args.dim),
                                      dtype=np.float32)
        centres /= np.linalg.norm(centres, axis=1, keepdims=True)
        if first is None:
            first = centres[:args.queries]
        rows = slice(begin * args.per_class,
                     (begin + len(centres)) * args.per_class)
        gallery[rows] = noisy(np.repeat(centres, args.per_class, axis=0),
                              args.noise, rng)
    gallery.flush()
    np.save(folder / "gallery_labels.npy",
            np.repeat(np.arange(classes), args.per_class))
    np.save(folder / "queries.npy", noisy(first, args.noise, rng))
    np.save(folder / "query_labels.npy", np.arange(len(first)))


def main():
    args = parse_arguments()
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = pathlib.Path(name)
        write_files(args, folder)
        start = time.perf_counter()
        done = subprocess.run(
            [args.kith, "metrics", "--embeddings", folder / "queries.npy",
             "--labels", folder / "query_labels.npy", "--gallery-embeddings",
             folder / "gallery.npy", "--gallery-labels",
             folder / "gallery_labels.npy", "--metrics",
             "recall_any@1,10,100,1000,map_at_r,map", "--memory",
             str(args.memory), "--threads", str(args.threads), "--device",
             "cpu", "--json"],
            check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - start
    peak = re.search(r"peak memory of the process (\d+) MB", done.stderr)[1]
    print(f"{args.queries} queries, gallery {args.gallery} x {args.dim}, "
          f"--memory {args.memory}: {seconds:.1f} s, peak {peak} MB")
    for name, value in json.loads(done.stdout).items():
        if isinstance(value, float):
            print(f"{name:18} {value:.6f}")


if __name__ == "__main__":
    main()
