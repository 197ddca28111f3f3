"""kith.miners, samplers, metrics and search: against plain PyTorch, the program
and the samplers of C++.

usage: [KITH_PROGRAM=kith] [KITH_TEST_PROGRAM=kith_for_python]
           python3 package_parts_test.py [OPTION of unittest]...
"""

import copy
import json
import logging
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

from support import DEVICES, Case  # first: finds a Python with torch

import numpy
import torch

import kith
from formulas import batch, gallery

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from plain import MINERS

PROGRAM = os.environ.get("KITH_PROGRAM")
TEST_PROGRAM = os.environ.get("KITH_TEST_PROGRAM")


def said(*command):
    return json.loads(subprocess.run([str(word) for word in command],
                                     check=True, capture_output=True).stdout)


class Miners(Case):
    def test_sure_ones_against_plain_forms(self):
        x, labels = batch(grad=False)
        for name, form in MINERS.items():
            if not form.sure:
                continue
            with self.subTest(name):
                got = kith.miners.by_name[name]()(3 * x, labels)
                want = form.run(x, labels)
                self.assertEqual(sorted(got.tolist()), sorted(want.tolist()))

    def test_all(self):
        x, labels = batch()
        for name, miner in kith.miners.by_name.items():
            with self.subTest(name):
                tuples = miner()(x, labels, seed=3)
                self.assertTrue(torch.equal(tuples,
                                            miner()(x, labels, seed=3)))
                self.assertFalse(tuples.requires_grad)
                self.assertEqual(tuples.dtype, torch.int64)
                same = labels[tuples[:, 0]] == labels[tuples[:, 1]]
                if tuples.shape[1] == 3 and name != "rho_distance":
                    self.assertTrue(same.all())
                    self.assertFalse(
                        (labels[tuples[:, 0]] == labels[tuples[:, 2]]).any())
                loss = kith.losses.Contrastive()
                loss(x, labels, tuples).backward()
                self.assertTrue(torch.isfinite(x.grad).all())

    def test_torch_seeds_them(self):
        x, labels = batch()
        miner = kith.miners.RandomMiner()
        torch.manual_seed(5)
        first, second = miner(x, labels), miner(x, labels)
        self.assertFalse(torch.equal(first, second))
        torch.manual_seed(5)
        self.assertTrue(torch.equal(first, miner(x, labels)))

    def test_normalises(self):
        x, labels = batch()
        scaled = x * torch.linspace(0.1, 5, len(x))[:, None]
        miner = kith.miners.BatchHardMiner
        self.assertTrue(torch.equal(miner()(scaled, labels),
                                    miner()(x, labels)))
        self.assertFalse(torch.equal(miner(normalize=False)(scaled, labels),
                                     miner()(x, labels)))

    def test_tuples_of_pytorch_metric_learning(self):
        """(a, p, n), and (a, p, a, n) for pairs."""
        x, labels = batch()
        chosen = kith.miners.SemihardMiner()(x, labels, seed=1)
        loss = kith.losses.Triplet()
        self.check(loss(x, labels, tuple(chosen.t())), loss(x, labels, chosen),
                   [x])
        for wrong in ((), tuple(chosen.t()[:2]), (1, 2, 3)):
            with self.assertRaisesRegex(ValueError, "indices_tuple must be"):
                loss(x, labels, wrong)
        a, p, n = chosen.t()
        pairs = kith.losses.Contrastive()
        self.check(pairs(x, labels, (a, p, a, n)),
                   pairs(x, labels, torch.cat([chosen[:, :2],
                                               chosen[:, [0, 2]]])), [x])

    def test_errors(self):
        x, labels = batch()
        with self.assertRaisesRegex(ValueError, "'semihard.margin' must be"):
            kith.miners.SemihardMiner(margin=-1)
        with self.assertRaisesRegex(TypeError, "SemihardMiner.*'epsilon'"):
            kith.miners.SemihardMiner(epsilon=1)
        with self.assertRaisesRegex(ValueError, r"labels must be int64 \[14\]"):
            kith.miners.SemihardMiner()(x, labels[:3])
        with self.assertRaisesRegex(ValueError, "float32 or float64"):
            kith.miners.SemihardMiner()(labels, labels)
        again = pickle.loads(pickle.dumps(
            kith.miners.TripletMarginMiner(kind="hard")))
        self.assertEqual(repr(again), "TripletMarginMiner(kind='hard')")


LABELS = [c for c in range(24) for _ in range(3 + c % 5)]
CATEGORIES = [f"group {c % 4}" for c in LABELS]
#: Small ones, for these labels.
OPTIONS = {"batch": 8, "per_class": 2, "pool": 16, "batches_per_pair": 2}


def make_sampler(name, **options):
    cls = kith.samplers.by_name[name]
    known = {option.name for option in cls.part.options}
    given = {key: value for key, value in OPTIONS.items() if key in known}
    return cls(LABELS, categories=CATEGORIES, **{**given, **options})


