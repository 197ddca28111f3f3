"""A loss for embeddings that may be cut."""

from typing import Any, Callable, Dict, List, Optional, Sequence

import torch
from torch import Tensor


def _learns(loss: torch.nn.Module) -> bool:
    return next(loss.parameters(), None) is not None


class Nested(torch.nn.Module):
    """Matryoshka representation learning (Kusupati et al., NeurIPS 2022): a
    loss for each of several sizes, of the first so many numbers of the
    embeddings, so that these may be cut to any of the sizes later.

        loss = kith.Nested([64, 128, 512], lambda size: kith.losses.ProxyAnchor(
            num_classes=16, embedding_size=size))
        loss(embeddings, labels).backward()

    What is cut is made a unit vector; the whole is taken as it is.

    Arguments:
        sizes: rising; the last is the whole embedding.
        make: gives the loss of a size, a module of its own for each where it
            has parameters.
        weights: of each size's loss in the sum; None: 1 each.
    """

    def __init__(self, sizes: Sequence[int],
                 make: Callable[[int], torch.nn.Module],
                 weights: Optional[Sequence[float]] = None):
        super().__init__()
        self.sizes = [int(size) for size in sizes]
        if not self.sizes or any(
                size <= before
                for before, size in zip([0, *self.sizes], self.sizes)):
            raise ValueError("sizes must be rising and at least 1, got "
                             f"{list(sizes)}")
        self.weights = ([1.0] * len(self.sizes) if weights is None
                        else [float(weight) for weight in weights])
        if len(self.weights) != len(self.sizes):
            raise ValueError(f"there are {len(self.sizes)} sizes and "
                             f"{len(self.weights)} weights")
        losses = [make(size) for size in self.sizes]
        learning = [id(loss) for loss in losses if _learns(loss)]
        if len(set(learning)) < len(learning):
            raise ValueError("make gave the same module for two sizes: its "
                             "parameters have one size, so make one for each")
        self.losses = torch.nn.ModuleDict(
            {str(size): loss for size, loss in zip(self.sizes, losses)})

    def forward(self, embeddings: Tensor, labels: Tensor,
                indices_tuple: Any = None, ref_emb: Optional[Tensor] = None,
                ref_labels: Optional[Tensor] = None, **more: Any) -> Tensor:
        """The weighted sum of the losses, which are called alike."""
        if embeddings.dim() != 2 or embeddings.size(1) != self.sizes[-1]:
            raise ValueError(f"the last size is {self.sizes[-1]}, but the "
                             f"embeddings are {list(embeddings.shape)}")
        total = embeddings.new_zeros(())
        for size, weight in zip(self.sizes, self.weights):
            loss = self.losses[str(size)]
            total = total + weight * loss(
                self._first(embeddings, size), labels, indices_tuple,
                None if ref_emb is None else self._first(ref_emb, size),
                ref_labels, **more)
        return total

    def parameter_groups(self) -> List[Dict[str, Any]]:
        """Those of the losses, for torch.optim."""
        groups: List[Dict[str, Any]] = []
        for loss in self.losses.values():
            if hasattr(loss, "parameter_groups"):
                groups += loss.parameter_groups()
            elif _learns(loss):
                groups.append({"params": list(loss.parameters())})
        return groups

    def _first(self, rows: Tensor, size: int) -> Tensor:
        if size == self.sizes[-1]:
            return rows
        return torch.nn.functional.normalize(rows[:, :size])

    def extra_repr(self) -> str:
        return f"sizes={self.sizes}, weights={self.weights}"
