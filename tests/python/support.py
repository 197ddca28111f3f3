"""What the tests of the package share: a Python that has it, the losses as
functions, and a comparison."""

import functools
import unittest

import find_python

find_python.need("torch", "kith")

import torch

import kith

#: What is given at a call; the rest are options of the loss.
CALL = ("indices_tuple", "ref_emb", "ref_labels", "self_index", "pairs",
        "alphas", "seed")
#: The losses without parameters.
NAMES = [name for name, loss in kith.losses.by_name.items()
         if not loss.part.fields["parameters"]]


def compute(name, x, labels, **arguments):
    """A loss by name; what is not of its call are its options."""
    call = {key: arguments.pop(key) for key in CALL if key in arguments}
    return kith.losses.by_name[name](**arguments)(x, labels, **call)


recall_at_k = functools.partial(compute, "recall_at_k")
smooth_ap = functools.partial(compute, "smooth_ap")
fast_ap = functools.partial(compute, "fast_ap")
ap_quantised = functools.partial(compute, "ap_quantised")


def has_cuda():
    """Whether there is a GPU, and kith is built for it."""
    if not torch.cuda.is_available():
        return False
    try:
        recall_at_k(torch.zeros(2, 2, device="cuda"),
                    torch.zeros(2, dtype=torch.int64, device="cuda"))
    except RuntimeError as error:
        if "no CUDA kernels" not in str(error):
            raise
        return False
    return True


COMPILES = hasattr(torch, "compile") and int(torch.__version__[0]) >= 2
DEVICES = ["cpu"] + (["cuda"] if has_cuda() else [])


class Case(unittest.TestCase):
    def check(self, value, expected, inputs, atol=1e-10):
        """Equal values, and equal gradients of all inputs."""
        self.assertEqual(value.shape, torch.Size([]))
        self.assertEqual(value.dtype, inputs[0].dtype)
        torch.testing.assert_close(value.double().cpu(),
                                   expected.double().cpu(), atol=atol, rtol=0)
        got = torch.autograd.grad(3 * value, inputs)
        want = torch.autograd.grad(3 * expected, inputs)
        for a, b, given in zip(got, want, inputs):
            self.assertEqual(a.dtype, given.dtype)
            torch.testing.assert_close(
                a.double(), b.double(), rtol=0,
                atol=atol * max(1.0, b.abs().max().item()))
