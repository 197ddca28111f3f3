"""Losses with parameters for each class."""

import math

import torch
import torch.nn.functional as F

from .common import loss


def proxies(name):
    """Random class vectors [C, D] under the name that kith has for them."""
    return lambda c, d: {name: torch.randn(c, d)}


def one_hot(labels, classes):
    return F.one_hot(labels, classes).bool()


@loss("norm_softmax", params=proxies("proxies"))
def norm_softmax(x, labels, _tuples, params, t=0.05):
    return F.cross_entropy(x @ F.normalize(params["proxies"], dim=1).T / t,
                           labels)


@loss("arcface", params=proxies("proxies"))
def arcface(x, labels, _tuples, params, scale=16, margin=0.5):
    cosine = x @ F.normalize(params["proxies"], dim=1).T
    mask = one_hot(labels, cosine.shape[1])
    target = cosine[mask]
    sine = torch.sqrt((1 - target.square()).clamp(min=1e-12))
    turned = target * math.cos(margin) - sine * math.sin(margin)
    return F.cross_entropy(
        scale * torch.where(mask, turned[:, None], cosine), labels)


@loss("cosface", params=proxies("proxies"))
def cosface(x, labels, _tuples, params, scale=64, margin=0.35):
    cosine = x @ F.normalize(params["proxies"], dim=1).T
    mask = one_hot(labels, cosine.shape[1])
    return F.cross_entropy(scale * (cosine - margin * mask.to(x.dtype)), labels)


@loss("proxy_nca", params=proxies("proxies"))
def proxy_nca(x, labels, _tuples, params):
    d = torch.cdist(x, F.normalize(params["proxies"], dim=1)).square()
    mask = one_hot(labels, d.shape[1])
    others = (-d).masked_fill(mask, -math.inf)
    return (d[mask] + torch.logsumexp(others, dim=1)).mean()


@loss("proxy_nca_pp", params=proxies("proxies"))
def proxy_nca_pp(x, labels, _tuples, params, t=1 / 9):
    d = torch.cdist(x, F.normalize(params["proxies"], dim=1)).square()
    return F.cross_entropy(-d / t, labels)


@loss("proxy_anchor", params=proxies("proxies"))
def proxy_anchor(x, labels, _tuples, params, alpha=32, delta=0.1):
    s = x @ F.normalize(params["proxies"], dim=1).T
    mask = one_hot(labels, s.shape[1])
    pos = torch.where(mask, torch.exp(-alpha * (s - delta)),
                      torch.zeros_like(s)).sum(0)
    neg = torch.where(mask, torch.zeros_like(s),
                      torch.exp(alpha * (s + delta))).sum(0)
    present = mask.any(0).sum()
    return (torch.log(1 + pos).sum() / present +
            torch.log(1 + neg).sum() / s.shape[1])


@loss("soft_triple", params=lambda c, d: {"proxies": torch.randn(c, 2, d)})
def soft_triple(x, labels, _tuples, params, scale=8, gamma=0.1, delta=0.01,
                tau=0.2):
    w = F.normalize(params["proxies"], dim=2)  # [C, K, D]
    classes, k, _ = w.shape
    s = torch.einsum("md,ckd->mck", x, w)
    s = (F.softmax(s / gamma, dim=2) * s).sum(2)
    own = one_hot(labels, classes).to(x.dtype)
    value = F.cross_entropy(scale * (s - delta * own), labels)
    inner = torch.einsum("cid,cjd->cij", w, w)
    i, j = torch.triu_indices(k, k, 1, device=x.device)
    apart = torch.sqrt((2 - 2 * inner[:, i, j]).clamp(min=1e-12))
    return value + tau * apart.sum() / (classes * k * (k - 1))


def hist_params(classes, dim, hidden=512):
    """As the network of the published code makes them."""
    first = torch.nn.Linear(dim, hidden)
    second = torch.nn.Linear(hidden, classes)
    return {"means": torch.randn(classes, dim),
            "log_vars": torch.randn(classes, dim),
            "theta1_weight": first.weight.detach(),
            "theta1_bias": first.bias.detach(),
            "bn1_weight": torch.ones(hidden), "bn1_bias": torch.zeros(hidden),
            "theta2_weight": second.weight.detach(),
            "theta2_bias": second.bias.detach()}


@loss("hist", params=hist_params, floats=lambda m, d: 4 * m * (m / 4) * d)
def hist(z, labels, _tuples, params, tau=32, alpha=0.9):
    """Squared differences as an M x C x D tensor, as published."""
    mu = F.normalize(params["means"], dim=1)
    variance = torch.exp(F.relu6(params["log_vars"]))
    x = F.normalize(z, dim=1)
    m = ((x[:, None] - mu[None]).square() / variance[None]).sum(2)  # [M, C]
    value = F.cross_entropy(-tau * m, labels)
    mask = one_hot(labels, m.shape[1])
    present = torch.where(mask.any(0))[0]
    h = torch.where(mask, torch.ones_like(m), torch.exp(-alpha * m))[:, present]
    dv, de = h.sum(1).pow(-0.5), h.sum(0).reciprocal()
    g = dv[:, None] * ((h * de) @ h.T) * dv[None]
    first = F.linear(z, params["theta1_weight"], params["theta1_bias"])
    first = F.batch_norm(g @ first, None, None, params["bn1_weight"],
                         params["bn1_bias"], training=True)
    logits = g @ F.linear(F.leaky_relu(first, 0.1), params["theta2_weight"],
                          params["theta2_bias"])
    return value + F.cross_entropy(logits, labels)
