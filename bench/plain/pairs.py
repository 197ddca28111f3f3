"""Losses over all pairs or triplets of a batch."""

import math

import torch
import torch.nn.functional as F

from .common import (all_pairs, all_triplets, distances, loss, masked_logsumexp,
                     masks, mean_above_zero, pair_floats, triplet_floats)


@loss("contrastive_all")
def contrastive_all(x, labels, _tuples, _params):
    d = distances(x)
    a, p, b, n = all_pairs(labels)
    return (mean_above_zero(F.relu(d[a, p])) +
            mean_above_zero(F.relu(1 - d[b, n])))


@loss("snr_contrastive", floats=lambda m, d: 3 * m * m * d)
def snr_contrastive(x, labels, _tuples, _params):
    noise = torch.var(x[:, None] - x[None], dim=2)  # M x M x D
    ratio = noise / torch.var(x, dim=1)[:, None]
    a, p, b, n = all_pairs(labels)
    return (mean_above_zero(F.relu(ratio[a, p])) +
            mean_above_zero(F.relu(1 - ratio[b, n])))


@loss("triplet_all", floats=triplet_floats)
def triplet_all(x, labels, _tuples, _params, margin=0.05):
    d = distances(x)
    a, p, n = all_triplets(labels)
    return mean_above_zero(F.relu(d[a, p] - d[a, n] + margin))


@loss("margin_all", floats=triplet_floats)
def margin_all(x, labels, _tuples, _params, margin=0.2, beta=1.2):
    d = distances(x)
    a, p, n = all_triplets(labels)
    pos = F.relu(d[a, p] - beta + margin)
    neg = F.relu(beta - d[a, n] + margin)
    active = (pos > 0).sum() + (neg > 0).sum()
    return (pos + neg).sum() / active.clamp(min=1)


@loss("supcon")
def supcon(x, labels, _tuples, _params, t=0.1):
    same, different = masks(labels)
    s = x @ x.T / t
    s = s - s.max(dim=1, keepdim=True)[0].detach()
    log_all = masked_logsumexp(s, same | different)
    log_prob = (same * (s - log_all[:, None])).sum(1) / same.sum(1)
    return mean_above_zero(-log_prob)


@loss("nt_xent", floats=pair_floats)
def nt_xent(x, labels, _tuples, _params, t=0.07):
    """A matrix of positive pairs against negative pairs."""
    s = x @ x.T / t
    a, p, b, n = all_pairs(labels)
    pos, neg = s[a, p], s[b, n]
    of_anchor = (a[:, None] == b[None]).to(x.dtype)
    top = torch.maximum(pos, (neg * of_anchor).max(dim=1)[0]).detach()
    up = torch.exp(pos - top)
    down = (torch.exp(neg[None] - top[:, None]) * of_anchor).sum(1)
    return -torch.log(up / (up + down)).mean()


@loss("circle")
def circle(x, labels, _tuples, _params, m=0.4, gamma=80):
    same, different = masks(labels)
    s = x @ x.T
    pos = -gamma * F.relu(1 + m - s.detach()) * (s - (1 - m))
    neg = gamma * F.relu(s.detach() + m) * (s - m)
    return mean_above_zero(F.softplus(masked_logsumexp(pos, same) +
                                      masked_logsumexp(neg, different)))


@loss("multi_similarity")
def multi_similarity(x, labels, _tuples, _params):
    """One anchor at a time, as published."""
    s = x @ x.T
    total = 0
    for i in range(len(x)):
        same = labels == labels[i]
        other = ~same
        same[i] = False
        pos, neg = s[i][same], s[i][other]
        kept_neg = neg[neg > pos.min() - 0.1]
        kept_pos = pos[pos < neg.max() + 0.1]
        total = (total +
                 torch.log(1 + torch.exp(-2 * (kept_pos - 0.5)).sum()) / 2 +
                 torch.log(1 + torch.exp(40 * (kept_neg - 0.5)).sum()) / 40)
    return total / len(x)


@loss("lifted")
def lifted(x, labels, _tuples, _params, margin=1.0, nu=0.005):
    """One anchor at a time, as published."""
    total = 0
    for i in range(len(x)):
        same = labels == labels[i]
        other = ~same
        same[i] = False
        to_pos = (x[i] - x[same]).norm(dim=1)
        to_neg = (x[i] - x[other]).norm(dim=1)
        total = total + F.relu(torch.logsumexp(to_pos, 0) +
                               torch.logsumexp(margin - to_neg, 0))
    return total / len(x) + nu * x.square().sum(1).mean()


@loss("lifted_structure", floats=pair_floats)
def lifted_structure(x, labels, _tuples, _params):
    """A matrix of positive pairs against negative pairs."""
    d = distances(x)
    a, p, b, n = all_pairs(labels)
    ours = (a[:, None] == b[None]) | (p[:, None] == b[None])
    values = (1 - d[b, n])[None].expand(len(a), -1)
    value = d[a, p] + masked_logsumexp(values, ours)
    return (F.relu(value).square() / 2).mean()


@loss("npairs_all")
def npairs_all(x, labels, _tuples, _params):
    a, p, _, _ = all_pairs(labels)
    first = {}
    for place, label in enumerate(labels[a].cpu().numpy()):
        first.setdefault(int(label), place)
    chosen = torch.tensor([first[label] for label in sorted(first)],
                          device=x.device)
    scores = x[a[chosen]] @ x[p[chosen]].T
    return F.cross_entropy(scores, torch.arange(len(chosen), device=x.device))


@loss("angular_all", floats=lambda m, _: 6 * (3 * m) * m)
def angular_all(x, labels, _tuples, _params, degrees=40):
    tan2 = math.tan(math.radians(degrees)) ** 2
    a, p, _, _ = all_pairs(labels)
    _, different = masks(labels)
    unit = F.normalize(x, dim=1)  # negatives stay as they are
    to_neg = 4 * tan2 * (unit[a] + unit[p]) @ x.T  # [pairs, M]
    to_pos = 2 * (1 + tan2) * (unit[a] * unit[p]).sum(1)
    values = to_neg - to_pos[:, None]
    return F.softplus(masked_logsumexp(values, different[a])).mean()
