"""Losses on given tuples (anchor, positive, negative, second negative)."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from .common import loss


def row_distance(x, y):
    return (x - y).norm(dim=1)


@loss("contrastive", width=3)
def contrastive(x, _labels, tuples, _params):
    a, p, n = (x[tuples[:, i]] for i in range(3))
    return (F.relu(row_distance(a, p)).mean() +
            F.relu(1 - row_distance(a, n)).mean())


@loss("triplet", width=3)
def triplet(x, _labels, tuples, _params, margin=0.2):
    a, p, n = (x[tuples[:, i]] for i in range(3))
    return F.relu(row_distance(a, p) - row_distance(a, n) + margin).mean()


def with_second_negatives(labels, tuples):
    """A third class's example for each triplet, one at a time as published."""
    host, rows = labels.cpu().numpy(), []
    for a, p, n in tuples.tolist():
        others = np.where((host != host[a]) & (host != host[n]))[0]
        rows.append((a, p, n, np.random.choice(others)))
    return torch.tensor(rows, device=tuples.device)


@loss("quadruplet", width=4)
def quadruplet(x, labels, tuples, _params):
    if tuples.shape[1] == 3:
        tuples = with_second_negatives(labels, tuples)
    a, p, n, m = (x[tuples[:, i]] for i in range(4))
    to_pos = row_distance(a, p)
    return (F.relu(to_pos - row_distance(a, n) + 1).mean() +
            F.relu(to_pos - row_distance(n, m) + 0.5).mean())


@loss("margin", width=3, params=lambda c, d: {"beta": torch.full((1,), 1.2)})
def margin_loss(x, labels, tuples, params, margin=0.2):
    a, p, n = (x[tuples[:, i]] for i in range(3))
    beta = params["beta"]
    if beta.numel() > 1:
        beta = beta[labels[tuples[:, 0]]]
    pos = F.relu(row_distance(a, p) - beta + margin)
    neg = F.relu(beta - row_distance(a, n) + margin)
    active = (pos > 0).sum() + (neg > 0).sum()
    return (pos + neg).sum() / active.clamp(min=1)


@loss("snr", width=3)
def snr(x, _labels, tuples, _params, margin=0.2, weight=0.005):
    a, p, n = (x[tuples[:, i]] for i in range(3))
    power = torch.var(a, dim=1)
    near = torch.var(a - p, dim=1) / power
    far = torch.var(a - n, dim=1) / power
    terms = F.relu(near - far + margin)
    return (terms.sum() / (terms > 0).sum().clamp(min=1) +
            weight * a.sum(1).abs().mean())


def npair_terms(x, labels, tuples):
    """One anchor at a time, as published."""
    terms = []
    for a, p, _ in tuples.tolist():
        others = x[labels != labels[a]]
        terms.append(torch.log(1 + torch.exp(others @ x[a] - x[a] @ x[p]).sum()))
    return torch.stack(terms)


@loss("npair", width=3)
def npair(x, labels, tuples, _params, nu=0.005):
    return (npair_terms(x, labels, tuples).mean() +
            nu * x.square().sum(1).mean())


@loss("angular", width=3)
def angular(x, labels, tuples, _params, degrees=45, weight=2, nu=0.005):
    """One anchor at a time, as published."""
    tan2 = math.tan(math.radians(degrees)) ** 2
    unit = F.normalize(x, dim=1)
    terms = []
    for a, p, _ in tuples.tolist():
        others = unit[labels != labels[a]]
        values = (4 * tan2 * others @ (unit[a] + unit[p]) -
                  2 * (1 + tan2) * unit[a] @ unit[p])
        terms.append(torch.log(1 + torch.exp(values).sum()))
    return (npair_terms(x, labels, tuples).mean() +
            weight * torch.stack(terms).mean() +
            nu * x.square().sum(1).mean())
