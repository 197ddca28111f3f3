"""What the tests of kith_ops share: a Python that has it, and a comparison."""

import unittest

import find_python

find_python.need("torch", "kith_ops")

import torch

import kith_ops


def has_cuda():
    """Whether there is a GPU, and kith is built for it."""
    if not torch.cuda.is_available():
        return False
    try:
        kith_ops.recall_at_k(torch.zeros(2, 2, device="cuda"),
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
        for a, b in zip(got, want):
            self.assertEqual(a.dtype, inputs[0].dtype)
            torch.testing.assert_close(
                a.double(), b.double(), rtol=0,
                atol=atol * max(1.0, b.abs().max().item()))
