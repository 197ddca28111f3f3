"""kith's losses for PyTorch: value and gradient in one call of C++ or CUDA.

    import torch
    import kith_ops

    x = torch.randn(64, 128, requires_grad=True)
    labels = torch.arange(16).repeat(4)
    loss = kith_ops.recall_at_k(x, labels)
    loss.backward()

The similarity matrix is never held as a whole: `memory_mb` bounds what a call
takes, whatever the size of the batch. Importing this module loads
libkith_ops.so, which must be built against the torch that imports it.
docs/python.md tells how, and what the limits are.
"""

import inspect
import os
import pathlib
import re
from typing import Iterator, List, Sequence, Tuple

import torch
from torch import Tensor

__all__ = ["LIBRARY", "ap_quantised", "fast_ap", "loss", "names",
           "recall_at_k", "simix_pairs", "smooth_ap"]

_FILE = "libkith_ops.so"


def _places() -> Iterator[pathlib.Path]:
    """Where the library may lie, the likeliest place first."""
    here = pathlib.Path(__file__).resolve().parent
    yield here / _FILE
    yield here.parent / "lib" / _FILE
    # In a checkout: what is built there.
    yield here.parent / "build/release/python" / _FILE
    yield from sorted(here.parent.glob(f"build*/*/python/{_FILE}"))
    # Installed: this file is <prefix>/share/kith/python/kith_ops.py.
    prefix = here.parent.parent.parent
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
            f"{found[0]} is built with torch {version}, "
            f"but this Python has torch {torch.__version__}: build kith "
            "against this torch (docs/python.md)")
    raise ImportError(
        f"there is no {_FILE} beside {__file__}, in ../lib or in "
        "../build/*/python: build the target kith_ops, or set "
        "KITH_OPS_LIBRARY to the file")


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


_NAMES = tuple(torch.ops.kith._names())


def names() -> List[str]:
    """All losses of kith without parameters of their own, for `loss`."""
    return list(_NAMES)


def loss(name: str, embeddings: Tensor, labels: Tensor, **arguments) -> Tensor:
    """Any loss of kith by name, with the options `kith list losses` shows.

    Every loss takes `normalize`. None, the default: embeddings are divided by
    their norms where the loss is defined on unit vectors, as `kith loss` and
    `kith train` do; `npair`, `lifted`, `angular` and `angular_all` take them as
    they are. Where it makes sense for it, a loss also takes `tuples` (int64
    [T, 2, 3 or 4], mined positions), `pairs` and `alphas` (see `simix_pairs`)
    and `database`, `database_labels` and `self_index` (see
    `recall_at_k`). `seed` is for what a loss draws itself.

        loss("contrastive", x, labels, neg_margin=0.8)

    Returns a scalar of the type of `embeddings`, differentiable once.
    """
    if name not in _NAMES:
        raise ValueError(f"no loss is called {name!r}; one of "
                         + ", ".join(_NAMES))
    return getattr(torch.ops.kith, name)(embeddings, labels, **arguments)


def _precision(tf32: bool) -> str:
    return "tf32" if tf32 else "float32"


def _show_arguments(function):
    """Lists an operator's arguments, with the defaults that C++ says, in place
    of the `**options` of the function of its name: for help()."""
    schema = getattr(torch.ops.kith, function.__name__).default._schema
    given = inspect.signature(function)
    shown = {name: argument for name, argument in given.parameters.items()
             if argument.kind != inspect.Parameter.VAR_KEYWORD}
    for argument in schema.arguments:
        if argument.name != "products":  # which is tf32
            shown.setdefault(argument.name, inspect.Parameter(
                argument.name, inspect.Parameter.KEYWORD_ONLY,
                default=argument.default_value))
    function.__signature__ = given.replace(parameters=list(shown.values()))
    return function


