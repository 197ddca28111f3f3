"""Miners choose the tuples that a loss is computed on:

    triplets = kith.miners.SemihardMiner(margin=0.1)(embeddings, labels)
    kith.losses.Triplet(margin=0.1)(embeddings, labels, triplets).backward()

`by_name` finds a class by the name it has in configurations.
"""

import json
from typing import Any, Dict, Optional, Type

import torch
from torch import Tensor

from ._parts import DESCRIPTION, Part, draw_seed, keyword_only, refuse_name

_CONSTRUCTOR = """\
    normalize: Embeddings are divided by their norms first; False: for a loss
        on vectors of any length."""


class Miner(torch.nn.Module):
    """What all miners share. They have no parameters."""

    part: Part

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()
        given = self.part.bind(args, kwargs)
        self.changed = self.part.changed(given)
        self.normalize: bool = given["normalize"]
        self._options = json.dumps(self.changed)
        # An option that is not allowed is refused here.
        self(torch.zeros(0, 1, device="cpu"),
             torch.zeros(0, dtype=torch.int64, device="cpu"), seed=0)

    def forward(self, embeddings: Tensor, labels: Tensor, *,
                seed: Optional[int] = None) -> Tensor:
        """Positions in the batch, [T, 3] int64 (anchor, positive, negative) or
        [T, 2] (pairs, which labels tell apart), on the device of `embeddings`.

        Arguments:
            embeddings: [M, D] floating point.
            labels: [M] int64.
            seed: of what is drawn; None: one of torch's generator.
        """
        return torch.ops.kith.mine(
            self.part.name, self._options, embeddings, labels,
            normalize=self.normalize,
            seed=draw_seed() if seed is None else seed)

    def extra_repr(self) -> str:
        return ", ".join(f"{key}={value!r}"
                         for key, value in self.changed.items())


def _make(fields: Dict[str, Any]) -> type:
    after = [keyword_only("normalize", bool, True)]
    return Part(fields, after=after).make_class(Miner, after=_CONSTRUCTOR)


#: Classes by their names in configurations: by_name["semihard"].
by_name: Dict[str, Type[Miner]] = {
    fields["name"]: _make(fields) for fields in DESCRIPTION["miners"]}
globals().update({cls.__name__: cls for cls in by_name.values()})
__all__ = ["Miner", "by_name", *(cls.__name__ for cls in by_name.values())]


def __getattr__(name: str) -> Any:
    refuse_name(__name__, "miner", name, by_name)