class Samplers(unittest.TestCase):
    def test_every_plan_is_that_of_cpp(self):
        if TEST_PROGRAM is None:
            self.skipTest("KITH_TEST_PROGRAM is not set")
        pool = torch.randn(len(LABELS), 5,
                           generator=torch.Generator().manual_seed(2))
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            numpy.save(folder / "pool.npy", pool.numpy())
            seed, epoch = 7, 3
            for part in kith.samplers.by_name:
                with self.subTest(part):
                    sampler = make_sampler(part, seed=seed)
                    (folder / "request.json").write_text(json.dumps({
                        "name": part, "options": sampler.changed,
                        "labels": LABELS, "categories": CATEGORIES,
                        "seed": seed, "epoch": epoch,
                        "pool": str(folder / "pool.npy")}))
                    want = said(TEST_PROGRAM, "plan", folder / "request.json")
                    sampler.set_epoch(
                        epoch, pool if sampler.wants_embeddings else None)
                    self.assertEqual(len(sampler), len(want))
                    self.assertEqual(list(sampler), want)

    def test_epochs(self):
        sampler = make_sampler("class_balanced")
        first, second = list(sampler), list(sampler)
        self.assertNotEqual(first, second)
        sampler.set_epoch(0)
        self.assertEqual(list(sampler), first)
        self.assertEqual(list(sampler), second)
        for places in first:
            labels = [LABELS[place] for place in places]
            self.assertEqual(len(set(places)), 8)
            self.assertTrue(all(labels.count(c) == 2 for c in labels))

    def test_with_a_loader(self):
        data = torch.utils.data.TensorDataset(torch.arange(len(LABELS)))
        sampler = make_sampler("uniform", drop_last=False)
        loader = torch.utils.data.DataLoader(data, batch_sampler=sampler)
        for _ in range(2):
            seen = torch.cat([places for places, in loader])
            self.assertEqual(sorted(seen.tolist()), list(range(len(LABELS))))
        self.assertEqual(len(loader), (len(LABELS) + 7) // 8)

    def test_labels_of_any_kind(self):
        plans = [list(kith.samplers.SpcSampler(labels, batch=4))
                 for labels in (LABELS, torch.tensor(LABELS),
                                numpy.array(LABELS, dtype=numpy.int32))]
        self.assertEqual(plans[0], plans[1])
        self.assertEqual(plans[0], plans[2])

    def test_embeddings(self):
        sampler = make_sampler("greedy_coreset")
        self.assertTrue(sampler.wants_embeddings)
        with self.assertRaisesRegex(ValueError, "call set_epoch.epoch, emb"):
            iter(sampler)
        pool = torch.eye(len(LABELS))
        sampler.set_epoch(0, pool)
        list(sampler)
        with self.assertRaisesRegex(ValueError, "call set_epoch"):
            iter(sampler)  # they are those of an epoch
        sampler.set_epoch(1, pool[1:])
        with self.assertRaisesRegex(ValueError, r"floating point \[\d+, D\]"):
            iter(sampler)
        other = make_sampler("spc")
        other.set_epoch(0, pool)
        with self.assertRaisesRegex(ValueError, "by labels alone"):
            iter(other)

    def test_errors_and_messages(self):
        samplers = kith.samplers
        with self.assertRaisesRegex(ValueError, "larger than the training set"):
            samplers.SpcSampler(LABELS, batch=1000)
        with self.assertRaisesRegex(ValueError, "multiple of"):
            samplers.SpcSampler(LABELS, batch=9)
        with self.assertRaisesRegex(ValueError, "int64"):
            samplers.SpcSampler([0.5, 1.5], batch=2)
        with self.assertRaisesRegex(ValueError, "give categories, one for"):
            samplers.CategoryHardSampler(LABELS, batch=8)
        with self.assertRaisesRegex(ValueError, "one for each of the"):
            samplers.CategoryHardSampler(LABELS, batch=8, categories=["a"])
        with self.assertRaisesRegex(ValueError, "rebuild' is for kith train"):
            make_sampler("frechet", rebuild=True)
        with self.assertLogs("kith", logging.INFO) as told:
            samplers.SpcSampler(LABELS, batch=8, per_class=4)
        self.assertIn("classes have fewer", told.output[0])

    def test_copies(self):
        sampler = make_sampler("spc_random", seed=4)
        plan = list(sampler)
        for again in (copy.deepcopy(sampler),
                      pickle.loads(pickle.dumps(sampler))):
            again.set_epoch(0)
            self.assertEqual(list(again), plan)


def random_set(count, seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 9, (count,), generator=generator)
    centres = torch.randn(9, 12, generator=torch.Generator().manual_seed(0))
    return centres[labels] + 1.5 * torch.randn(count, 12, generator=generator), \
        labels


class Metrics(unittest.TestCase):
    def test_recall_and_map_at_r_by_hand(self):
        x, labels = random_set(80, 1)
        s = torch.nn.functional.normalize(x.double())
        s = s @ s.t()
        s.fill_diagonal_(-2)
        order = s.argsort(dim=1, descending=True)
        hit = (labels[order] == labels[:, None])[:, :-1].double()
        r = hit.sum(1).long()
        ranks = torch.arange(1, len(x))
        precision = hit.cumsum(1) / ranks
        at_r = (precision * hit * (ranks <= r[:, None])).sum(1) / r
        for device in DEVICES:
            got = kith.metrics(x.to(device), labels.to(device),
                               ["recall_any@1,5", "map_at_r"])
            self.assertEqual(list(got),
                             ["recall_any@1", "recall_any@5", "map_at_r"])
            self.assertAlmostEqual(got["recall_any@1"], hit[:, 0].mean().item())
            self.assertAlmostEqual(
                got["recall_any@5"], hit[:, :5].amax(1).mean().item())
            self.assertAlmostEqual(got["map_at_r"], at_r.mean().item())

    def test_the_program_says_the_same(self):
        if PROGRAM is None:
            self.skipTest("KITH_PROGRAM is not set")
        names = ["recall_any@1,10", "map_at_r", "mrr", "nmi", "rho", "spectrum"]
        x, labels = random_set(120, 2)
        y, y_labels = random_set(60, 3)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for key, value in (("x", x), ("l", labels), ("y", y),
                               ("m", y_labels)):
                numpy.save(folder / f"{key}.npy", value.numpy())
            alone = [PROGRAM, "metrics", "--json", "--bootstrap", "0",
                     "--embeddings", folder / "x.npy", "--labels",
                     folder / "l.npy", "--metrics"]
            whole = said(*alone, ",".join(names))
            apart = said(*alone, "recall_any@1,map", "--gallery-embeddings",
                         folder / "y.npy", "--gallery-labels",
                         folder / "m.npy")
        self.same(kith.metrics(x, labels, names), whole)
        self.same(kith.metrics(x.double(), labels, ["recall_any@1", "map"],
                               gallery=y, gallery_labels=y_labels), apart)

    def same(self, got, document):
        for name, value in got.items():
            torch.testing.assert_close(torch.tensor(value),
                                       torch.tensor(document[name]))

    def test_defaults_and_names(self):
        x, labels = random_set(40, 4)
        self.assertIn("map_at_r", kith.metrics(x, labels))
        self.assertEqual(kith.metrics(x, labels, "mrr").keys(), {"mrr"})
        for name in ("recall_any: ", "map_at_r: "):
            self.assertIn(name, kith.metrics.__doc__)

    def test_errors(self):
        x, labels = random_set(20, 5)
        for arguments, options, message in (
                ((x, labels, ["recal_any@1"]), {}, "unknown metric"),
                ((x, labels, ["recall_any"]), {}, "needs a k"),
                ((x, labels[:3]), {}, "labels"),
                ((x[0], labels), {}, r"embeddings must be .* \[N, D\]"),
                ((x[:, :0], labels), {}, r"embeddings must be .* \[20, 0\]"),
                ((x, labels.double()), {}, "int64"),
                ((x, labels), {"gallery": x}, "belong together"),
                ((x, labels), {"gallery": x[:, 1:], "gallery_labels": labels},
                 "has 11 numbers a row"),
                ((x, labels), {"memory_mb": 0}, "memory_mb must be positive"),
                ((x * float("nan"), labels), {}, "NaN")):
            with self.assertRaisesRegex(ValueError, message):
                kith.metrics(*arguments, **options)


class Search(unittest.TestCase):
    def test_against_torch(self):
        x, _, y = (*batch(grad=False), gallery()[0].detach())
        for device in DEVICES:
            for normalize in (True, False):
                a, b = 2 * x.to(device), 3 * y.to(device)
                found = kith.search(a, b, 4, normalize=normalize)
                unit = torch.nn.functional.normalize
                s = unit(a) @ unit(b).t() if normalize else a @ b.t()
                value, index = s.topk(4, dim=1)
                self.assertTrue(torch.equal(found.indices, index))
                torch.testing.assert_close(found.similarities.double(), value,
                                           atol=1e-5, rtol=1e-5)

    def test_excluded_and_ends(self):
        x, _ = batch(grad=False)
        alone = kith.search(x, x, 1, excluded=torch.arange(len(x)))
        self.assertFalse((alone.indices[:, 0] == torch.arange(len(x))).any())
        self.assertTrue(torch.equal(kith.search(x, x, 1).indices[:, 0],
                                    torch.arange(len(x))))
        self.assertEqual(kith.search(x, x[:3], 10).indices.shape, (len(x), 3))

    def test_errors(self):
        x, _ = batch(grad=False)
        for arguments, message in (
                ((x, x, 0), "k must be positive"),
                ((x, x[:, 1:], 1), "has 5 numbers a row"),
                ((x, x[0], 1), r"gallery must be .* \[N, D\]"),
                ((x * float("inf"), x, 1), "NaN or infinite")):
            with self.assertRaisesRegex(ValueError, message):
                kith.search(*arguments)


if __name__ == "__main__":
    unittest.main()
