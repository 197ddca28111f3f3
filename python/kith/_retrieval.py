"""How good embeddings are, and which are near; virtual examples."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import torch
from torch import Tensor

from ._parts import DESCRIPTION, draw_seed


def _given(**options: Any) -> Dict[str, Any]:
    """Those that are not None: the operator has defaults for the others."""
    return {name: value for name, value in options.items() if value is not None}


def metrics(embeddings: Tensor, labels: Tensor, names: Sequence[str] = (), *,
            gallery: Optional[Tensor] = None,
            gallery_labels: Optional[Tensor] = None,
            clusters: Optional[Tensor] = None, misses: bool = False,
            seed: int = 0, memory_mb: Optional[int] = None
            ) -> Dict[str, Union[float, List[float]]]:
    """Metrics of embeddings, exact, by name: those of `kith metrics`.

        metrics(embeddings, labels, ["recall_any@1,10", "map_at_r"])

    Arguments:
        embeddings: [N, D] floating point, on a CPU or a GPU; divided by their
            norms and compared in float32.
        labels: [N] int64.
        names: see below; none: the usual ones.
        gallery: [G, D], searched for each of the embeddings instead of the
            other embeddings.
        gallery_labels: [G] int64.
        clusters: [N] int64 (of the gallery, if there is one), for metrics of
            clusterings; None: k-means where one needs them.
        misses: a query without a positive counts as 0; otherwise it is left
            out.
        seed: of clusterings.
        memory_mb: budget for blocks of similarities.

    Returns a number for each name, or a list for metrics that are lists.
    """
    found, values = torch.ops.kith.metrics(
        embeddings, labels, [names] if isinstance(names, str) else list(names),
        misses=misses, seed=seed,
        **_given(gallery=gallery, gallery_labels=gallery_labels,
                 clusters=clusters, memory_mb=memory_mb))
    return {name: value.tolist() for name, value in zip(found, values)}


metrics.__doc__ = (metrics.__doc__ or "") + "\n    Names:\n" + "".join(
    f"        {metric['name']}: {metric['summary']}\n"
    for metric in DESCRIPTION["metrics"])


class Neighbours(NamedTuple):
    """[Q, k] each, nearest first; index -1 and similarity -inf where none is
    left."""
    indices: Tensor
    similarities: Tensor


def search(queries: Tensor, gallery: Tensor, k: int, *,
           excluded: Optional[Tensor] = None, normalize: bool = True,
           memory_mb: Optional[int] = None) -> Neighbours:
    """The k nearest of a gallery to each query, exact: equal vectors tie, and
    every processor gives the same order.

    Arguments:
        queries: [Q, D] floating point, compared in float32.
        gallery: [N, D] on the same device.
        k: how many; at most N.
        excluded: [Q] int64, the position that each query must not find, its
            own; -1 for none.
        normalize: by cosine; False: by the inner product of vectors as given.
        memory_mb: budget for blocks of similarities.
    """
    return Neighbours(*torch.ops.kith.search(
        queries, gallery, k, normalize=normalize,
        **_given(excluded=excluded, memory_mb=memory_mb)))


def simix_pairs(labels: Tensor, *, seed: Optional[int] = None,
                simix_limit: Optional[int] = None) -> Tuple[Tensor, Tensor]:
    """All pairs of positives in a batch and random shares, for SiMix:

        pairs, alphas = simix_pairs(labels)
        loss(embeddings, labels, pairs=pairs, alphas=alphas)

    Arguments:
        labels: [M] int64.
        seed: alphas are drawn from U(0, 1) by it, the same on any machine;
            None: one of torch's generator.
        simix_limit: ValueError if there are more pairs.

    Returns pairs [V, 2] int64 and alphas [V] float64 on the labels' device.
    """
    return torch.ops.kith.simix_pairs(
        labels, draw_seed() if seed is None else seed,
        **_given(simix_limit=simix_limit))
