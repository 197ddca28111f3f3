"""kith.losses with parameters of their own against plain PyTorch (bench/plain),
and as modules: saved, copied, moved, given to an optimiser.

usage: python3 package_parameters_test.py [OPTION of unittest]...
"""

import copy
import io
import pathlib
import pickle
import sys
import unittest

from support import DEVICES, Case  # first: finds a Python with torch

import torch

import kith
from formulas import batch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from plain import LOSSES
from plain.pairs import margin_all

CLASSES, DIM = 10, 6
CLASS_LOSSES = ("arcface", "cosface", "hist", "norm_softmax", "proxy_anchor",
                "proxy_nca", "proxy_nca_pp", "soft_triple")


def class_batch():
    """Vectors of several lengths, and classes 0 to 9 of 1 to 6 examples."""
    x, labels = batch(grad=False)
    x = x * torch.linspace(0.5, 2, len(x), dtype=x.dtype)[:, None]
    return x.requires_grad_(True), labels.clamp(min=0)


def triplets(labels):
    same = labels[:, None] == labels
    positive = same & ~torch.eye(len(labels), dtype=torch.bool)
    where = positive[:, :, None] & ~same[:, None, :]
    return where.nonzero()[::7]


def make(name, **options):
    """A loss for class_batch() in float64."""
    return kith.losses.by_name[name](CLASSES, DIM, **options).double()


class AgainstPlainForms(Case):
    def test_all_are_here(self):
        found = {name for name, loss in kith.losses.by_name.items()
                 if loss.part.fields["parameters"]}
        self.assertEqual(found, {*CLASS_LOSSES, "margin"})

    def test_value_and_gradients(self):
        for name in CLASS_LOSSES:
            with self.subTest(name):
                x, labels = class_batch()
                loss = make(name)
                form = LOSSES[name]
                params = dict(loss.named_parameters())
                self.assertEqual(params.keys(), form.params(2, 2).keys())
                given = x if name == "hist" else torch.nn.functional.normalize(x)
                expected = form.run(given, labels, None, params)
                self.check(loss(x, labels), expected, [x, *params.values()],
                           1e-9)

    def test_margin(self):
        for options in ({}, {"beta_per_class": True, "num_classes": CLASSES}):
            x, labels = class_batch()
            unit = torch.nn.functional.normalize(x)
            chosen = triplets(labels)
            loss = kith.losses.Margin(beta=0.9, **options).double()
            with torch.no_grad():
                loss.beta += torch.linspace(0, 0.1, loss.beta.numel())
            self.check(loss(x, labels, chosen),
                       LOSSES["margin"].run(unit, labels, chosen,
                                            {"beta": loss.beta}),
                       [x, loss.beta])

    def test_margin_all_that_learns(self):
        x, labels = class_batch()
        loss = kith.losses.MarginAll(learn=True, beta=1.1).double()
        expected = margin_all(torch.nn.functional.normalize(x), labels, None,
                              None, beta=loss.beta)
        self.check(loss(x, labels), expected, [x, loss.beta], 1e-8)

    def test_options(self):
        x, labels = class_batch()
        loss = make("soft_triple", lambda_=5, centers=3)
        params = dict(loss.named_parameters())
        unit = torch.nn.functional.normalize(x)
        self.check(loss(x, labels),
                   LOSSES["soft_triple"].run(unit, labels, None, params,
                                             scale=5),
                   [x, *params.values()], 1e-9)

    def test_devices_agree(self):
        for device in DEVICES:
            for name in CLASS_LOSSES:
                x, labels = class_batch()
                loss = make(name)
                expected = loss(x, labels)
                want = torch.autograd.grad(expected, [x, *loss.parameters()])
                there = copy.deepcopy(loss).to(device)
                y = x.detach().to(device).requires_grad_(True)
                value = there(y, labels.to(device))
                got = torch.autograd.grad(value, [y, *there.parameters()])
                torch.testing.assert_close(value.cpu(), expected)
                for a, b in zip(got, want):
                    torch.testing.assert_close(a.cpu(), b)


