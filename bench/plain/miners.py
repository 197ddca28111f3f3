"""Miners: those of the study loop over anchors with NumPy, those of
pytorch-metric-learning work on masks of the distance matrix."""

import numpy as np
import torch

from .common import all_triplets, distances, masks, miner, triplet_floats


def on_host(x, labels):
    """Distances and labels as NumPy, as the published miners take them."""
    return distances(x).cpu().numpy(), labels.cpu().numpy()


def anchors(labels):
    """Each anchor with its positives and negatives."""
    for a in range(len(labels)):
        same = labels == labels[a]
        negatives = np.where(~same)[0]
        same[a] = False
        positives = np.where(same)[0]
        if len(positives) and len(negatives):
            yield a, positives, negatives


def or_all(chosen, everything):
    return chosen if len(chosen) else everything


@miner("random", sure=False)
def random_miner(x, labels):
    _, labels = on_host(x[:, :1], labels)
    return torch.tensor([(a, np.random.choice(p), np.random.choice(n))
                         for a, p, n in anchors(labels)], device=x.device)


@miner("semihard", sure=False)
def semihard(x, labels):
    d, labels = on_host(x, labels)
    rows = []
    for a, positives, negatives in anchors(labels):
        p = np.random.choice(positives)
        far = negatives[d[a, negatives] > d[a, p]]
        rows.append((a, p, np.random.choice(or_all(far, negatives))))
    return torch.tensor(rows, device=x.device)


@miner("softhard", sure=False)
def softhard(x, labels):
    d, labels = on_host(x, labels)
    rows = []
    for a, positives, negatives in anchors(labels):
        hard_p = positives[d[a, positives] > d[a, negatives].min()]
        hard_n = negatives[d[a, negatives] < d[a, positives].max()]
        rows.append((a, np.random.choice(or_all(hard_p, positives)),
                     np.random.choice(or_all(hard_n, negatives))))
    return torch.tensor(rows, device=x.device)


def inverse_density(d, dim):
    """1 / q(D) of distances, up to a factor."""
    d = np.maximum(d, 0.5)
    log_q = ((dim - 2) * np.log(d) +
             (dim - 3) / 2 * np.log(np.maximum(1 - d * d / 4, 1e-8)))
    return np.exp(log_q.min() - log_q)


def distance_rows(x, labels, switch):
    d, labels = on_host(x, labels)
    rows = []
    for a, positives, negatives in anchors(labels):
        if np.random.rand() < switch:
            rows.append((a, a, np.random.choice(positives)))
            continue
        weight = inverse_density(d[a, negatives], x.shape[1])
        n = np.random.choice(negatives, p=weight / weight.sum())
        rows.append((a, np.random.choice(positives), n))
    return torch.tensor(rows, device=x.device)


@miner("distance_weighted", sure=False)
def distance_weighted(x, labels):
    return distance_rows(x, labels, 0)


@miner("rho_distance", sure=False)
def rho_distance(x, labels):
    return distance_rows(x, labels, 0.35)


@miner("multi_similarity")
def multi_similarity(x, labels, epsilon=0.1):
    s = x @ x.T
    same, different = masks(labels)
    most = s.masked_fill(~different, -np.inf).max(dim=1, keepdim=True)[0]
    least = s.masked_fill(~same, np.inf).min(dim=1, keepdim=True)[0]
    return torch.cat([torch.stack(torch.where(same & (s - epsilon < most)), 1),
                      torch.stack(torch.where(
                          different & (s + epsilon > least)), 1)])


def extreme(d, mask, farthest):
    """For each row the farthest or nearest of a mask, and whether any is."""
    worst = -np.inf if farthest else np.inf
    d = d.masked_fill(~mask, worst)
    return (d.max(dim=1) if farthest else d.min(dim=1))[1], mask.any(dim=1)


@miner("batch_hard")
def batch_hard(x, labels):
    d = distances(x)
    same, different = masks(labels)
    p, with_p = extreme(d, same, True)
    n, with_n = extreme(d, different, False)
    a = torch.where(with_p & with_n)[0]
    return torch.stack([a, p[a], n[a]], 1)


@miner("batch_easy_hard")
def batch_easy_hard(x, labels):
    """Pairs: the nearest positive, the nearest negative beyond it."""
    d = distances(x)
    same, different = masks(labels)
    p, with_p = extreme(d, same, False)
    to_p = d.gather(1, p[:, None])
    n, with_n = extreme(d, different & (d > to_p), False)
    a = torch.where(with_p & with_n)[0]
    return torch.cat([torch.stack([a, p[a]], 1), torch.stack([a, n[a]], 1)])


@miner("triplet_margin", floats=triplet_floats)
def triplet_margin(x, labels, margin=0.2):
    d = distances(x)
    a, p, n = all_triplets(labels)
    kept = d[a, n] - d[a, p] <= margin
    return torch.stack([a[kept], p[kept], n[kept]], 1)
