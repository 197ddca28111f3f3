"""Samplers decide which items make a batch: batch samplers for a DataLoader.

    sampler = kith.samplers.ClassBalancedSampler(labels, batch=64, per_class=4)
    loader = torch.utils.data.DataLoader(dataset, batch_sampler=sampler)

Each pass over the loader is the next epoch of a plan that depends on the seed
alone, the plan of `kith train`; set_epoch() goes to another one.

`by_name` finds a class by the name it has in configurations.
"""

import inspect
import json
import logging
from typing import (Any, Dict, Iterator, List, Optional, Sequence, Tuple, Type,
                    Union)

import torch
from torch import Tensor

from ._parts import DESCRIPTION, Part, keyword_only, refuse_name

_log = logging.getLogger("kith")

_LABELS = """\
    labels: Of all items, [N] integers: positions in it make a batch."""
_CONSTRUCTOR = """\
    categories: Groups of classes, a text for each item ("" for none), for a
        sampler that draws by them.
    seed: Of the plan."""


class Sampler(torch.utils.data.Sampler):
    """What all samplers share."""

    part: Part

    # torch's own takes a data set in old versions and nothing in new ones, and
    # does nothing with it.
    def __init__(self, *args: Any, **kwargs: Any):
        given = self.part.bind(args, kwargs)
        self.changed = self.part.changed(given)
        self.epoch = 0
        labels = torch.as_tensor(given["labels"])
        if not labels.is_floating_point():
            labels = labels.long()
        self._arguments = (self.part.name, json.dumps(self.changed), labels,
                           list(given["categories"] or []), given["seed"])
        self.wants_embeddings, messages = torch.ops.kith._sampler(
            *self._arguments)
        for message in messages:
            _log.info(message)
        self._embeddings: Optional[Tensor] = None
        self._plan: Optional[Tuple[int, List[List[int]]]] = None

    def set_epoch(self, epoch: int, embeddings: Optional[Tensor] = None
                  ) -> None:
        """The next pass is this epoch. `embeddings`, [N, D], are those of all
        items, for a sampler that chooses by them (`wants_embeddings`): it needs
        new ones for each epoch."""
        self.epoch = epoch
        self._embeddings = embeddings
        self._plan = None

    def batches(self) -> List[List[int]]:
        """Those of the next pass, as positions."""
        if self._plan is None or self._plan[0] != self.epoch:
            places, sizes = torch.ops.kith._plan(
                *self._arguments, self.epoch, self._embeddings)
            parts = places.split(sizes.tolist())
            self._plan = self.epoch, [part.tolist() for part in parts]
        return self._plan[1]

    def __iter__(self) -> Iterator[List[int]]:
        batches = self.batches()
        self.epoch += 1
        self._embeddings = None
        return iter(batches)

    def __len__(self) -> int:
        """Batches of the pass under way, or of the first."""
        return len(self.batches() if self._plan is None else self._plan[1])


def _make(fields: Dict[str, Any]) -> type:
    labels = inspect.Parameter(
        "labels", inspect.Parameter.POSITIONAL_OR_KEYWORD,
        annotation=Union[Sequence[int], Tensor])
    after = [keyword_only("categories", Optional[Sequence[str]], None),
             keyword_only("seed", int, 0)]
    return Part(fields, [labels], after).make_class(Sampler, _LABELS, _CONSTRUCTOR)


#: Classes by their names in configurations: by_name["class_balanced"].
by_name: Dict[str, Type[Sampler]] = {
    fields["name"]: _make(fields) for fields in DESCRIPTION["samplers"]}
globals().update({cls.__name__: cls for cls in by_name.values()})
__all__ = ["Sampler", "by_name", *(cls.__name__ for cls in by_name.values())]


def __getattr__(name: str) -> Any:
    refuse_name(__name__, "sampler", name, by_name)
