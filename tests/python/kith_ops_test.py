"""kith_ops against the formula in plain PyTorch, in a Python with torch.

usage: PYTHONPATH=python python3 kith_ops_test.py [OPTION of unittest]...

Where kith_ops cannot be imported, the Pythons of KITH_PYTHONS (paths with
colons between) are tried next. Exit status 77 (skipped) if none can; in CI
(CI=true) one must.
"""

import os
import subprocess
import sys
import tempfile
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

from formulas import (ap_quantised, batch, fast_ap, gallery, mixed,
                      recall_at_k, smooth_ap)



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


class RecallAtK(Case):
    def test_value_and_gradient(self):
        for options in ({}, {"k": (1,)}, {"k": (2, 5), "t1": 0.5, "t2": 0.1},
                        {"query_in_database": True, "t2": 0.05}):
            x, labels = batch()
            self.check(kith_ops.recall_at_k(x, labels, **options),
                       recall_at_k(x, labels, **options), [x])

    def test_float32(self):
        wide, labels = batch()
        expected = recall_at_k(wide, labels, t2=0.1)
        gradient, = torch.autograd.grad(expected, wide)
        x = wide.detach().float().requires_grad_(True)
        value = kith_ops.recall_at_k(x, labels, t2=0.1)
        value.backward()
        self.assertEqual(x.grad.dtype, torch.float32)
        self.assertAlmostEqual(value.item(), expected.item(), places=5)
        torch.testing.assert_close(x.grad.double(), gradient, atol=1e-5, rtol=0)

    def test_half_precision_is_computed_in_float32(self):
        for dtype in (torch.float16, torch.bfloat16):
            x, labels = batch(dtype)
            value = kith_ops.recall_at_k(x, labels, t2=0.1)
            self.assertEqual(value.dtype, torch.float32)
            value.backward()
            self.assertEqual(x.grad.dtype, dtype)
            wide = x.detach().float()
            self.assertEqual(
                value.item(),
                kith_ops.recall_at_k(wide, labels, t2=0.1).item())

    def test_gradcheck(self):
        x, labels = batch()
        self.assertTrue(torch.autograd.gradcheck(
            lambda x: kith_ops.recall_at_k(x, labels, t2=0.2), [x]))
        scaled = (x.detach() * torch.linspace(0.5, 2, len(x))[:, None]).double()
        self.assertTrue(torch.autograd.gradcheck(
            lambda x: kith_ops.recall_at_k(x, labels, t2=0.2, normalize=True),
            [scaled.requires_grad_(True)]))

    def test_gradcheck_of_queries_and_database(self):
        x, labels = batch()
        y, y_labels, place = gallery()
        self.assertTrue(torch.autograd.gradcheck(
            lambda x, y: kith_ops.recall_at_k(
                x, labels, t2=0.2, database=y, database_labels=y_labels,
                self_index=place), [x, y]))

    def test_database(self):
        x, labels = batch()
        y, y_labels, place = gallery()
        for extra in ({}, {"self_index": place},
                      {"self_index": place, "query_in_database": True}):
            where = dict(database=y, database_labels=y_labels, t2=0.1, **extra)
            self.check(kith_ops.recall_at_k(x, labels, **where),
                       recall_at_k(x, labels, **where), [x, y])
        # Only one of the two requires a gradient.
        where = dict(database=y.detach(), database_labels=y_labels, t2=0.1)
        self.check(kith_ops.recall_at_k(x, labels, **where),
                   recall_at_k(x, labels, **where), [x])
        where["database"] = y
        self.check(kith_ops.recall_at_k(x.detach(), labels, **where),
                   recall_at_k(x.detach(), labels, **where), [y])

    def test_normalize(self):
        x, labels = batch()
        y, y_labels, _ = gallery()
        with torch.no_grad():
            x *= torch.linspace(0.1, 3, len(x))[:, None]
            y *= torch.linspace(4, 0.2, len(y))[:, None]
        unit = torch.nn.functional.normalize
        self.check(kith_ops.recall_at_k(x, labels, normalize=True, t2=0.1),
                   recall_at_k(unit(x), labels, t2=0.1), [x])
        self.check(
            kith_ops.recall_at_k(x, labels, normalize=True, t2=0.1, database=y,
                                 database_labels=y_labels),
            recall_at_k(unit(x), labels, t2=0.1, database=unit(y),
                      database_labels=y_labels), [x, y])

    def test_simix(self):
        x, labels = batch()
        pairs, alphas = kith_ops.simix_pairs(labels, seed=3)
        self.assertEqual(len(pairs), 15 + 3 + 1 + 1)
        self.assertTrue((labels[pairs[:, 0]] == labels[pairs[:, 1]]).all())
        again = kith_ops.simix_pairs(labels, seed=3)
        self.assertTrue(torch.equal(alphas, again[1]))
        everything = mixed(x, labels, pairs, alphas)
        self.check(
            kith_ops.recall_at_k(x, labels, t2=0.1, pairs=pairs, alphas=alphas),
            recall_at_k(*everything, t2=0.1), [x])

    def test_small_budget(self):
        generator = torch.Generator().manual_seed(1)
        x = torch.randn(600, 8, generator=generator, dtype=torch.float64)
        labels = torch.arange(600) % 150
        large = kith_ops.recall_at_k(x, labels, normalize=True)
        small = kith_ops.recall_at_k(x, labels, normalize=True, memory_mb=1)
        self.assertAlmostEqual(large.item(), small.item(), places=12)

    def test_no_positives(self):
        x, _ = batch()
        value = kith_ops.recall_at_k(x, torch.arange(len(x)))
        self.assertEqual(value.item(), 0)
        value.backward()
        self.assertEqual(x.grad.abs().max().item(), 0)

    def test_empty_batch(self):
        x = torch.empty(0, 4, requires_grad=True)
        value = kith_ops.recall_at_k(x, torch.empty(0, dtype=torch.int64))
        value.backward()
        self.assertEqual(x.grad.shape, x.shape)

    def test_strided_inputs(self):
        x, labels = batch()
        expected = kith_ops.recall_at_k(x, labels, t2=0.1)
        strided = x.detach().t().contiguous().t().requires_grad_(True)
        apart = torch.stack([labels, labels], 1)[:, 0]
        value = kith_ops.recall_at_k(strided, apart, t2=0.1)
        self.assertEqual(value.item(), expected.item())
        self.assertTrue(torch.equal(torch.autograd.grad(value, strided)[0],
                                    torch.autograd.grad(expected, x)[0]))


