"""kith.losses without parameters against the formula in plain PyTorch.

usage: python3 package_losses_test.py [OPTION of unittest]...

With PYTHONPATH=python it tests what is built in the checkout.
"""

import unittest

import support as ours
from support import NAMES, Case, compute  # first: finds a Python with torch

import torch

import kith
from formulas import (ap_quantised, batch, fast_ap, gallery, mixed,
                      recall_at_k, smooth_ap)


class RecallAtK(Case):
    def test_value_and_gradient(self):
        for options in ({}, {"k": (1,)}, {"k": (2, 5), "t1": 0.5, "t2": 0.1},
                        {"query_in_database": True, "t2": 0.05}):
            x, labels = batch()
            self.check(
                ours.recall_at_k(x, labels, normalize=False, **options),
                recall_at_k(x, labels, **options), [x])

    def test_float32(self):
        wide, labels = batch()
        expected = recall_at_k(wide, labels, t2=0.1)
        gradient, = torch.autograd.grad(expected, wide)
        x = wide.detach().float().requires_grad_(True)
        value = ours.recall_at_k(x, labels, t2=0.1, normalize=False)
        value.backward()
        self.assertEqual(x.grad.dtype, torch.float32)
        self.assertAlmostEqual(value.item(), expected.item(), places=5)
        torch.testing.assert_close(x.grad.double(), gradient, atol=1e-5, rtol=0)

    def test_half_precision_is_computed_in_float32(self):
        for dtype in (torch.float16, torch.bfloat16):
            x, labels = batch(dtype)
            value = ours.recall_at_k(x, labels, t2=0.1)
            self.assertEqual(value.dtype, torch.float32)
            value.backward()
            self.assertEqual(x.grad.dtype, dtype)
            wide = x.detach().float()
            self.assertEqual(
                value.item(),
                ours.recall_at_k(wide, labels, t2=0.1).item())

    def test_gradcheck(self):
        x, labels = batch()
        self.assertTrue(torch.autograd.gradcheck(
            lambda x: ours.recall_at_k(x, labels, t2=0.2, normalize=False),
            [x]))
        scaled = (x.detach() * torch.linspace(0.5, 2, len(x))[:, None]).double()
        self.assertTrue(torch.autograd.gradcheck(
            lambda x: ours.recall_at_k(x, labels, t2=0.2),
            [scaled.requires_grad_(True)]))

    def test_gradcheck_of_queries_and_database(self):
        x, labels = batch()
        y, y_labels, place = gallery()
        self.assertTrue(torch.autograd.gradcheck(
            lambda x, y: ours.recall_at_k(
                x, labels, t2=0.2, ref_emb=y, ref_labels=y_labels,
                self_index=place), [x, y]))

    def test_database(self):
        x, labels = batch()
        y, y_labels, place = gallery()
        for extra in ({}, {"self_index": place},
                      {"self_index": place, "query_in_database": True}):
            where = dict(ref_emb=y, ref_labels=y_labels, t2=0.1, **extra)
            self.check(ours.recall_at_k(x, labels, normalize=False, **where),
                       recall_at_k(x, labels, **where), [x, y])
        # Only one of the two requires a gradient.
        where = dict(ref_emb=y.detach(), ref_labels=y_labels, t2=0.1)
        self.check(ours.recall_at_k(x, labels, normalize=False, **where),
                   recall_at_k(x, labels, **where), [x])
        where["ref_emb"] = y
        self.check(ours.recall_at_k(x.detach(), labels, normalize=False,
                                        **where),
                   recall_at_k(x.detach(), labels, **where), [y])

    def test_normalize(self):
        x, labels = batch()
        y, y_labels, _ = gallery()
        with torch.no_grad():
            x *= torch.linspace(0.1, 3, len(x))[:, None]
            y *= torch.linspace(4, 0.2, len(y))[:, None]
        unit = torch.nn.functional.normalize
        for options in ({}, {"normalize": None}, {"normalize": True}):
            self.check(ours.recall_at_k(x, labels, t2=0.1, **options),
                       recall_at_k(unit(x), labels, t2=0.1), [x])
            self.check(
                ours.recall_at_k(x, labels, t2=0.1, ref_emb=y,
                                     ref_labels=y_labels, **options),
                recall_at_k(unit(x), labels, t2=0.1, ref_emb=unit(y),
                            ref_labels=y_labels), [x, y])
        self.check(ours.recall_at_k(x, labels, normalize=False, t2=0.1),
                   recall_at_k(x, labels, t2=0.1), [x])

    def test_simix(self):
        x, labels = batch()
        pairs, alphas = kith.simix_pairs(labels, seed=3)
        self.assertEqual(len(pairs), 15 + 3 + 1 + 1)
        self.assertTrue((labels[pairs[:, 0]] == labels[pairs[:, 1]]).all())
        again = kith.simix_pairs(labels, seed=3)
        self.assertTrue(torch.equal(alphas, again[1]))
        everything = mixed(x, labels, pairs, alphas)
        self.check(
            ours.recall_at_k(x, labels, t2=0.1, k=(1, 4), pairs=pairs,
                             alphas=alphas, normalize=False),
            recall_at_k(*everything, t2=0.1, k=(1, 4)), [x])

    def test_small_budget(self):
        generator = torch.Generator().manual_seed(1)
        x = torch.randn(600, 8, generator=generator, dtype=torch.float64)
        labels = torch.arange(600) % 150
        large = ours.recall_at_k(x, labels)
        small = ours.recall_at_k(x, labels, memory_mb=1)
        self.assertAlmostEqual(large.item(), small.item(), places=12)

    def test_no_positives(self):
        x, _ = batch()
        value = ours.recall_at_k(x, torch.arange(len(x)))
        self.assertEqual(value.item(), 0)
        value.backward()
        self.assertEqual(x.grad.abs().max().item(), 0)

    def test_empty_batch(self):
        x = torch.empty(0, 4, requires_grad=True)
        value = ours.recall_at_k(x, torch.empty(0, dtype=torch.int64))
        value.backward()
        self.assertEqual(x.grad.shape, x.shape)

    def test_strided_inputs(self):
        x, labels = batch()
        expected = ours.recall_at_k(x, labels, t2=0.1)
        strided = x.detach().t().contiguous().t().requires_grad_(True)
        apart = torch.stack([labels, labels], 1)[:, 0]
        value = ours.recall_at_k(strided, apart, t2=0.1)
        self.assertEqual(value.item(), expected.item())
        self.assertTrue(torch.equal(torch.autograd.grad(value, strided)[0],
                                    torch.autograd.grad(expected, x)[0]))


