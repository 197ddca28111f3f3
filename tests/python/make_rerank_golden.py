"""Writes tests/golden/rerank_k_reciprocal and rerank_expansion: embeddings
re-ranked with whole matrices, as the publications have the formulas.

usage: /usr/bin/python3 tests/python/make_rerank_golden.py

Made with numpy 1.24. Similarities are summed in float64 and rounded to float32,
as kith's are; all else is float64. An item is its own first neighbour, and of
equally similar ones the lower position comes first.
"""

import json
import pathlib

import numpy

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"


def unit(x):
    x = numpy.asarray(x, numpy.float64)
    return (x / numpy.linalg.norm(x, axis=1, keepdims=True)).astype(
        numpy.float32)


def similarities(x, y):
    return (x.astype(numpy.float64) @ y.astype(numpy.float64).T).astype(
        numpy.float32)


def nearest_first(s):
    """[Q, N] positions; the lower one first of equals."""
    return numpy.argsort(-s, axis=1, kind="stable")


def k_reciprocal(queries, gallery, own, k1, k2, share):
    """Zhong et al., CVPR 2017: [Q, N] distances. own[q] is the query's
    position in the gallery, or -1."""
    outside = [q for q in range(len(queries)) if own[q] < 0]
    everything = numpy.concatenate([queries[outside], gallery])
    n = len(everything)
    s = similarities(everything, everything)
    ranked = s.astype(numpy.float64)
    numpy.fill_diagonal(ranked, 9)
    order = nearest_first(ranked)

    squared = numpy.maximum(2 - 2 * s.astype(numpy.float64), 0)
    largest = squared.max(axis=1)
    distance = squared / numpy.where(largest == 0, 1, largest)[:, None]
    numpy.fill_diagonal(distance, 0)

    def reciprocal(i, k):
        forward = order[i, :k + 1]
        backward = order[forward, :k + 1]
        return forward[(backward == i).any(axis=1)]

    vectors = numpy.zeros((n, n))
    for i in range(n):
        own_set = reciprocal(i, k1)
        expanded = own_set
        for candidate in own_set:
            more = reciprocal(candidate, int(numpy.around(k1 / 2)))
            if len(numpy.intersect1d(more, own_set)) > 2 / 3 * len(more):
                expanded = numpy.union1d(expanded, more)
        weights = numpy.exp(-distance[i, expanded])
        vectors[i, expanded] = weights / weights.sum()
    vectors = numpy.stack(
        [vectors[order[i, :k2]].mean(axis=0) for i in range(n)])

    result = numpy.zeros((len(queries), len(gallery)))
    original = numpy.maximum(
        2 - 2 * similarities(queries, gallery).astype(numpy.float64), 0)
    for q in range(len(queries)):
        at = outside.index(q) if own[q] < 0 else len(outside) + own[q]
        shared = numpy.minimum(vectors[at], vectors[len(outside):]).sum(axis=1)
        jaccard = 1 - shared / (2 - shared)
        largest_of = largest[at] if largest[at] > 0 else 1
        result[q] = (1 - share) * jaccard + share * original[q] / largest_of
    return result


def expand(rows, gallery, own, k, alpha):
    """Radenovic et al., TPAMI 2019: [R, D] float32; own[r] as above."""
    s = similarities(rows, gallery).astype(numpy.float64)
    for r, position in enumerate(own):
        if position >= 0:
            s[r, position] = -9
    out = numpy.zeros(rows.shape)
    for r, order in enumerate(nearest_first(s)):
        near = order[:k]
        weights = numpy.where(s[r, near] > 0,
                              numpy.abs(s[r, near]) ** alpha, 0)
        out[r] = rows[r] + (weights[:, None] * gallery[near]).sum(axis=0)
    return unit(out)


def ranks_of(distance, s, own):
    """[Q, N] places from 1: by distance, similarity, position; 0 for own."""
    ranks = numpy.zeros(distance.shape, numpy.int64)
    positions = numpy.arange(distance.shape[1])
    for q in range(len(distance)):
        order = numpy.lexsort(
            (positions, -s[q], distance[q].astype(numpy.float32)))
        order = order[order != own[q]]
        ranks[q, order] = numpy.arange(1, len(order) + 1)
    return ranks


