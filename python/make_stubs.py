"""Writes the types of an installed package's classes for editors and mypy:
losses.pyi, miners.pyi and samplers.pyi, of the signatures that are made of
C++'s description of options when the package is loaded.

usage: make_stubs.py FOLDER     the folder of the package, .../kith
"""

import inspect
import pathlib
import sys
import textwrap
import typing

IMPORTS = """\
from typing import (Any, Dict, Iterator, List, Literal, Optional, Sequence,
                    Tuple, Type, Union)

import torch
from torch import Tensor
"""

# What the classes of a module share, which is written in its source.
SHARED = {
    "losses": '''
Tuples = Union[Tensor, Tuple[Tensor, ...]]

class Loss(torch.nn.Module):
    changed: Dict[str, Any]
    normalize: Optional[bool]
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def forward{forward}: ...
    def __call__{forward}: ...
    def parameter_groups(self) -> List[Dict[str, Any]]: ...
''',
    "miners": '''
class Miner(torch.nn.Module):
    changed: Dict[str, Any]
    normalize: bool
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def forward{forward}: ...
    def __call__{forward}: ...
''',
    "samplers": '''
class Sampler(torch.utils.data.Sampler[List[int]]):
    changed: Dict[str, Any]
    epoch: int
    wants_embeddings: bool
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def set_epoch(self, epoch: int, embeddings: Optional[Tensor] = ...
                  ) -> None: ...
    def batches(self) -> List[List[int]]: ...
    def __iter__(self) -> Iterator[List[int]]: ...
    def __len__(self) -> int: ...
''',
}


def type_text(kind):
    if isinstance(kind, type) and typing.get_origin(kind) is None:
        return kind.__name__
    text = str(kind).replace("typing.", "").replace("NoneType", "None")
    return text.replace("torch.Tensor", "Tensor")


def signature_text(signature):
    """With defaults, for these are what an editor shows."""
    words, starred = ["self"], False
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind == inspect.Parameter.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        word = f"{parameter.name}: {type_text(parameter.annotation)}"
        if parameter.default is not inspect.Parameter.empty:
            word += f" = {parameter.default!r}"
        words.append(word)
    return ", ".join(words)


def class_text(cls):
    text = f'r"""{cls.__doc__}\n"""\n'
    for name in cls.part.fields.get("parameters", ()):
        text += f"{name}: torch.nn.Parameter\n"
    text += f"def __init__({signature_text(cls.__signature__)}) -> None: ...\n"
    return (f"class {cls.__name__}({cls.__base__.__name__}):\n"
            + textwrap.indent(text, "    "))


def stub(module, name, base):
    text = IMPORTS
    shared = SHARED[name]
    if "{forward}" in shared:
        signature = signature_text(inspect.signature(base.forward))
        shared = shared.replace("{forward}", f"({signature}) -> Tensor")
    text += shared
    for cls in module.by_name.values():
        text += "\n" + class_text(cls)
    return text + f"\nby_name: Dict[str, Type[{base.__name__}]]\n"


def main(folder):
    folder = pathlib.Path(folder).resolve()
    sys.path.insert(0, str(folder.parent))  # not the sources beside this file
    from kith import losses, miners, samplers
    for module, base in ((losses, losses.Loss), (miners, miners.Miner),
                         (samplers, samplers.Sampler)):
        name = module.__name__.rpartition(".")[2]
        (folder / f"{name}.pyi").write_text(stub(module, name, base), "utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