class Autograd(Case):
    def test_without_gradient(self):
        x, labels = batch()
        expected = kith_ops.recall_at_k(x, labels)
        self.assertTrue(expected.requires_grad)
        with torch.no_grad():
            value = kith_ops.recall_at_k(x, labels)
        self.assertFalse(value.requires_grad)
        self.assertEqual(value.item(), expected.item())
        with torch.inference_mode():
            value = kith_ops.recall_at_k(x, labels)
        self.assertEqual(value.item(), expected.item())
        value = kith_ops.recall_at_k(x.detach(), labels)
        self.assertFalse(value.requires_grad)
        self.assertEqual(value.item(), expected.item())

    def test_behind_and_before_other_functions(self):
        x, labels = batch()
        scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
        unit = torch.nn.functional.normalize

        def total(loss):
            return (scale * loss(unit(x * scale), labels, t2=0.1)).exp()

        self.check(total(kith_ops.recall_at_k), total(recall_at_k), [x, scale])

    def test_backward_twice(self):
        x, labels = batch()
        value = kith_ops.recall_at_k(x, labels)
        value.backward(retain_graph=True)
        once = x.grad.clone()
        value.backward()
        self.assertTrue(torch.equal(x.grad, 2 * once))

    def test_second_derivative_is_refused(self):
        x, labels = batch()
        value = kith_ops.recall_at_k(x, labels)
        gradient, = torch.autograd.grad(value, x, create_graph=True)
        self.assertTrue(gradient.requires_grad)
        penalty = gradient.square().sum() + x.square().sum()
        with self.assertRaisesRegex(RuntimeError, "first derivative only"):
            penalty.backward()

    def test_checkpoint(self):
        from torch.utils.checkpoint import checkpoint
        for name in ("contrastive", "recall_at_k"):
            for reentrant in (False, True):
                x, labels = batch()
                kith_ops.loss(name, x, labels, normalize=True).backward()
                expected, x.grad = x.grad, None
                checkpoint(lambda x: kith_ops.loss(name, x, labels,
                                                   normalize=True),
                           x, use_reentrant=reentrant).backward()
                self.assertTrue(torch.equal(x.grad, expected))

    def test_autocast(self):
        x, labels = batch(torch.float32)
        expected = {name: kith_ops.loss(name, x, labels).item()
                    for name in ("contrastive", "recall_at_k")}
        with torch.autocast("cpu", dtype=torch.bfloat16):
            for name, value in expected.items():
                got = kith_ops.loss(name, x, labels)
                self.assertEqual(got.dtype, torch.float32)
                self.assertEqual(got.item(), value)