class Gradients(Case):
    def test_only_what_is_wanted(self):
        x, labels = class_batch()
        loss = make("arcface")
        value = loss(x.detach(), labels)
        value.backward()
        self.assertTrue(loss.proxies.grad.abs().sum() > 0)
        loss.proxies.requires_grad_(False)
        loss.proxies.grad = None
        loss(x, labels).backward()
        self.assertIsNone(loss.proxies.grad)
        self.assertTrue(x.grad.abs().sum() > 0)
        self.assertFalse(loss(x.detach(), labels).requires_grad)
        with torch.no_grad():
            self.assertFalse(make("arcface")(x, labels).requires_grad)

    def test_half_precision_embeddings(self):
        for dtype in (torch.float16, torch.bfloat16):
            x, labels = class_batch()
            loss = kith.losses.CosFace(CLASSES, DIM)
            half = x.detach().to(dtype).requires_grad_(True)
            value = loss(half, labels)
            self.assertEqual(value.dtype, torch.float32)
            self.assertEqual(value.item(), loss(half.float(), labels).item())
            value.backward()
            self.assertEqual(half.grad.dtype, dtype)
            self.assertEqual(loss.proxies.grad.dtype, torch.float32)

    def test_behind_other_functions(self):
        x, labels = class_batch()
        loss, other = make("proxy_anchor"), make("norm_softmax")
        plain = LOSSES["proxy_anchor"].run
        unit = torch.nn.functional.normalize(x)
        self.check(
            (loss(x, labels) * 2 + other(x, labels)).log1p(),
            (plain(unit, labels, None, dict(loss.named_parameters())) * 2
             + LOSSES["norm_softmax"].run(
                 unit, labels, None, dict(other.named_parameters()))).log1p(),
            [x, loss.proxies, other.proxies], 1e-9)

    def test_an_optimiser_learns(self):
        torch.manual_seed(0)
        x, labels = class_batch()
        for name in CLASS_LOSSES:
            loss = kith.losses.by_name[name](CLASSES, DIM)
            optimizer = torch.optim.SGD(loss.parameters(), lr=0.05)
            values = []
            for _ in range(10):
                optimizer.zero_grad()
                value = loss(x.detach().float(), labels)
                value.backward()
                optimizer.step()
                values.append(value.item())
            self.assertLess(values[-1], values[0], name)


