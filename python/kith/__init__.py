"""kith for PyTorch: deep metric learning in C++ and CUDA.

    loss = kith.losses.RecallAtK(k=[1, 2, 4])
    loss(embeddings, labels).backward()
    kith.metrics(embeddings, labels, ["recall_any@1", "map_at_r"])

Losses, miners and samplers are classes in kith.losses, kith.miners and
kith.samplers. docs/python.md tells more.
"""

from . import losses, miners, samplers
from ._library import LIBRARY
from ._multistage import Multistage
from ._nested import Nested
from ._parts import DESCRIPTION as _DESCRIPTION
from ._retrieval import Neighbours, metrics, search, simix_pairs

__version__: str = _DESCRIPTION["version"]
__all__ = ["LIBRARY", "Multistage", "Neighbours", "Nested", "losses", "metrics",
           "miners", "samplers", "search", "simix_pairs"]