# Its own k: that of C++ is another one with virtual examples.
@_show_arguments
def recall_at_k(embeddings: Tensor, labels: Tensor, *,
                k: Sequence[int] = (1, 2, 4, 8, 16), tf32: bool = False,
                **options) -> Tensor:
    """Recall@k surrogate, RS@k (Patel, Tolias & Matas, CVPR 2022).

        r(q, x) = 1 + sum over z != q, x of sigmoid((s_qz - s_qx) / t2)
        R_k(q)  = min(k, sum over positives x of sigmoid((k - r(q, x)) / t1))
                  / min(k, number of positives)
        loss    = mean over q and k of 1 - R_k(q)

    s is the inner product. Queries without a positive are left out.

    Arguments:
        embeddings: [M, D] float32 or float64 (half precision is computed in
            float32), on a CPU or a GPU, of any length.
        labels: [M] int64, any values in any order, on the same device.
        k: recall@k is averaged over these.
        t1: temperature of the sigmoid that counts ranks up to k.
        t2: temperature of the sigmoid that compares similarities.
        query_in_database: also rank the query against itself, as the
            published code does.
        normalize: divide embeddings and database by their norms first, which
            is the default (None) for a loss that, as this one, is defined on
            unit vectors; the gradient is that of the vectors as given. False:
            they are unit vectors already, or are to be taken as they are.
        database: [C, D], ranked for each of the embeddings instead of the
            embeddings themselves; gets a gradient too if it requires one.
        database_labels: [C] int64.
        self_index: [M] int64, which row of the database each query is itself,
            or -1; None: none is.
        pairs: [V, 2] int64 positions of one class each: SiMix's virtual
            examples alphas x_i + (1 - alphas) x_j, which are queries,
            positives and negatives like the others. Not with a database. With
            them the paper takes k = (1, 2, 4, 8, 12, 16, 20, 24, 28, 32).
        alphas: [V] floating point.
        memory_mb: budget for blocks of similarities.
        tf32: products in TF32 on a GPU: faster, similarities change by about
            5e-4.

    Returns a scalar of the type of `embeddings`, differentiable once.

        x = torch.randn(8, 4)
        recall_at_k(x, torch.tensor([0, 0, 1, 1, 2, 2, 3, 3]), k=(1, 2))
    """
    return torch.ops.kith.recall_at_k(
        embeddings, labels, k=list(k), products=_precision(tf32), **options)


@_show_arguments
def smooth_ap(embeddings: Tensor, labels: Tensor, *, tf32: bool = False,
              **options) -> Tensor:
    """Smooth-AP (Brown, Xie, Kalogeiton & Zisserman, ECCV 2020).

        R(x, Z) = 1 + sum over z != x in Z of
                  sigmoid((s_qz - s_qx) / temperature)
        AP(q)   = mean over positives x of R(x, positives) / R(x, all)
        loss    = mean over q of 1 - AP(q)

    Arguments:
        temperature: of the sigmoid that compares similarities.
        query_in_database: count the query among its own positives, in both
            rankings, as the published code does.

    All others, and what is returned: see `recall_at_k`.
    """
    return torch.ops.kith.smooth_ap(
        embeddings, labels, products=_precision(tf32), **options)


@_show_arguments
def fast_ap(embeddings: Tensor, labels: Tensor, *, tf32: bool = False,
            **options) -> Tensor:
    """FastAP (Cakir, He, Xia, Kulis & Sclaroff, CVPR 2019).

    Average precision over a soft histogram of squared distances d = 2 - 2 s
    with centres c_l = 4 l / num_bins, l = 0 .. num_bins:

        h+_l, h_l = positives, all, weights max(0, 1 - |d - c_l| num_bins / 4)
        AP(q)     = sum over l of h+_l H+_l / H_l / number of positives
        loss      = mean over q of 1 - AP(q)

    where H is cumulative. The gradient is the derivative of that; the
    published backward is M / 2 times as large.

    Arguments:
        num_bins: intervals of the histogram.
        euclidean: take |x - y|^2 for d: the same for unit vectors, but with
            the gradient of the distance.

    All others, and what is returned: see `recall_at_k`.
    """
    return torch.ops.kith.fast_ap(
        embeddings, labels, products=_precision(tf32), **options)


@_show_arguments
def ap_quantised(embeddings: Tensor, labels: Tensor, *, tf32: bool = False,
                 **options) -> Tensor:
    """Quantised AP (He et al., CVPR 2018; Revaud et al., ICCV 2019).

    Average precision over a soft histogram of similarities with centres
    b_m = 1 - 2 m / (num_bins - 1), m = 0 .. num_bins - 1, and triangular
    weights:

        AP(q) = sum over m of h+_m H+_m / H_m / number of positives
        loss  = mean over q of 1 - AP(q)

    where h+ are positives, h all, and H is cumulative from b_0 = 1 down.

    Arguments:
        num_bins: centres of the histogram.

    All others, and what is returned: see `recall_at_k`.
    """
    return torch.ops.kith.ap_quantised(
        embeddings, labels, products=_precision(tf32), **options)


@_show_arguments
def simix_pairs(labels: Tensor, *, seed: int,
                **options) -> Tuple[Tensor, Tensor]:
    """All pairs of positives in a batch and random shares, for SiMix.

    Arguments:
        labels: [M] int64.
        seed: alphas are drawn from U(0, 1) by it, the same on any machine.
        limit: ValueError if there are more pairs.

    Returns pairs [V, 2] int64 and alphas [V] float64 on the labels' device.

        pairs, alphas = simix_pairs(labels, seed=step)
        recall_at_k(x, labels, pairs=pairs, alphas=alphas)
    """
    return torch.ops.kith.simix_pairs(labels, seed, **options)
