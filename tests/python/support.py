"""What the tests of kith_ops share: a Python that has it, and a comparison.

Where kith_ops cannot be imported, the Pythons of KITH_PYTHONS (paths with
colons between) are tried next. Exit status 77 (skipped) if none can; in CI
(CI=true) one must.
"""

import os
import sys
import unittest

SKIPPED = 77

try:
    import torch
    import kith_ops
except ImportError as reason:
    print(f"{sys.executable}: {reason}", flush=True)
    others = os.environ.get("KITH_PYTHONS", "").split(":")
    others = [path for path in others if os.access(path, os.X_OK)]
    if others:
        os.environ["KITH_PYTHONS"] = ":".join(others[1:])
        os.execv(others[0], [others[0], *sys.argv])
    print("skipped: no Python with the torch that kith is built against")
    sys.exit(1 if os.environ.get("CI") == "true" else SKIPPED)


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
