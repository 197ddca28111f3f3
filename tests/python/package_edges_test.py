"""Where the package ends: errors, meta tensors, devices, compilers, loading.

usage: python3 package_edges_test.py [OPTION of unittest]...
"""

import os
import subprocess
import sys
import tempfile
import unittest

import support as ours
from support import COMPILES, DEVICES, Case, compute  # first: finds a Python

import torch

import kith
from formulas import batch, gallery


class Errors(unittest.TestCase):
    def refuse(self, message, *arguments, error=ValueError, **options):
        with self.assertRaisesRegex(error, message):
            ours.recall_at_k(*arguments, **options)

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

    def test_numbers(self):
        x, labels = batch()
        for device in DEVICES:
            bad = x.detach().clone()
            bad[3, 1] = float("nan")
            self.refuse(r"row 3 of the embeddings .* NaN", bad.to(device),
                        labels.to(device))
            huge = x.detach().float() * 1e20
            self.refuse("too large for float32", huge.to(device),
                        labels.to(device), normalize=False,
                        error=RuntimeError)

    def test_database(self):
        x, labels = batch()
        y, y_labels, place = gallery()
        self.refuse("database must be", x, labels, ref_emb=y[:, :3],
                    ref_labels=y_labels)
        self.refuse("database must be", x, labels, ref_emb=y.float(),
                    ref_labels=y_labels)
        self.refuse("database's labels", x, labels, ref_emb=y)
        self.refuse("database's labels", x, labels, ref_emb=y,
                    ref_labels=y_labels[1:])
        self.refuse("need ref_emb", x, labels, ref_labels=y_labels)
        self.refuse("need ref_emb", x, labels, self_index=place)
        for wrong in (place + len(y), place - 1, place[1:], place.double()):
            self.refuse("places of the batch", x, labels, ref_emb=y,
                        ref_labels=y_labels, self_index=wrong)
        self.refuse("another label", x, labels, ref_emb=y,
                    ref_labels=y_labels + 1, self_index=place)

    def test_pairs(self):
        x, labels = batch()
        pairs, alphas = kith.simix_pairs(labels, seed=1)
        self.refuse("belong together", x, labels, pairs=pairs)
        self.refuse("belong together", x, labels, alphas=alphas)
        self.refuse("alphas must be", x, labels, pairs=pairs, alphas=alphas[1:])
        self.refuse("pairs must be", x, labels, pairs=pairs[:, :1],
                    alphas=alphas)
        self.refuse("pairs hold positions", x, labels, pairs=pairs + 10,
                    alphas=alphas)
        self.refuse("two classes", x, labels, alphas=alphas[:1],
                    pairs=torch.tensor([[0, 1]]))
        with self.assertRaisesRegex(
                ValueError, r"simix_limit \(3\).* a larger simix_limit$") as refusal:
            kith.simix_pairs(labels, seed=0, simix_limit=3)
        self.assertNotIn("sampler", str(refusal.exception))
        with self.assertRaisesRegex(ValueError, "larger simix_limit$"):
            compute("recall_at_k", x, labels, simix=True, simix_limit=3)
        with self.assertRaisesRegex(ValueError, "labels must be int64"):
            kith.simix_pairs(labels.float(), seed=0)

    def test_options(self):
        x, labels = batch()
        self.refuse("recall_at_k.t2' must be greater than 0", x, labels, t2=0.0)
        self.refuse("recall_at_k.t2'", x, labels, t2=float("nan"))
        self.refuse("recall_at_k.t2'", x, labels, t2="warm")
        self.refuse("recall_at_k.k' must be at least 1", x, labels, k=(0,))
        self.refuse("recall_at_k.k'", x, labels, k=(1.5,))
        self.refuse("has 65 entries", x, labels, k=range(1, 66))
        self.refuse("an option is a number", x, labels, t2=object(),
                    error=TypeError)
        self.assertEqual(
            ours.recall_at_k(x, labels, k=torch.tensor([1, 2]),
                             t2=torch.tensor(0.5)).item(),
            ours.recall_at_k(x, labels, k=[1, 2], t2=0.5).item())
        self.refuse("memory_mb", x, labels, memory_mb=0)
        self.refuse("must be one of float32", x, labels, products="a: [b")
        self.refuse(r"RecallAtK\(\): .*'t3'", x, labels, t3=1.0,
                    error=TypeError)
        with self.assertRaisesRegex(ValueError, "unknown loss 'recal_at_k'"):
            torch.ops.kith.loss("recal_at_k", "{}", "", [], x, labels)
        with self.assertRaisesRegex(ValueError, "needs tuples.*finds$"):
            compute("triplet", x, labels)
        with self.assertRaisesRegex(ValueError, "'margin_all.nu' is.*learn'"):
            compute("margin_all", x, labels, nu=1.0)
        with self.assertRaisesRegex(ValueError, "takes no tuples"):
            compute("recall_at_k", x, labels,
                    indices_tuple=torch.tensor([[0, 1]]))
        with self.assertRaisesRegex(ValueError, "takes no database"):
            compute("npairs_all", x, labels, ref_emb=x, ref_labels=labels)

    def test_names(self):
        for name, message in (
                ("TripletMarginLoss", "kith calls it TripletAll or Triplet$"),
                ("RecalAtK", "did you mean RecallAtK$"),
                ("Nothing", "has no 'Nothing'$")):
            with self.assertRaisesRegex(AttributeError, message):
                getattr(kith.losses, name)
        with self.assertRaisesRegex(AttributeError,
                                    "kith calls it TripletMarginMiner$"):
            kith.miners.AllTripletsMiner
        with self.assertRaisesRegex(AttributeError, "ClassBalancedSampler$"):
            kith.samplers.MPerClassSampler