def ranks_of_candidates(queries, gallery, own, most, k1, k2, share):
    """The nearest ones of each query re-ranked among themselves."""
    s = similarities(queries, gallery).astype(numpy.float64)
    ranks = ranks_of(-s, s, own)
    for q in range(len(queries)):
        near = numpy.flatnonzero((ranks[q] > 0) & (ranks[q] <= most))
        near = near[numpy.argsort(ranks[q, near])]
        nowhere = numpy.full(1, -1)
        distance = k_reciprocal(queries[q:q + 1], gallery[near], nowhere,
                                k1, k2, share)
        ranks[q, near] = ranks_of(distance, s[q:q + 1, near], nowhere)[0]
    return ranks


def cases(rng):
    """name: queries, gallery, own"""
    def clusters(classes, each, dim, noise):
        centres = rng.normal(size=(classes, dim))
        return unit(numpy.repeat(centres, each, axis=0) +
                    noise * rng.normal(size=(classes * each, dim)))

    nowhere = lambda q: numpy.full(q, -1, numpy.int64)
    each = lambda n: numpy.arange(n, dtype=numpy.int64)
    alone = clusters(8, 8, 16, 0.8)
    alone = alone[rng.permutation(len(alone))]
    yield "alone", alone, alone, each(len(alone))

    some = clusters(8, 10, 24, 1.0)
    some = some[rng.permutation(len(some))]
    yield "apart", some[:20], some[20:], nowhere(20)
    # Half of the queries are in the gallery.
    both = numpy.where(numpy.arange(30) < 15, numpy.arange(30), -1)
    queries = some[:30].copy()
    yield "both", queries, numpy.concatenate([some[:15], some[30:]]), both

    # Few different vectors, and of these some several times.
    signs = rng.integers(-1, 2, size=(60, 5)).astype(numpy.float64)
    signs[(signs == 0).all(axis=1), 0] = 1
    ties = unit(signs)
    yield "ties", ties, ties, each(len(ties))
    yield "ties_apart", ties[:20], ties[20:], nowhere(20)
    copies = unit(numpy.repeat(rng.normal(size=(14, 8)), 4, axis=0))
    yield "copies", copies, copies, each(len(copies))


def write(item, name, arrays, meta):
    folder = GOLDEN / item / name
    folder.mkdir(parents=True, exist_ok=True)
    for key, value in arrays.items():
        numpy.save(folder / f"{key}.npy", value)
    described = {key: {"shape": list(value.shape), "dtype": str(value.dtype)}
                 for key, value in arrays.items()}
    meta = {"item": item, "case": name,
            "source": "tests/python/make_rerank_golden.py", **meta,
            "arrays": described}
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")


def main():
    parameters = {"alone": [(20, 6, 0.3), (7, 3, 0.5), (5, 1, 0.0)],
                  "apart": [(10, 4, 0.3), (3, 2, 1.0)],
                  "both": [(9, 3, 0.3)],
                  "ties": [(8, 3, 0.3), (8, 3, 0.0)],
                  "ties_apart": [(5, 2, 0.3)],
                  "copies": [(5, 2, 0.3), (2, 3, 0.1)]}
    for name, queries, gallery, own in cases(numpy.random.default_rng(4)):
        s = similarities(queries, gallery)
        given = {"queries": queries, "gallery": gallery, "self": own}
        for k1, k2, share in parameters[name]:
            distance = k_reciprocal(queries, gallery, own, k1, k2, share)
            write("rerank_k_reciprocal", f"{name}_{k1}_{k2}_{share:g}",
                  {**given, "distance": distance,
                   "ranks": ranks_of(distance, s, own)},
                  {"k1": k1, "k2": k2, "lambda": share})
        most, k1, k2, share = 25, 6, 3, 0.3
        write("rerank_k_reciprocal", f"{name}_candidates",
              {**given, "ranks": ranks_of_candidates(
                  queries, gallery, own, most, k1, k2, share)},
              {"k1": k1, "k2": k2, "lambda": share, "candidates": most})
        for k, alpha in [(3, 3.0), (5, 0.0)]:
            q = expand(queries, gallery, own, k, alpha)
            g = expand(gallery, gallery, range(len(gallery)), k, alpha)
            write("rerank_expansion", f"{name}_{k}_{alpha:g}",
                  {**given, "new_queries": q, "new_gallery": g,
                   "query_ranks": ranks_of(-similarities(q, gallery) * 1.0,
                                           similarities(q, gallery), own),
                   "gallery_ranks": ranks_of(-similarities(queries, g) * 1.0,
                                             similarities(queries, g), own)},
                  {"k": k, "alpha": alpha})


main()
