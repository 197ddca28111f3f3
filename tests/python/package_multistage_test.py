"""kith.Multistage: a batch in chunks has the gradients of one pass.

usage: python3 package_multistage_test.py [OPTION of unittest]...
"""

import copy
import unittest

from support import DEVICES, Case  # first: finds a Python with torch

import torch

import kith


def small_net(norm=False, dropout=0.0):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(7, 16)]
    if norm:
        layers.append(torch.nn.BatchNorm1d(16))
    layers += [torch.nn.Tanh(), torch.nn.Dropout(dropout),
               torch.nn.Linear(16, 5)]
    return torch.nn.Sequential(*layers).double()


def images(count=23):
    generator = torch.Generator().manual_seed(1)
    return (torch.randn(count, 7, generator=generator, dtype=torch.float64),
            torch.arange(count) % 6)


LOSS = kith.losses.RecallAtK(k=(1, 2), t2=0.1)


class Calls(torch.nn.Module):
    """Counts them, and the most rows of one."""

    def __init__(self, net):
        super().__init__()
        self.net, self.count, self.most = net, 0, 0

    def forward(self, x):
        self.count += 1
        self.most = max(self.most, len(x))
        return self.net(x)


class OnePass(Case):
    def test_value_and_gradients(self):
        for device in DEVICES:
            net = small_net().to(device)
            x, labels = (t.to(device) for t in images())
            for sub_batch in (1, 4, 23, 100):
                chunks = kith.Multistage(net, sub_batch)
                self.check(LOSS(chunks(x), labels), LOSS(net(x), labels),
                           list(net.parameters()), 1e-10)

    def test_backward_adds_to_grad(self):
        net = small_net()
        x, labels = images()
        LOSS(net(x), labels).backward()
        want = [2 * p.grad for p in net.parameters()]
        LOSS(kith.Multistage(net, 5)(x), labels).backward()
        for parameter, gradient in zip(net.parameters(), want):
            torch.testing.assert_close(parameter.grad, gradient)

    def test_a_chunk_at_a_time(self):
        net = Calls(small_net())
        x, labels = images()
        embeddings = kith.Multistage(net, 6)(x)
        self.assertEqual((net.count, net.most), (4, 6))
        LOSS(embeddings, labels).backward()
        self.assertEqual((net.count, net.most), (8, 6))

    def test_frozen_and_unused_parameters(self):
        net = small_net()
        net[0].weight.requires_grad_(False)
        net.register_parameter("unused", torch.nn.Parameter(torch.zeros(2)))
        x, labels = images()
        LOSS(kith.Multistage(net, 5)(x), labels).backward()
        self.assertIsNone(net[0].weight.grad)
        self.assertIsNone(net.unused.grad)
        self.assertIsNotNone(net[0].bias.grad)

    def test_without_gradient(self):
        net = small_net()
        x, _ = images()
        with torch.no_grad():
            self.assertFalse(kith.Multistage(net, 5)(x).requires_grad)
        torch.testing.assert_close(kith.Multistage(net, 5)(x), net(x))
        with self.assertRaisesRegex(ValueError, "does not give: detach"):
            kith.Multistage(net, 5)(x.requires_grad_(True))
        with self.assertRaisesRegex(TypeError, "a tensor .*, got a list"):
            kith.Multistage(net, 5)([x])
        with self.assertRaisesRegex(ValueError, "at least 1, got 0"):
            kith.Multistage(net, 0)


class State(Case):
    def test_random_numbers_of_a_chunk(self):
        """Of dropout: those of the first pass, and the generator goes on."""
        for device in DEVICES:
            net = small_net(dropout=0.5).to(device)
            x, labels = (t.to(device) for t in images())

            def drawn():
                return torch.rand(3), torch.rand(3, device=device).cpu()

            torch.manual_seed(3)
            expected = LOSS(torch.cat([net(c) for c in x.split(6)]), labels)
            torch.manual_seed(3)
            value = LOSS(kith.Multistage(net, 6)(x), labels)
            after = torch.get_rng_state()
            self.check(value, expected, list(net.parameters()))
            self.assertTrue(torch.equal(torch.get_rng_state(), after))
            torch.manual_seed(3)
            LOSS(torch.cat([net(c) for c in x.split(6)]), labels).backward()
            want = drawn()
            torch.manual_seed(3)
            LOSS(kith.Multistage(net, 6)(x), labels).backward()
            for a, b in zip(drawn(), want):
                self.assertTrue(torch.equal(a, b))

    def test_batch_norm_gathers_once(self):
        net = small_net(norm=True)
        x, labels = images()
        want = copy.deepcopy(net)
        LOSS(torch.cat([want(c) for c in x.split(8)]), labels).backward()
        LOSS(kith.Multistage(net, 8)(x), labels).backward()
        for a, b in zip(net.buffers(), want.buffers()):
            self.assertTrue(torch.equal(a, b))
        for a, b in zip(net.parameters(), want.parameters()):
            torch.testing.assert_close(a.grad, b.grad)

    def test_autocast(self):
        """In both passes. A graph for all chunks adds up their four gradients
        in bfloat16."""
        for device in DEVICES:
            net = small_net().float().to(device)
            x, labels = (t.to(device) for t in images())
            x = x.float()
            seen = []
            with torch.autocast(device, dtype=torch.bfloat16):
                LOSS(torch.cat([net(c) for c in x.split(6)]),
                     labels).backward()
                want = [p.grad for p in net.parameters()]
                net.zero_grad(set_to_none=True)
                net.register_forward_hook(
                    lambda _net, _given, output: seen.append(output.dtype))
                value = LOSS(kith.Multistage(net, 6)(x), labels)
            value.backward()
            self.assertEqual(seen, [torch.bfloat16] * 8)
            for parameter, gradient in zip(net.parameters(), want):
                self.assertEqual(parameter.grad.dtype, torch.float32)
                self.assertLess((parameter.grad - gradient).norm(),
                                4 * 2**-8 * gradient.norm())

    def test_names_of_parameters(self):
        wrapped = kith.Multistage(small_net(), 6)
        self.assertEqual(list(wrapped.state_dict())[0], "net.0.weight")
        self.assertIn("sub_batch=6", repr(wrapped))


if __name__ == "__main__":
    unittest.main()
