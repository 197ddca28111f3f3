"""What the plain forms share: the catalogue, pairs, triplets, means."""

import dataclasses
import typing

import torch

LOSSES = {}
MINERS = {}


@dataclasses.dataclass
class Form:
    """A loss or a miner in plain PyTorch."""
    run: typing.Callable
    width: int = 0  # of the tuples a loss takes; 0: the whole batch
    params: typing.Callable = None  # (classes, dim) -> {name: tensor}
    floats: typing.Callable = None  # (M, D) -> numbers held at once, if many
    sure: bool = True  # of a miner: nothing is drawn at random


def loss(name, **facts):
    """Registers run(x, labels, tuples, params) -> scalar."""
    def register(run):
        LOSSES[name] = Form(run, **facts)
        return run
    return register


def miner(name, **facts):
    """Registers run(x, labels) -> tuple of index tensors."""
    def register(run):
        MINERS[name] = Form(run, **facts)
        return run
    return register


def masks(labels):
    """[M, M] bool: positives without the diagonal, negatives."""
    same = labels[:, None] == labels[None]
    different = ~same
    same.fill_diagonal_(False)
    return same, different


def all_pairs(labels):
    """Ordered pairs: anchors and positives, anchors and negatives."""
    same, different = masks(labels)
    return torch.where(same) + torch.where(different)


def all_triplets(labels):
    """(a, p, n) by an M x M x M mask."""
    same, different = masks(labels)
    return torch.where(same[:, :, None] & different[:, None, :])


def triplet_floats(m, _):
    """Memory of all_triplets with 3 positives: the mask, and its indices with
    a few numbers for each."""
    return m ** 3 / 4 + 3 * m * m * 12


def pair_floats(m, _):
    """A matrix of positive against negative pairs, and its gradient."""
    return 3 * (3 * m) * (m * m)


def mean_above_zero(terms):
    """The mean of the terms above zero; 0 without any."""
    kept = terms[terms > 0]
    return kept.mean() if kept.numel() else terms.sum() * 0


def distances(x):
    """[M, M] Euclidean."""
    return torch.cdist(x, x)


def masked_logsumexp(values, mask, dim=1):
    """log sum exp over the mask; 0 where the mask has nothing."""
    values = values.masked_fill(~mask, torch.finfo(values.dtype).min)
    sums = torch.logsumexp(values, dim=dim)
    return sums.masked_fill(~mask.any(dim=dim), 0)