class OtherRankingLosses(Case):
    def test_value_and_gradient(self):
        for ours, formula, options in (
                (kith_ops.smooth_ap, smooth_ap, {"temperature": 0.1}),
                (kith_ops.fast_ap, fast_ap, {"num_bins": 7}),
                (kith_ops.ap_quantised, ap_quantised, {"num_bins": 12})):
            y, y_labels, place = gallery()
            where = {"database": y, "database_labels": y_labels}
            for extra in ({}, where, {**where, "self_index": place}):
                with self.subTest(ours.__name__, extra=list(extra)):
                    x, labels = batch()
                    inputs = [x, y] if extra else [x]
                    self.check(ours(x, labels, **options, **extra),
                               formula(x, labels, **options, **extra), inputs)
                    self.check(ours(x, labels), formula(x, labels), [x])

    def test_simix(self):
        x, labels = batch()
        pairs, alphas = kith_ops.simix_pairs(labels, seed=3)
        everything = mixed(x, labels, pairs, alphas)
        self.check(kith_ops.smooth_ap(x, labels, temperature=0.1, pairs=pairs,
                                      alphas=alphas),
                   smooth_ap(*everything, temperature=0.1), [x])


class AnyLoss(Case):
    def test_every_loss(self):
        self.assertIn("recall_at_k", kith_ops.names())
        for name in kith_ops.names():
            with self.subTest(name):
                x, labels = batch()
                value = kith_ops.loss(name, 2 * x, labels, normalize=True)
                self.assertTrue(torch.isfinite(value).item())
                value.backward()
                self.assertEqual(x.grad.shape, x.shape)
                self.assertTrue(torch.isfinite(x.grad).all().item())
                # Of a function of directions alone.
                self.assertLess((x * x.grad).sum(1).abs().max().item(), 1e-9)

    def test_contrastive(self):
        x, labels = batch()
        same = labels[:, None] == labels
        apart = ~torch.eye(len(x), dtype=torch.bool)
        # A loss outside the row engine, whose gradient is PyTorch's own.
        distance = torch.cdist(x, x)
        value = kith_ops.loss("contrastive", x, labels, neg_margin=1.0)
        self.assertTrue(value.item() > 0)
        tuples = (same & apart).nonzero()
        mined = kith_ops.loss("contrastive", x, labels, tuples=tuples)
        self.assertAlmostEqual(mined.item(),
                               distance[same & apart].mean().item())

    def test_torch_ops_have_kith_options(self):
        x, labels = batch()
        value = torch.ops.kith.recall_at_k(x, labels, k=[1, 2], t1=2.0)
        self.assertEqual(
            value.item(),
            kith_ops.recall_at_k(x, labels, k=(1, 2), t1=2).item())
        self.assertEqual(torch.ops.kith.recall_at_k(x, labels).item(),
                         kith_ops.recall_at_k(x, labels).item())