class Meta(unittest.TestCase):
    def test_meta_tensors(self):
        for dtype in (torch.float32, torch.float64):
            x = torch.empty(5, 3, device="meta", dtype=dtype)
            labels = torch.empty(5, device="meta", dtype=torch.int64)
            value = ours.recall_at_k(x, labels)
            self.assertEqual((value.shape, value.dtype, value.device.type),
                             (torch.Size([]), dtype, "meta"))
            x.requires_grad_(True)
            gradient, = torch.autograd.grad(
                ours.recall_at_k(x, labels, ref_emb=x.detach(),
                                 ref_labels=labels), x)
            self.assertEqual((gradient.shape, gradient.dtype),
                             (x.shape, dtype))
        with self.assertRaisesRegex(ValueError, "floating point"):
            ours.recall_at_k(x[0], labels)


@unittest.skipUnless("cuda" in DEVICES, "no CUDA device, or not built for it")
class Cuda(Case):
    def test_agrees_with_the_cpu(self):
        for dtype, atol in ((torch.float64, 1e-10), (torch.float32, 2e-5)):
            x, labels = batch(dtype)
            y, y_labels, place = gallery(dtype)
            pairs, alphas = kith.simix_pairs(labels, seed=3)
            for options in (
                    {}, {"normalize": False},
                    {"pairs": pairs, "alphas": alphas},
                    {"ref_emb": y, "ref_labels": y_labels,
                     "self_index": place}):
                there = {name: value.cuda() if torch.is_tensor(value) else value
                         for name, value in options.items()}
                got = ours.recall_at_k(x.cuda(), labels.cuda(), t2=0.1,
                                           **there)
                self.assertEqual(got.device.type, "cuda")
                inputs = [x, y] if "ref_emb" in options else [x]
                self.check(got, ours.recall_at_k(x, labels, t2=0.1,
                                                     **options), inputs, atol)

    def test_devices_must_agree(self):
        x, labels = batch()
        y, y_labels, _ = gallery()
        with self.assertRaisesRegex(ValueError, "labels: on cpu"):
            ours.recall_at_k(x.cuda(), labels)
        with self.assertRaisesRegex(ValueError, "the database: on cpu"):
            ours.recall_at_k(x.cuda(), labels.cuda(), ref_emb=y,
                                 ref_labels=y_labels)


@unittest.skipUnless(COMPILES, "this torch has no torch.compile")
class Compile(Case):
    def test_compiled_equals_eager(self):
        among = kith.losses.RecallAtK(t2=0.1)
        in_database = kith.losses.RecallAtK(k=(1, 3), t2=0.1, normalize=True)

        def step(x, labels, y, y_labels):
            alone = among(torch.nn.functional.normalize(x), labels)
            return alone + 2 * in_database(x, labels, ref_emb=y,
                                           ref_labels=y_labels)

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

    def test_parameters(self):
        for device in DEVICES:
            for name in ("arcface", "hist", "soft_triple"):
                torch._dynamo.reset()
                loss = kith.losses.by_name[name](10, 6).double().to(device)
                compiled = torch.compile(loss, fullgraph=True,
                                         backend="aot_eager")
                x, labels = batch()
                x = x.detach().to(device).requires_grad_(True)
                labels = labels.clamp(min=0).to(device)
                self.check(compiled(x, labels), loss(x, labels),
                           [x, *loss.parameters()])

    def test_strided_inputs(self):
        x, labels = batch()
        x = x.detach().t().contiguous().t().requires_grad_(True)
        loss = kith.losses.RecallAtK(t2=0.1)
        compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
        self.check(compiled(x, labels), loss(x, labels), [x])

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
                opcheck(torch.ops.kith.loss.default,
                        ("recall_at_k", "{}", "", [],
                         x.clone().requires_grad_(True), labels), options)
                opcheck(torch.ops.kith._loss.default,
                        ("recall_at_k", "{}", "", [], x, labels), options)
            # Results lie in memory as compilers think they do.
            opcheck(torch.ops.kith._loss.default,
                    ("recall_at_k", "{}", "", [], x.t().contiguous().t(),
                     labels), test_utils="test_faketensor")
            proxies = torch.randn(10, 6, dtype=torch.float64, device=device)
            opcheck(torch.ops.kith._loss.default,
                    ("arcface", "{}", "proxies", [proxies], x,
                     labels.clamp(min=0)))


class Loading(unittest.TestCase):
    def load(self, library):
        return subprocess.run(
            [sys.executable, "-c", "import kith"], text=True,
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
