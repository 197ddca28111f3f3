"""Losses and miners as PyTorch users write them, for comparison with kith.

Each follows the shape of the computation in the code that its paper published,
or in pytorch-metric-learning where kith's loss is the one known from there:
loops over anchors, all triplets by torch.where, matrices of tuples. They are
written anew, in few lines, and compute kith's formula at kith's defaults.
"""

from . import miners, pairs, proxies, ranking, tuples  # noqa: F401
from .common import LOSSES, MINERS  # noqa: F401