class Autograd(Case):
    def test_without_gradient(self):
        x, labels = batch()
        expected = ours.recall_at_k(x, labels)
        self.assertTrue(expected.requires_grad)
        with torch.no_grad():
            value = ours.recall_at_k(x, labels)
        self.assertFalse(value.requires_grad)
        self.assertEqual(value.item(), expected.item())
        with torch.inference_mode():
            value = ours.recall_at_k(x, labels)
        self.assertEqual(value.item(), expected.item())
        value = ours.recall_at_k(x.detach(), labels)
        self.assertFalse(value.requires_grad)
        self.assertEqual(value.item(), expected.item())

    def test_behind_and_before_other_functions(self):
        x, labels = batch()
        scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
        unit = torch.nn.functional.normalize

        def total(loss):
            return (scale * loss(unit(x * scale), labels, t2=0.1)).exp()

        self.check(total(ours.recall_at_k), total(recall_at_k), [x, scale])

    def test_backward_twice(self):
        x, labels = batch()
        value = ours.recall_at_k(x, labels)
        value.backward(retain_graph=True)
        once = x.grad.clone()
        value.backward()
        self.assertTrue(torch.equal(x.grad, 2 * once))

    def test_second_derivative_is_refused(self):
        x, labels = batch()
        value = ours.recall_at_k(x, labels)
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
                compute(name, x, labels, normalize=True).backward()
                expected, x.grad = x.grad, None
                checkpoint(lambda x: compute(name, x, labels,
                                                   normalize=True),
                           x, use_reentrant=reentrant).backward()
                self.assertTrue(torch.equal(x.grad, expected))

    def test_autocast(self):
        x, labels = batch(torch.float32)
        expected = {name: compute(name, x, labels).item()
                    for name in ("contrastive", "recall_at_k")}
        with torch.autocast("cpu", dtype=torch.bfloat16):
            for name, value in expected.items():
                got = compute(name, x, labels)
                self.assertEqual(got.dtype, torch.float32)
                self.assertEqual(got.item(), value)


