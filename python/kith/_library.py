"""Finds libkith_ops.so and loads it into torch."""

import os
import pathlib
import re
from typing import Iterator

import torch

_FILE = "libkith_ops.so"


def _places() -> Iterator[pathlib.Path]:
    """Where the library may lie, the likeliest place first."""
    here = pathlib.Path(__file__).resolve().parent
    yield here / _FILE
    # In a checkout: what is built there.
    root = here.parent.parent
    yield root / "build/release/python" / _FILE
    yield from sorted(root.glob(f"build*/*/python/{_FILE}"))
    # By cmake --install: this is <prefix>/share/kith/python/kith.
    for prefix in here.parents[3:4]:
        yield from sorted(prefix.glob(f"lib*/{_FILE}"))
        yield from sorted(prefix.glob(f"lib/*/{_FILE}"))


def _built_with(path: pathlib.Path) -> str:
    """The version of torch that is written in the library; empty if none."""
    found = re.search(rb"kith_ops: built with torch ([^;\0]+);",
                      path.read_bytes())
    return found[1].decode() if found else ""


def _fits(version: str) -> bool:
    """LibTorch keeps its binary interface within 1.13.x, not beyond."""
    return version.split(".")[:2] == torch.__version__.split(".")[:2]


def _find() -> pathlib.Path:
    named = os.environ.get("KITH_OPS_LIBRARY")
    if named:
        found = [pathlib.Path(named)]
        if not found[0].is_file():
            raise ImportError(f"KITH_OPS_LIBRARY is {named}: no such file")
    else:
        found = [path for path in _places() if path.is_file()]
    for path in found:
        if _fits(_built_with(path)):
            return path
    if found:
        version = _built_with(found[0])
        if not version:
            raise ImportError(f"{found[0]} is not {_FILE} of kith")
        raise ImportError(
            f"{found[0]} is built with torch {version}, but this Python has "
            f"torch {torch.__version__}: install kith again, from its checkout "
            "(pip install --no-build-isolation ./python)")
    raise ImportError(
        f"there is no {_FILE} beside {__file__} or in build/*/python of its "
        "checkout: pip install --no-build-isolation ./python builds it, and so "
        "does the target kith_ops; or set KITH_OPS_LIBRARY to the file")


def _load() -> str:
    path = _find()
    try:
        torch.ops.load_library(str(path))
    except OSError as error:
        raise ImportError(f"{path} cannot be loaded into torch "
                          f"{torch.__version__}: {error}") from error
    return str(path)


#: The file that was loaded.
LIBRARY = _load()