class Errors(unittest.TestCase):
    def refuse(self, message, *arguments, error=ValueError, **options):
        with self.assertRaisesRegex(error, message):
            kith_ops.recall_at_k(*arguments, **options)

    def test_tensors(self):
        x, labels = batch()
        self.refuse(r"labels must be int64 \[14\]", x, labels[:5])
        self.refuse("labels must be int64", x, labels.int())
        self.refuse("labels must be int64", x, labels[None])
        self.refuse("floating point", x.detach().long(), labels)
        self.refuse("floating point", x[0], labels)
        self.refuse("floating point", x[0], labels, normalize=True)
        self.refuse("floating point", x.detach().to(torch.complex64), labels)
        self.refuse("must be tensors", None, labels)
        self.refuse("must be tensors", x, None)

    def test_database(self):
        x, labels = batch()
        y, y_labels, place = gallery()
        self.refuse("database must be", x, labels, database=y[:, :3],
                    database_labels=y_labels)
        self.refuse("database must be", x, labels, database=y.float(),
                    database_labels=y_labels)
        self.refuse("database's labels", x, labels, database=y)
        self.refuse("database's labels", x, labels, database=y,
                    database_labels=y_labels[1:])
        self.refuse("need a database", x, labels, database_labels=y_labels)
        self.refuse("need a database", x, labels, self_index=place)
        for wrong in (place + len(y), place - 1, place[1:], place.double()):
            self.refuse("places of the batch", x, labels, database=y,
                        database_labels=y_labels, self_index=wrong)
        self.refuse("another label", x, labels, database=y,
                    database_labels=y_labels + 1, self_index=place)

    def test_pairs(self):
        x, labels = batch()
        pairs, alphas = kith_ops.simix_pairs(labels, seed=1)
        self.refuse("belong together", x, labels, pairs=pairs)
        self.refuse("belong together", x, labels, alphas=alphas)
        self.refuse("alphas must be", x, labels, pairs=pairs, alphas=alphas[1:])
        self.refuse("pairs must be", x, labels, pairs=pairs[:, :1],
                    alphas=alphas)
        self.refuse("pairs hold positions", x, labels, pairs=pairs + 10,
                    alphas=alphas)
        self.refuse("two classes", x, labels, alphas=alphas[:1],
                    pairs=torch.tensor([[0, 1]]))
        with self.assertRaisesRegex(ValueError, "simix_limit"):
            kith_ops.simix_pairs(labels, seed=0, limit=3)
        with self.assertRaisesRegex(ValueError, "labels must be int64"):
            kith_ops.simix_pairs(labels.float(), seed=0)

    def test_options(self):
        x, labels = batch()
        self.refuse("recall_at_k.t2' must be greater than 0", x, labels, t2=0.0)
        self.refuse("recall_at_k.t2'", x, labels, t2=float("nan"))
        self.refuse("recall_at_k.k' must be at least 1", x, labels, k=(0,))
        self.refuse("has 65 entries", x, labels, k=range(1, 66))
        self.refuse("memory_mb", x, labels, memory_mb=0)
        with self.assertRaisesRegex(ValueError, "must be one of float32"):
            torch.ops.kith.recall_at_k(x, labels, products="a: [b")
        with self.assertRaisesRegex(ValueError, "one of .*recall_at_k"):
            kith_ops.loss("recal_at_k", x, labels)
        with self.assertRaises(RuntimeError):
            kith_ops.loss("recall_at_k", x, labels, t3=1.0)
        with self.assertRaisesRegex(ValueError, "takes no tuples"):
            kith_ops.loss("recall_at_k", x, labels,
                          tuples=torch.tensor([[0, 1]]))


class Meta(unittest.TestCase):
    def test_meta_tensors(self):
        for dtype in (torch.float32, torch.float64):
            x = torch.empty(5, 3, device="meta", dtype=dtype)
            labels = torch.empty(5, device="meta", dtype=torch.int64)
            value = kith_ops.recall_at_k(x, labels, normalize=True)
            self.assertEqual((value.shape, value.dtype, value.device.type),
                             (torch.Size([]), dtype, "meta"))
            x.requires_grad_(True)
            gradient, = torch.autograd.grad(
                kith_ops.recall_at_k(x, labels, database=x.detach(),
                                     database_labels=labels), x)
            self.assertEqual((gradient.shape, gradient.dtype),
                             (x.shape, dtype))
        with self.assertRaisesRegex(ValueError, "floating point"):
            kith_ops.recall_at_k(x[0], labels)