class OtherRankingLosses(Case):
    def test_value_and_gradient(self):
        for loss, formula, options in (
                (ours.smooth_ap, smooth_ap, {"temperature": 0.1}),
                (ours.fast_ap, fast_ap, {"num_bins": 7}),
                (ours.ap_quantised, ap_quantised, {"num_bins": 12})):
            y, y_labels, place = gallery()
            where = {"ref_emb": y, "ref_labels": y_labels}
            for extra in ({}, where, {**where, "self_index": place}):
                with self.subTest(formula.__name__, extra=list(extra)):
                    x, labels = batch()
                    inputs = [x, y] if extra else [x]
                    self.check(
                        loss(x, labels, normalize=False, **options, **extra),
                        formula(x, labels, **options, **extra), inputs)
                    self.check(loss(x, labels, normalize=False),
                               formula(x, labels), [x])

    def test_simix(self):
        x, labels = batch()
        pairs, alphas = kith.simix_pairs(labels, seed=3)
        everything = mixed(x, labels, pairs, alphas)
        self.check(ours.smooth_ap(x, labels, temperature=0.1, pairs=pairs,
                                      alphas=alphas, normalize=False),
                   smooth_ap(*everything, temperature=0.1), [x])


def triplets(labels):
    """The first positive and the first negative of each that has both."""
    same = labels[:, None] == labels
    positive = (same & ~torch.eye(len(labels), dtype=torch.bool)).int()
    anchors = positive.any(1).nonzero()[:, 0]
    return torch.stack([anchors, positive.argmax(1)[anchors],
                        (~same).int().argmax(1)[anchors]], 1)


class AnyLoss(Case):
    def test_every_loss(self):
        self.assertIn("recall_at_k", NAMES)
        for name in NAMES:
            with self.subTest(name):
                x, labels = batch()
                try:
                    value = compute(name, 2 * x, labels, normalize=True)
                except ValueError as error:
                    self.assertIn("tuples", str(error))
                    value = compute(name, 2 * x, labels, normalize=True,
                                          indices_tuple=triplets(labels))
                self.assertTrue(torch.isfinite(value).item())
                value.backward()
                self.assertEqual(x.grad.shape, x.shape)
                self.assertTrue(torch.isfinite(x.grad).all().item())
                # Of a function of directions alone.
                self.assertLess((x * x.grad).sum(1).abs().max().item(), 1e-9)

    def test_normalizes_where_the_loss_is_defined_on_unit_vectors(self):
        raw = {"angular", "angular_all", "lifted", "npair"}
        self.assertLess(raw, set(NAMES))
        for name in NAMES:
            with self.subTest(name):
                x, labels = batch()
                with torch.no_grad():
                    x *= torch.linspace(0.2, 4, len(x))[:, None]
                options = {"normalize": False, "seed": 1}
                try:
                    compute(name, x, labels)
                except ValueError as error:
                    self.assertIn("needs tuples", str(error))
                    options["indices_tuple"] = triplets(labels)
                # The gradient through plain PyTorch's normalisation.
                given = x if name in raw else torch.nn.functional.normalize(x)
                expected = compute(name, given, labels, **options)
                del options["normalize"]
                self.check(compute(name, x, labels, **options), expected,
                           [x])

    def test_contrastive(self):
        x, labels = batch()
        same = labels[:, None] == labels
        apart = ~torch.eye(len(x), dtype=torch.bool)
        # A loss outside the row engine, whose gradient is PyTorch's own.
        distance = torch.cdist(x, x)
        value = compute("contrastive", x, labels, neg_margin=1.0)
        self.assertTrue(value.item() > 0)
        tuples = (same & apart).nonzero()
        mined = compute("contrastive", x, labels, indices_tuple=tuples)
        self.assertAlmostEqual(mined.item(),
                               distance[same & apart].mean().item())


if __name__ == "__main__":
    unittest.main()
