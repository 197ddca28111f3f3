#!/usr/bin/env python3
"""Times `kith metrics` beside faiss and NumPy on the same embeddings.

Unit vectors of the shape of Stanford Online Products' test split are made from
a seed: classes of about the same size around random centres. Then, with the
same number of threads:

  faiss  IndexFlatIP: add, search the k nearest and one more, drop the item
         itself by position, and metrics vectorised in NumPy;
  kith   the whole process, with reading the files;
  floor  the plain product of all embeddings in float32, in blocks, by NumPy's
         BLAS: nothing is kept, so nothing that looks at all pairs is faster
         without using that the matrix is symmetric.

Needs NumPy and faiss (Debian: python3-faiss). Exit status 1 if a metric
differs by more than --tolerance: where similarities are equal but for rounding
in float32, a few queries may differ, and how many is printed.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

RECALLS = (1, 10, 100, 1000)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kith", default="build/release/kith",
                        help="the program (default: %(default)s)")
    parser.add_argument("--count", type=int, default=60502)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--classes", type=int, default=11316)
    parser.add_argument("--k", type=int, default=1001,
                        help="neighbours that faiss searches, the item itself "
                        "among them (%(default)s)")
    parser.add_argument("--noise", type=float, default=2.25,
                        help="length of the noise beside a centre of length 1\n"
                        "(%(default)s: recall@1 of about 0.7 at the usual "
                        "size)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1,
                        help="the fastest run counts (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--only", choices=["faiss", "kith", "floor"],
                        action="append", help="may be repeated")
    parser.add_argument("--json", metavar="FILE", help="writes the numbers")
    args = parser.parse_args()
    if args.classes * 2 > args.count:
        parser.error("--count must be at least twice --classes")
    if args.k < 2 or args.k > args.count:
        parser.error("--k must be from 2 to --count")
    args.only = args.only or ["faiss", "kith", "floor"]
    return args


def limit_threads(threads):
    """Before NumPy and faiss are loaded: their libraries read it once."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)


def make_embeddings(args):
    """[N, D] float32 unit rows in mixed order, and [N] labels."""
    import numpy as np
    rng = np.random.default_rng(args.seed)
    labels = rng.permutation(np.arange(args.count, dtype=np.int64)
                             % args.classes)
    centres = rng.standard_normal((args.classes, args.dim), dtype=np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    rows = rng.standard_normal((args.count, args.dim), dtype=np.float32)
    rows *= args.noise / np.sqrt(args.dim)
    rows += centres[labels]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows, labels


def block_metrics(neighbours, items, labels, positives):
    """{metric: [rows]} from the neighbours [rows, k] of these items."""
    import numpy as np
    k = neighbours.shape[1]
    others = neighbours != items[:, None]
    # An item that is not among its own neighbours has k - 1 before the last.
    others[others.all(axis=1), -1] = False
    ranked = neighbours[others].reshape(len(items), k - 1)
    hits = labels[ranked] == labels[items, None]
    first = np.where(hits.any(axis=1), hits.argmax(axis=1), k)
    values = {f"recall_any@{r}": (first < r).astype(float)
              for r in RECALLS if r < k}
    place = np.arange(1, min(positives.max(), k - 1) + 1)
    early = hits[:, :len(place)] & (place <= positives[:, None])
    precision = np.cumsum(early, axis=1) / place
    values["map_at_r"] = ((precision * early).sum(axis=1)
                          / np.maximum(positives, 1))
    return values


def numpy_metrics(neighbours, labels):
    """{metric: [queries with positives]}, in blocks that fit a cache."""
    import numpy as np
    positives = np.bincount(labels)[labels] - 1
    blocks = []
    for first in range(0, len(labels), 512):
        items = np.arange(first, min(first + 512, len(labels)))
        blocks.append(block_metrics(neighbours[items], items, labels,
                                    positives[items]))
    return {name: np.concatenate([b[name] for b in blocks])[positives > 0]
            for name in blocks[0]}


def run_faiss(args, rows, labels):
    """Seconds by step, and metrics by query."""
    import faiss
    faiss.omp_set_num_threads(args.threads)
    begin = time.perf_counter()
    index = faiss.IndexFlatIP(args.dim)
    index.add(rows)
    added = time.perf_counter()
    _, neighbours = index.search(rows, args.k)
    searched = time.perf_counter()
    values = numpy_metrics(neighbours, labels)
    end = time.perf_counter()
    return {"add": added - begin, "search": searched - added,
            "metrics": end - searched, "total": end - begin}, values


def run_kith(args, folder):
    """Seconds of the process, its peak memory in MB, and its JSON."""
    recalls = ",".join(str(r) for r in RECALLS if r < args.k)
    command = [args.kith, "metrics",
               "--embeddings", str(folder / "embeddings.npy"),
               "--labels", str(folder / "labels.npy"),
               "--metrics", f"recall_any@{recalls},map_at_r",
               "--bootstrap", "0", "--json", "--device", "cpu",
               "--threads", str(args.threads)]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stderr.strip()}")
    # The program's own word: what the system tells of children counts this
    # process too, as it was when they were started.
    peak = int(re.search(r"peak memory of the process (\d+) MB", done.stderr)[1])
    return {"total": seconds}, peak, json.loads(done.stdout)