class AsModules(Case):
    def test_parameter_groups(self):
        group, = kith.losses.ArcFace(3, 4, lr=0.02).parameter_groups()
        self.assertEqual((group["lr"], group["weight_decay"]), (0.02, 0))
        group, = kith.losses.ProxyAnchor(3, 4, lr=0).parameter_groups()
        self.assertEqual(set(group), {"params"})
        hist = kith.losses.Hist(3, 4)
        rates = [group["lr"] for group in hist.parameter_groups()]
        names = [name for name, _ in hist.named_parameters()]
        self.assertEqual(dict(zip(names, rates))["means"], 0.1)
        self.assertEqual(dict(zip(names, rates))["theta1_bias"], 1e-3)
        net = torch.nn.Linear(4, 4)
        torch.optim.AdamW([{"params": net.parameters()},
                           *hist.parameter_groups()], lr=1e-4)
        self.assertEqual(kith.losses.RecallAtK().parameter_groups(), [])

    def test_seeds(self):
        first = kith.losses.ArcFace(5, 4, seed=3)
        self.assertTrue(torch.equal(first.proxies,
                                    kith.losses.ArcFace(5, 4, seed=3).proxies))
        torch.manual_seed(1)
        drawn = kith.losses.ArcFace(5, 4).proxies
        self.assertFalse(torch.equal(drawn, kith.losses.ArcFace(5, 4).proxies))
        torch.manual_seed(1)
        self.assertTrue(torch.equal(drawn, kith.losses.ArcFace(5, 4).proxies))

    def test_save_and_copy(self):
        x, labels = class_batch()
        for make_loss in (
                lambda: make("arcface", margin=0.3, normalize=True),
                lambda: make("hist"),
                lambda: kith.losses.RecallAtK(k=[1, 3], t2=0.1),
                lambda: make("soft_triple", lambda_=3)):
            loss = make_loss()
            expected = loss(x, labels).item()
            for again in (copy.deepcopy(loss),
                          pickle.loads(pickle.dumps(loss))):
                self.assertEqual(again(x, labels).item(), expected)
                self.assertEqual(repr(again), repr(loss))
            file = io.BytesIO()
            torch.save(loss, file)
            file.seek(0)
            options = ({"weights_only": False}
                       if int(torch.__version__[0]) >= 2 else {})
            again = torch.load(file, **options)
            self.assertEqual(again(x, labels).item(), expected)
            fresh = make_loss()
            fresh.load_state_dict(loss.state_dict())
            self.assertEqual(fresh(x, labels).item(), expected)

    def test_within_a_module(self):
        class Whole(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = torch.nn.Linear(DIM, DIM)
                self.loss = kith.losses.ProxyNca(CLASSES, DIM)

        whole = Whole().double()
        self.assertEqual(set(whole.state_dict()),
                         {"net.weight", "net.bias", "loss.proxies"})
        x, labels = class_batch()
        whole.loss(whole.net(x), labels).backward()
        self.assertTrue(all(p.grad is not None for p in whole.parameters()))

    def test_repr_and_signature(self):
        self.assertEqual(repr(kith.losses.ArcFace(3, 4, scale=8)),
                         "ArcFace(scale=8)")
        self.assertEqual(repr(kith.losses.ArcFace(3, 4, scale=16)), "ArcFace()")
        shown = str(kith.losses.ArcFace.__signature__)
        self.assertTrue(shown.startswith(
            "(num_classes: int, embedding_size: int, *, scale: float = 16"))
        for loss in kith.losses.by_name.values():
            for option in loss.part.options:
                self.assertIn(f"    {option.name}: ", loss.__doc__)


class Errors(unittest.TestCase):
    def test_construction(self):
        with self.assertRaisesRegex(TypeError, "ArcFace.*num_classes"):
            kith.losses.ArcFace()
        for sizes, message in (((0, 4), "num_classes must be positive"),
                               ((3, -1), "embedding_size must be positive")):
            with self.assertRaisesRegex(ValueError, message):
                kith.losses.ArcFace(*sizes)
        with self.assertRaisesRegex(ValueError, "'arcface.scale' must be"):
            kith.losses.ArcFace(3, 4, scale=0)
        with self.assertRaisesRegex(ValueError, "give num_classes"):
            kith.losses.Margin(beta_per_class=True)
        with self.assertRaisesRegex(ValueError, "leave out num_classes"):
            kith.losses.Margin(num_classes=3)

    def test_call(self):
        x, labels = class_batch()
        loss = make("arcface")
        with self.assertRaisesRegex(ValueError, "labels must be 0 to 9, but"):
            loss(x, labels + 1)
        with self.assertRaisesRegex(ValueError, "have 5 numbers.* have 6"):
            loss(x[:, :5], labels)
        with self.assertRaisesRegex(ValueError, "takes no tuples"):
            loss(x, labels, triplets(labels))
        with torch.no_grad():
            loss.proxies[2, 1] = float("nan")
        with self.assertRaisesRegex(ValueError, "parameter 'proxies' .* NaN"):
            loss(x, labels)

    @unittest.skipUnless("cuda" in DEVICES, "no CUDA device")
    def test_devices(self):
        x, labels = class_batch()
        with self.assertRaisesRegex(ValueError, "'proxies' is on cpu"):
            make("arcface")(x.cuda(), labels.cuda())


if __name__ == "__main__":
    unittest.main()
