"""Ranking losses as the docstrings of kith write them, a query at a time in
plain PyTorch, and batches to compare on."""

import torch


def queries(x, labels, ref_emb, ref_labels, self_index):
    """Of each query: similarities, positives, and itself (a mask)."""
    if ref_emb is None:
        ref_emb, ref_labels = x, labels
        self_index = torch.arange(len(x))
    if self_index is None:
        self_index = torch.full((len(x),), -1)
    places = torch.arange(len(ref_emb))
    for q in range(len(x)):
        is_self = places == self_index[q]
        positives = places[(ref_labels == labels[q]) & ~is_self]
        if len(positives) > 0:
            yield ref_emb @ x[q], positives, is_self


def mean(values, x):
    return torch.stack(values).mean() if values else x.sum() * 0


def rank(s, x, among, t):
    """The soft rank of x among others, which may hold x."""
    return 1 + torch.sigmoid((s[among[among != x]] - s[x]) / t).sum()


def recall_at_k(x, labels, k=(1, 2, 4, 8, 16), t1=1.0, t2=0.01,
                query_in_database=False, ref_emb=None, ref_labels=None,
                self_index=None):
    """RS@k as it is written in the docstring of kith."""
    values = []
    for s, positives, is_self in queries(x, labels, ref_emb, ref_labels,
                                         self_index):
        among = torch.arange(len(s))
        among = among if query_in_database else among[~is_self]
        ranks = torch.stack([rank(s, p, among, t2) for p in positives])
        for each in k:
            found = torch.sigmoid((each - ranks) / t1).sum()
            values.append(
                1 - found.clamp(max=each) / min(each, len(positives)))
    return mean(values, x)


def smooth_ap(x, labels, temperature=0.01, ref_emb=None, ref_labels=None,
              self_index=None):
    values = []
    for s, positives, is_self in queries(x, labels, ref_emb, ref_labels,
                                         self_index):
        among = torch.arange(len(s))[~is_self]
        precisions = [rank(s, p, positives, temperature)
                      / rank(s, p, among, temperature) for p in positives]
        values.append(1 - torch.stack(precisions).mean())
    return mean(values, x)


def ap_quantised(x, labels, num_bins=20, ref_emb=None, ref_labels=None,
                 self_index=None):
    values = []
    centres = torch.linspace(1, -1, num_bins, dtype=x.dtype)
    for s, positives, is_self in queries(x, labels, ref_emb, ref_labels,
                                         self_index):
        weights = (1 - (s[:, None] - centres).abs() * (num_bins - 1) / 2)
        weights = weights.clamp(min=0)
        found = weights[positives].sum(0)
        every = weights[~is_self].sum(0).cumsum(0)
        precision = found.cumsum(0) / every.clamp(min=1e-30)
        values.append(1 - (found * precision).sum() / len(positives))
    return mean(values, x)


def fast_ap(x, labels, num_bins=10, **where):
    return ap_quantised(x, labels, num_bins=num_bins + 1, **where)


def batch(dtype=torch.float64, seed=0, grad=True):
    """Classes of 1 to 6 examples, mixed up, as unit vectors."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.tensor([7, -3, 7, 0, 5, 0, -3, 7, 5, 7, 9, 7, 0, 7])
    x = torch.randn(len(labels), 6, generator=generator, dtype=torch.float64)
    x = torch.nn.functional.normalize(x).to(dtype)
    return x.requires_grad_(grad), labels


def gallery(dtype=torch.float64):
    """A database for batch(): the first five queries stand last in it, as
    they were some steps ago; with equal vectors histograms have a kink."""
    generator = torch.Generator().manual_seed(5)
    x, labels = batch()
    y = torch.randn(13, 6, generator=generator, dtype=torch.float64)
    y[8:] = x.detach()[:5] + 0.1 * y[8:]
    y = torch.nn.functional.normalize(y).to(dtype).requires_grad_(True)
    y_labels = torch.cat([torch.tensor([0, 7, 7, 5, -3, 0, 11, 7]), labels[:5]])
    place = torch.full((len(x),), -1)
    place[:5] = torch.arange(8, 13)
    return y, y_labels, place


def mixed(x, labels, pairs, alphas):
    """The batch with its virtual examples."""
    virtual = (alphas[:, None] * x[pairs[:, 0]]
               + (1 - alphas)[:, None] * x[pairs[:, 1]])
    return (torch.cat([x, virtual]),
            torch.cat([labels, labels[pairs[:, 0]]]))
