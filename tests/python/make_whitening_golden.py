"""Writes tests/golden/whitening_pairs: whitening from matching pairs, in NumPy.

usage: /usr/bin/python3 tests/python/make_whitening_golden.py

The arithmetic is that of the published code (Radenovic et al., PAMI 2019,
cnnimageretrieval-pytorch, cirtorch/utils/whiten.py, whitenlearn and
whitenapply): descriptors are columns there and rows here.
"""

import json
import pathlib

import numpy as np


def whitenlearn(x, queries, positives):
    """Mean [D, 1] and projection [D, D] from columns of x [D, N]."""
    mean = x[:, queries].mean(axis=1, keepdims=True)
    difference = x[:, queries] - x[:, positives]
    matching = np.dot(difference, difference.T) / difference.shape[1]
    projection = np.linalg.inv(np.linalg.cholesky(matching))
    projected = np.dot(projection, x - mean)
    values, vectors = np.linalg.eigh(np.dot(projected, projected.T))
    order = values.argsort()[::-1]
    return mean, np.dot(vectors[:, order].T, projection)


def whitenapply(x, mean, projection, dimensions):
    x = np.dot(projection[:dimensions, :], x - mean)
    return x / np.linalg.norm(x, ord=2, axis=0, keepdims=True)


def make_case(folder, seed, classes, per_class, dim, kept):
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(dim, dim)) / np.arange(1, dim + 1)
    centres = rng.normal(size=(classes, dim)) @ mix + 0.5
    noise = rng.normal(size=(dim, dim)) * 0.1
    x = np.repeat(centres, per_class, axis=0)
    x = x + rng.normal(size=x.shape) @ noise
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    first = np.arange(classes * per_class)
    second = first // per_class * per_class + (first + 1) % per_class
    keep = rng.permutation(len(first))[: len(first) * 3 // 4]
    pairs = np.stack([first[keep], second[keep]], axis=1)
    mean, projection = whitenlearn(x.T, pairs[:, 0], pairs[:, 1])
    signs = np.sign(projection[np.arange(dim), np.abs(projection).argmax(1)])
    projection = projection * signs[:, None]
    arrays = {
        "descriptors": x,
        "pairs": pairs.astype(np.int64),
        "mean": mean[:, 0],
        "projection": projection,
        "whitened": whitenapply(x.T, mean, projection, kept).T,
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(array))
    meta = {
        "item": "whitening_pairs",
        "case": folder.name,
        "source": "tests/python/make_whitening_golden.py",
        "numpy": np.__version__,
        "seed": seed,
        "kept": kept,
    }
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")


def main():
    golden = pathlib.Path(__file__).parents[1] / "golden" / "whitening_pairs"
    make_case(golden / "c20p4d6", 1, classes=20, per_class=4, dim=6, kept=6)
    make_case(golden / "c60p2d12", 2, classes=60, per_class=2, dim=12, kept=5)


main()
