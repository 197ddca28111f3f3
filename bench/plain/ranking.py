"""Surrogates of recall and average precision."""

import torch

from .common import loss, masks


def positives_of(labels, q):
    same = labels == labels[q]
    same[q] = False
    return torch.where(same)[0]


@loss("recall_at_k")
def recall_at_k(x, labels, _tuples, _params, t1=1.0, t2=0.01):
    """One query at a time, as published."""
    ks = torch.tensor([1.0, 2, 4, 8, 16], device=x.device, dtype=x.dtype)
    total = 0
    for q in range(len(x)):
        p = positives_of(labels, q)
        s = x @ x[q]
        above = torch.sigmoid((s[None] - s[p][:, None]) / t2)
        others = torch.ones_like(above)
        others[:, q] = 0
        others[torch.arange(len(p)), p] = 0
        rank = 1 + (above * others).sum(1)
        hits = torch.sigmoid((ks[:, None] - rank[None]) / t1).sum(1)
        recall = torch.minimum(hits, ks) / ks.clamp(max=len(p))
        total = total + (1 - recall).mean()
    return total / len(x)


@loss("smooth_ap", floats=lambda m, _: 6 * m ** 3)
def smooth_ap(x, labels, _tuples, _params, t=0.01):
    """All triples (query, positive, other) at once, as published."""
    s = x @ x.T
    same, different = masks(labels)
    others = same | different
    above = torch.sigmoid((s[:, None, :] - s[:, :, None]) / t)  # [q, x, z]
    above = above * (1 - torch.eye(len(x), device=x.device, dtype=x.dtype))
    rank_all = 1 + (above * others[:, None, :]).sum(2)
    rank_same = 1 + (above * same[:, None, :]).sum(2)
    ap = (rank_same / rank_all * same).sum(1) / same.sum(1)
    return (1 - ap).mean()


def average_precision(h_pos, h_all, count):
    """[M, bins] soft counts, nearest first -> AP of each query."""
    cum_pos, cum_all = h_pos.cumsum(1), h_all.cumsum(1)
    safe = torch.where(cum_all > 0, cum_all, torch.ones_like(cum_all))
    return (h_pos * cum_pos / safe).sum(1) / count


@loss("fast_ap")
def fast_ap(x, labels, _tuples, _params, bins=10):
    """A histogram of squared distances, bin by bin."""
    same, different = masks(labels)
    d = 2 - 2 * x @ x.T
    width = 4 / bins
    h_pos, h_neg = [], []
    for b in range(bins + 1):
        share = torch.relu(1 - (d - b * width).abs() / width)
        h_pos.append((share * same).sum(1))
        h_neg.append((share * different).sum(1))
    h_pos, h_neg = torch.stack(h_pos, 1), torch.stack(h_neg, 1)
    return (1 - average_precision(h_pos, h_pos + h_neg, same.sum(1))).mean()


@loss("ap_quantised", floats=lambda m, _: 6 * 20 * m * m)
def ap_quantised(x, labels, _tuples, _params, bins=20):
    """All bins at once: [M, Q, M]."""
    same, different = masks(labels)
    centres = 1 - 2 / (bins - 1) * torch.arange(
        bins, device=x.device, dtype=x.dtype)
    s = (x @ x.T).clamp(-1, 1)
    away = (s[:, None, :] - centres[None, :, None]).abs() * ((bins - 1) / 2)
    share = torch.relu(1 - away)
    h_pos = (share * same[:, None, :]).sum(2)
    h_all = (share * (same | different)[:, None, :]).sum(2)
    return (1 - average_precision(h_pos, h_all, same.sum(1))).mean()


@loss("histogram", floats=lambda m, _: 4 * 65 * m * m / 2)
def histogram(x, labels, _tuples, _params, bins=65):
    """Each pair against each bin."""
    width = 2 / (bins - 1)
    i, j = torch.triu_indices(len(x), len(x), 1, device=x.device)
    s = (x @ x.T)[i, j]
    centres = torch.linspace(-1, 1, bins, device=x.device, dtype=x.dtype)
    share = torch.relu(1 - (s[None] - centres[:, None]).abs() / width)
    same = labels[i] == labels[j]
    h_pos = share[:, same].sum(1) / same.sum()
    h_neg = share[:, ~same].sum(1) / (~same).sum()
    return (h_neg * h_pos.cumsum(0)).sum()