@unittest.skipUnless("cuda" in DEVICES, "no CUDA device, or not built for it")
class Cuda(Case):
    def test_agrees_with_the_cpu(self):
        for dtype, atol in ((torch.float64, 1e-10), (torch.float32, 2e-5)):
            x, labels = batch(dtype)
            y, y_labels, place = gallery(dtype)
            pairs, alphas = kith_ops.simix_pairs(labels, seed=3)
            for options in (
                    {}, {"normalize": True},
                    {"pairs": pairs, "alphas": alphas},
                    {"database": y, "database_labels": y_labels,
                     "self_index": place}):
                there = {name: value.cuda() if torch.is_tensor(value) else value
                         for name, value in options.items()}
                got = kith_ops.recall_at_k(x.cuda(), labels.cuda(), t2=0.1,
                                           **there)
                self.assertEqual(got.device.type, "cuda")
                inputs = [x, y] if "database" in options else [x]
                self.check(got, kith_ops.recall_at_k(x, labels, t2=0.1,
                                                     **options), inputs, atol)

    def test_devices_must_agree(self):
        x, labels = batch()
        y, y_labels, _ = gallery()
        with self.assertRaisesRegex(ValueError, "labels: on cpu"):
            kith_ops.recall_at_k(x.cuda(), labels)
        with self.assertRaisesRegex(ValueError, "the database: on cpu"):
            kith_ops.recall_at_k(x.cuda(), labels.cuda(), database=y,
                                 database_labels=y_labels)


@unittest.skipUnless(COMPILES, "this torch has no torch.compile")
class Compile(Case):
    def test_compiled_equals_eager(self):
        def step(x, labels, y, y_labels):
            unit = torch.nn.functional.normalize(x)
            alone = kith_ops.recall_at_k(unit, labels, t2=0.1)
            return alone + 2 * kith_ops.recall_at_k(
                x, labels, k=(1, 3), t2=0.1, normalize=True, database=y,
                database_labels=y_labels)

        for device in DEVICES:
            for dynamic in (False, True):
                torch._dynamo.reset()
                # Whether it can be traced is kith's part; code made from the
                # trace needs compilers that a machine may not have.
                compiled = torch.compile(step, fullgraph=True, dynamic=dynamic,
                                         backend="aot_eager")
                for count in (14, 11):
                    x, labels = batch()
                    y, y_labels, _ = gallery()
                    x = x.detach()[:count].to(device).requires_grad_(True)
                    y = y.detach().to(device).requires_grad_(True)
                    rest = labels[:count].to(device), y, y_labels.to(device)
                    self.check(compiled(x, *rest), step(x, *rest), [x, y])
                    with torch.no_grad():
                        torch.testing.assert_close(compiled(x, *rest),
                                                   step(x, *rest))

    def test_strided_inputs(self):
        x, labels = batch()
        x = x.detach().t().contiguous().t().requires_grad_(True)
        compiled = torch.compile(kith_ops.recall_at_k, fullgraph=True)
        self.check(compiled(x, labels, t2=0.1),
                   kith_ops.recall_at_k(x, labels, t2=0.1), [x])

    def test_opcheck(self):
        try:  # it needs packages that torch itself does not
            from torch.library import opcheck
            from torch.testing._internal import optests  # noqa: F401
        except ImportError as reason:
            self.skipTest(str(reason))
        for device in DEVICES:
            x, labels = batch()
            y, y_labels, place = (t.detach().to(device) for t in gallery())
            x, labels = x.detach().to(device), labels.to(device)
            where = {"database": y, "database_labels": y_labels,
                     "self_index": place}
            for options in ({}, where):
                opcheck(
                    torch.ops.kith.recall_at_k.default,
                    (x.clone().requires_grad_(True), labels), options)
                opcheck(
                    torch.ops.kith._loss.default,
                    ("recall_at_k", "{}", x, labels), options)


class Loading(unittest.TestCase):
    def load(self, library):
        return subprocess.run(
            [sys.executable, "-c", "import kith_ops"], text=True,
            capture_output=True,
            env={**os.environ, "KITH_OPS_LIBRARY": str(library)})

    def test_missing_library(self):
        run = self.load("/nowhere/libkith_ops.so")
        self.assertEqual(run.returncode, 1)
        self.assertIn("KITH_OPS_LIBRARY is /nowhere", run.stderr)

    def test_library_of_another_torch(self):
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(b"\x7fELF kith_ops: built with torch 0.4.1;")
            file.flush()
            run = self.load(file.name)
        self.assertEqual(run.returncode, 1)
        self.assertIn("built with torch 0.4.1, but this Python has torch",
                      run.stderr)


if __name__ == "__main__":
    unittest.main()