def run_floor(rows):
    """Seconds of the product of all rows with all rows."""
    import numpy as np
    block = np.empty((1024, len(rows)), dtype=np.float32)
    begin = time.perf_counter()
    for first in range(0, len(rows), len(block)):
        part = rows[first:first + len(block)]
        np.matmul(part, rows.T, out=block[:len(part)])
    return {"total": time.perf_counter() - begin}


def fastest(runs):
    return min(runs, key=lambda run: run[0]["total"])


def measure(args, folder):
    """{side: numbers} of the sides asked for."""
    import numpy as np
    rows, labels = make_embeddings(args)
    np.save(folder / "embeddings.npy", rows)
    np.save(folder / "labels.npy", labels)
    sides = {}
    # First, for its memory is that of the largest child so far; and the
    # others, in this process, come after it has given its threads back.
    if "kith" in args.only:
        seconds, peak, values = fastest([run_kith(args, folder)
                                         for _ in range(args.repeat)])
        sides["kith"] = {"seconds": seconds, "peak_mb": peak,
                         "metrics": {name: value
                                     for name, value in values.items()
                                     if isinstance(value, float)}}
    if "floor" in args.only:
        seconds, = fastest([(run_floor(rows),) for _ in range(args.repeat)])
        sides["floor"] = {"seconds": seconds}
    if "faiss" in args.only:
        seconds, values = fastest([run_faiss(args, rows, labels)
                                   for _ in range(args.repeat)])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        sides["faiss"] = {
            "seconds": seconds, "peak_mb": peak,
            "metrics": {name: float(v.mean()) for name, v in values.items()},
            "queries": len(next(iter(values.values())))}
    return sides


def compare_metrics(args, sides):
    """Rows (name, faiss, kith, difference in queries); prints them."""
    ours, theirs = sides["kith"]["metrics"], sides["faiss"]["metrics"]
    queries = sides["faiss"]["queries"]
    worst = 0.0
    print("| metric | faiss | kith | difference | in queries |")
    print("|---|---|---|---|---|")
    for name, value in theirs.items():
        difference = ours[name] - value
        worst = max(worst, abs(difference))
        print(f"| {name} | {value:.9f} | {ours[name]:.9f} | {difference:+.2e} "
              f"| {difference * queries:+.2f} of {queries} |")
    return worst <= args.tolerance


def print_times(args, sides):
    print(f"{args.count} x {args.dim}, {args.classes} classes, k {args.k}, "
          f"{args.threads} threads, {blas_name()}\n")
    print("| side | seconds | times the floor | peak memory, MB |")
    print("|---|---|---|---|")
    floor = sides.get("floor", {}).get("seconds", {}).get("total")
    for name, side in sides.items():
        total = side["seconds"]["total"]
        ratio = f"{total / floor:.2f}" if floor else "-"
        peak = f"{side['peak_mb']:.0f}" if "peak_mb" in side else "-"
        print(f"| {name} | {total:.2f} | {ratio} | {peak} |")
    if "faiss" in sides:
        steps = sides["faiss"]["seconds"]
        print("\nfaiss: " + ", ".join(f"{step} {steps[step]:.2f} s"
                                      for step in ("add", "search", "metrics")))
    if "faiss" in sides and "kith" in sides:
        ratio = (sides["faiss"]["seconds"]["total"]
                 / sides["kith"]["seconds"]["total"])
        print(f"\nkith is {ratio:.2f} times as fast as faiss and NumPy.")
    print()


def blas_name():
    """The library of NumPy's products, from the files this process uses."""
    try:
        maps = pathlib.Path("/proc/self/maps").read_text()
    except OSError:
        return "BLAS unknown"
    files = {line.split("/", 1)[1] for line in maps.splitlines() if "/" in line}
    names = {pathlib.Path(f).name for f in files}
    blas = sorted(n for n in names
                  if any(b in n for b in ("blas", "mkl_core", "blis")))
    return "BLAS " + (", ".join(blas) or "unknown")


def main():
    args = parse_arguments()
    limit_threads(args.threads)
    with tempfile.TemporaryDirectory() as folder:
        sides = measure(args, pathlib.Path(folder))
    print_times(args, sides)
    agree = True
    if "faiss" in sides and "kith" in sides:
        agree = compare_metrics(args, sides)
    if args.json:
        result = {"count": args.count, "dim": args.dim, "k": args.k,
                  "classes": args.classes, "threads": args.threads,
                  "seed": args.seed, "noise": args.noise, "blas": blas_name(),
                  "sides": sides, "agree": agree}
        pathlib.Path(args.json).write_text(json.dumps(result, indent=1) + "\n")
    if not agree:
        sys.exit(f"metrics differ by more than {args.tolerance}")


if __name__ == "__main__":
    main()
