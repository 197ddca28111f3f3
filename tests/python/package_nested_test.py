"""kith.Nested: the sum of a loss for each size.

usage: python3 package_nested_test.py [OPTION of unittest]...
"""

import copy
import unittest

from support import DEVICES, Case  # first: finds a Python with torch

import torch

import kith

SIZES = [2, 3, 6]


def batch(device="cpu"):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(20, 6, generator=generator, dtype=torch.float64)
    return x.to(device).requires_grad_(True), (torch.arange(20) % 5).to(device)


def first(x, size):
    return x if size == 6 else torch.nn.functional.normalize(x[:, :size])


def proxies(size):
    return kith.losses.ProxyAnchor(5, size, seed=size).double()


class Nested(Case):
    def test_is_the_sum(self):
        for device in DEVICES:
            with self.subTest(device):
                x, labels = batch(device)
                recall = kith.losses.RecallAtK(k=(1, 2), t2=0.1)
                nested = kith.Nested(SIZES, lambda size: recall, (1, 0.5, 2))
                value = nested(x, labels)
                found, = torch.autograd.grad(value, x)
                expected = sum(
                    weight * recall(first(x, size), labels)
                    for size, weight in zip(SIZES, (1, 0.5, 2)))
                gradient, = torch.autograd.grad(expected, x)
                torch.testing.assert_close(value, expected)
                torch.testing.assert_close(found, gradient)

    def test_a_reference_is_cut_too(self):
        x, labels = batch()
        other, other_labels = batch()
        loss = kith.losses.by_name["supcon"]()
        nested = kith.Nested(SIZES, lambda size: loss)
        expected = sum(loss(first(x, size), labels, ref_emb=first(other, size),
                            ref_labels=other_labels) for size in SIZES)
        torch.testing.assert_close(
            nested(x, labels, ref_emb=other, ref_labels=other_labels), expected)

    def test_parameters_are_those_of_the_sizes(self):
        x, labels = batch()
        nested = kith.Nested(SIZES, proxies)
        self.assertEqual({name: value.shape[1]
                          for name, value in nested.named_parameters()},
                         {f"losses.{size}.proxies": size for size in SIZES})
        nested(x, labels).backward()
        for size in SIZES:
            alone = proxies(size)
            alone(first(x.detach(), size), labels).backward()
            torch.testing.assert_close(nested.losses[str(size)].proxies.grad,
                                       alone.proxies.grad)
        rates = [group.get("lr") for group in nested.parameter_groups()]
        self.assertEqual(rates, [group.get("lr") for size in SIZES
                                 for group in proxies(size).parameter_groups()])
        other = copy.deepcopy(nested)
        other.load_state_dict(nested.state_dict())
        torch.testing.assert_close(other(x, labels), nested(x, labels))

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "rising"):
            kith.Nested([3, 2], proxies)
        with self.assertRaisesRegex(ValueError, "2 sizes and 1 weights"):
            kith.Nested([2, 3], proxies, [1])
        same = proxies(2)
        with self.assertRaisesRegex(ValueError, "same module"):
            kith.Nested([2, 3], lambda size: same)
        x, labels = batch()
        with self.assertRaisesRegex(ValueError, "last size is 3"):
            kith.Nested([2, 3], proxies)(x, labels)


if __name__ == "__main__":
    unittest.main()
