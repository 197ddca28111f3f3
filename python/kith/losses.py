"""Losses as torch modules, called as in pytorch-metric-learning:

    loss = kith.losses.RecallAtK(k=[1, 2, 4], t2=0.05)
    loss(embeddings, labels).backward()

Value and gradient are computed together, in C++ or CUDA: the matrix of
similarities is never held as a whole, whatever the size of the batch. By
default embeddings are divided by their norms where a loss is defined on unit
vectors, as `kith train` does, and the gradient is that of the vectors as given.

`by_name` finds a class by the name it has in configurations.
"""

import inspect
import json
from typing import Any, Dict, List, Optional, Sequence, Tuple, Type, Union

import torch
from torch import Tensor

from ._parts import DESCRIPTION, Part, draw_seed, keyword_only, refuse_name

#: [T, 2, 3 or 4] int64 positions, or a tuple of tensors as miners of
#: pytorch-metric-learning give them.
Tuples = Union[Tensor, Tuple[Tensor, ...]]

_NORMALIZE = """\
    normalize: Divide embeddings and ref_emb by their norms first; None: where
        the loss is defined on unit vectors."""
_CLASSES = """\
    num_classes: How many classes there are, for parameters of each; labels are
        0 to num_classes - 1."""
_SIZE = """\
    embedding_size: Numbers in an embedding."""
_SEED = """\
    seed: Of the parameters' first values; None: one of torch's generator.

Learning rates and weight decay are for an optimiser that is given
parameter_groups()."""


class Loss(torch.nn.Module):
    """What all losses share. A loss of parameters has them as nn.Parameter."""

    part: Part

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()
        given = self.part.bind(args, kwargs)
        self.changed = self.part.changed(given)
        self.normalize: Optional[bool] = given["normalize"]
        self._name = self.part.name
        self._options = json.dumps(self.changed)
        # A second negative, and SiMix's shares unless they are given.
        self._draws = (4 in self.part.fields["tuples"]
                       or bool(self.changed.get("simix")))
        seed = given.get("seed")
        if seed is None:
            seed = draw_seed() if "seed" in given else 0
        names, values, self._rates, self._decays = torch.ops.kith._parameters(
            self._name, self._options, given.get("num_classes"),
            given.get("embedding_size"), seed)
        self._parameter_names = tuple(names)
        for name, value in zip(names, values):
            self.register_parameter(name, torch.nn.Parameter(value))

    def forward(self, embeddings: Tensor, labels: Tensor,
                indices_tuple: Optional[Tuples] = None,
                ref_emb: Optional[Tensor] = None,
                ref_labels: Optional[Tensor] = None, *,
                self_index: Optional[Tensor] = None,
                pairs: Optional[Tensor] = None,
                alphas: Optional[Tensor] = None,
                seed: Optional[int] = None) -> Tensor:
        """The loss of a batch, differentiable once.

        Arguments:
            embeddings: [M, D] float32 or float64 (half precision is computed in
                float32), on a CPU or a GPU, of any length.
            labels: [M] int64, any values in any order, on the same device.
            indices_tuple: what a miner chose, for losses on tuples; None: the
                whole batch.
            ref_emb: [C, D], what the embeddings are compared with instead of
                each other, for losses on rows of similarities; gets a gradient
                too if it requires one.
            ref_labels: [C] int64.
            self_index: [M] int64, which row of ref_emb each embedding is
                itself, or -1; None: none is.
            pairs: [V, 2] int64 positions of one class each, for losses that
                take SiMix's virtual examples alphas x_i + (1 - alphas) x_j.
            alphas: [V] floating point; see `kith.simix_pairs`.
            seed: of what the loss draws itself; None: one of torch's generator.

        Returns a scalar of the type of `embeddings`. ValueError says what is
        wrong with the tensors.
        """
        if indices_tuple is not None and not torch.is_tensor(indices_tuple):
            indices_tuple = _stacked(indices_tuple)
        if seed is None:
            seed = draw_seed() if self._draws else 0
        return torch.ops.kith.loss(
            self._name, self._options, ",".join(self._parameter_names),
            [getattr(self, name) for name in self._parameter_names],
            embeddings, labels, database=ref_emb, database_labels=ref_labels,
            self_index=self_index, tuples=indices_tuple, pairs=pairs,
            alphas=alphas, normalize=self.normalize, seed=seed)

    def parameter_groups(self) -> List[Dict[str, Any]]:
        """The parameters for torch.optim, with the learning rates and the
        weight decay that the options say:

            torch.optim.AdamW([{"params": net.parameters()},
                               *loss.parameter_groups()], lr=1e-4)
        """
        groups: List[Dict[str, Any]] = []
        for name, rate in zip(self._parameter_names, self._rates):
            groups.append({"params": [getattr(self, name)]})
            if rate > 0:
                groups[-1]["lr"] = rate
            if not self._decays:
                groups[-1]["weight_decay"] = 0.0
        return groups

    def extra_repr(self) -> str:
        return ", ".join(f"{key}={value!r}"
                         for key, value in self.changed.items())


def _stacked(tuples: Sequence[Tensor]) -> Tensor:
    """Of (anchors, positives, negatives), or of (anchors, positives, anchors,
    negatives), which are pairs: labels tell them apart."""
    if len(tuples) not in (3, 4) or not all(map(torch.is_tensor, tuples)):
        raise ValueError("indices_tuple must be int64 [T, 2, 3 or 4], or tensors"
                         " (anchors, positives, negatives) or (anchors, "
                         "positives, anchors, negatives)")
    if len(tuples) == 4:
        first, second = tuples[:2], tuples[2:]
        return torch.cat([torch.stack(list(first), 1),
                          torch.stack(list(second), 1)])
    return torch.stack(list(tuples), 1)


def _make(fields: Dict[str, Any]) -> type:
    before, after = [], []
    head, tail = [], []  # their documentation
    if fields["needs_classes"]:
        before.append(_positional("num_classes"))
        head.append(_CLASSES)
    elif fields["learns"]:
        after.append(keyword_only("num_classes", Optional[int], None))
        tail.append(_CLASSES)
    if fields["needs_dim"]:
        before.append(_positional("embedding_size"))
        head.append(_SIZE)
    after.append(keyword_only("normalize", Optional[bool], None))
    tail.append(_NORMALIZE)
    if fields["learns"]:
        after.append(keyword_only("seed", Optional[int], None))
        tail.append(_SEED)
    return Part(fields, before, after).make_class(Loss, "\n".join(head),
                                                  "\n".join(tail))


def _positional(name: str) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                             annotation=int)


#: Classes by their names in configurations: by_name["recall_at_k"].
by_name: Dict[str, Type[Loss]] = {
    fields["name"]: _make(fields) for fields in DESCRIPTION["losses"]}
globals().update({cls.__name__: cls for cls in by_name.values()})
__all__ = ["Loss", "by_name", *(cls.__name__ for cls in by_name.values())]


def __getattr__(name: str) -> Any:
    refuse_name(__name__, "loss", name, by_name)
