"""What kith reads from files of torch.save, compared with what was saved.

usage: KITH_TEST_PROGRAM=PROGRAM weights_test.py
"""

import argparse
import collections
import os
import pathlib
import pickle
import subprocess
import tempfile
import unittest

import find_python

find_python.need("numpy", "torch")

import numpy as np
import torch

from read_safetensors import DTYPES, read_safetensors

DUMP = [os.environ["KITH_TEST_PROGRAM"], "weights"]


class Gadget:
    """Pickled as a call that leaves a file behind."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = subprocess.Popen(DUMP, text=True,
                                       stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)

    @classmethod
    def tearDownClass(cls):
        cls.program.communicate()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def dump(self, path):
        """Tensors that kith reads, or its error message."""
        out = self.path("out.safetensors")
        print(path, out, sep="\n", file=self.program.stdin, flush=True)
        answer = self.program.stdout.readline()
        self.assertTrue(answer.endswith("\n"), "the program died")
        return answer.strip() or read_safetensors(out)

    def saved(self, value, **options):
        """The file of each format of torch.save."""
        for zipped in (True, False):
            path = self.path("zip.pth" if zipped else "legacy.pth.tar")
            torch.save(value, path, _use_new_zipfile_serialization=zipped,
                       **options)
            yield path

    def check(self, value, expected, **options):
        for path in self.saved(value, **options):
            with self.subTest(os.path.basename(path)):
                got = self.dump(path)
                self.assertIsInstance(got, dict, got)
                self.assertEqual(set(got), set(expected))
                for name, tensor in expected.items():
                    self.assertEqual(got[name].dtype, tensor.dtype, name)
                    self.assertEqual(got[name].shape, tensor.shape, name)
                    self.assertTrue(torch.equal(got[name], tensor), name)

    def refuse(self, value, *parts, **options):
        for path in self.saved(value, **options):
            with self.subTest(os.path.basename(path)):
                message = self.dump(path)
                self.assertIsInstance(message, str)
                for part in (path, *parts):
                    self.assertIn(part, message)


def small_model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3),
                               torch.nn.BatchNorm2d(4), torch.nn.Linear(4, 2))


class StateDicts(Case):
    def test_plain(self):
        state = small_model().state_dict()
        self.assertIsInstance(state, collections.OrderedDict)
        self.check(state, dict(state))
        self.check(dict(state), dict(state))

    def test_pickle_protocols(self):
        state = small_model().state_dict()
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            self.check(state, dict(state), pickle_protocol=protocol)

    def test_wrapped(self):
        model = small_model()
        state = model.state_dict()
        self.check(torch.nn.DataParallel(model).state_dict(), state)
        for key in ("state_dict", "model", "model_state_dict"):
            self.check({key: state, "epoch": 3}, state)
        prefixed = {"module.model." + name: t for name, t in state.items()}
        self.check({"state_dict": prefixed}, state)

    def test_dtypes(self):
        values = torch.arange(-3, 4)
        state = {str(dtype)[6:]: values.to(dtype) for dtype in DTYPES.values()}
        self.check(state, state)

    def test_parameters_and_shapes(self):
        state = {"parameter": torch.nn.Parameter(torch.ones(2, 3)),
                 "scalar": torch.tensor(2.5), "empty": torch.empty(0, 3),
                 "deep": torch.arange(120.).reshape(1, 2, 3, 4, 5)}
        self.check(state, {k: v.detach() for k, v in state.items()})

    def test_views(self):
        base = torch.arange(24.).reshape(4, 6)
        views = {"transposed": base.t(), "columns": base[:, 1:3],
                 "row": base[2], "steps": base[::2, ::3],
                 "expanded": base[:, :1].expand(4, 5),
                 "channels_last": torch.arange(16.).reshape(1, 2, 2, 4).to(
                     memory_format=torch.channels_last),
                 "shared": base}
        self.check(views, {k: v.contiguous() for k, v in views.items()})

    def test_training_checkpoint(self):
        model = small_model()
        optimizer = torch.optim.Adam(model.parameters())
        model[2](torch.ones(1, 4)).sum().backward()
        optimizer.step()
        schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 2])
        self.check({
            "state_dict": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "lr_scheduler": schedule.state_dict(),
            "opt": argparse.Namespace(lr=1e-3, gpus=[0], path="x", none=None),
            "progress": {"Recall @ 1": [np.float64(0.5), np.float32(1)],
                         "array": np.arange(5)},
            "rng": torch.get_rng_state(), "seen": {1, 2}, "big": 1 << 100,
            "counts": collections.defaultdict(list, a=[b"bytes", 1.5, True]),
            "device": torch.device("cpu"), "dtype": torch.float16,
            "size": torch.Size([2, 3]), "where": pathlib.PurePosixPath("/a"),
        }, model.state_dict())

    def test_published_checkpoint_of_recall_at_k(self):
        state = small_model().state_dict()
        names = {"model." + name: t for name, t in state.items()}
        names["gem.p"] = torch.tensor([3.])
        names["layer_blocks.0.weight"] = names["model.0.weight"]
        self.check({"state_dict": names, "opt": argparse.Namespace()},
                   {**state, "gem.p": names["gem.p"],
                    "layer_blocks.0.weight": state["0.weight"]})

    def test_script(self):
        """Archives of torch.jit.save hold modules, not a dict."""
        class Tied(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.visual = small_model()
                self.logit_scale = torch.nn.Parameter(torch.tensor(4.6))
                self.first = self.visual[0].weight
                self.sizes = [1, 2]
                self.name = "tied"

            def forward(self, x):
                return self.visual(x) * self.logit_scale

        model = Tied().eval()
        inputs = torch.randn(2, 3, 6, 6)
        for script in (torch.jit.script(model),
                       torch.jit.trace(model, inputs)):
            path = self.path("script.pt")
            script.save(path)
            got = self.dump(path)
            self.assertIsInstance(got, dict, got)
            expected = script.state_dict()
            self.assertLessEqual(set(expected), set(got))
            for name, tensor in expected.items():
                self.assertTrue(torch.equal(torch.as_tensor(got[name]),
                                            tensor), name)

    def test_torchvision(self):
        try:
            from torchvision.models import mobilenet_v2
        except ImportError:
            self.skipTest("no torchvision")
        state = mobilenet_v2().state_dict()
        self.check(state, dict(state))


class Refused(Case):
    def test_gadgets(self):
        marker = self.path("marker")
        for function, arguments, name in (
                (os.system, (f"touch {marker}",), "system"),
                (eval, (f"open({marker!r}, 'w')",), "eval"),
                (exec, (f"open({marker!r}, 'w')",), "exec"),
                (open, (marker, "w"), "open"),
                (getattr, (os, "system"), "getattr"),
                (subprocess.Popen, (["touch", marker],), "Popen")):
            arguments = tuple("os" if each is os else each
                              for each in arguments)
            state = {"weight": torch.ones(2), "bad": Gadget(function,
                                                            *arguments)}
            for protocol in (2, 4):
                self.refuse(state, name, "runs nothing",
                            pickle_protocol=protocol)
        self.assertFalse(os.path.exists(marker))

    def test_whole_models(self):
        self.refuse(small_model(), "torch.nn.modules.container.Sequential",
                    "state_dict()")

    def test_cycles(self):
        state = {"weight": torch.ones(2)}
        state["self"] = state
        self.refuse(state, "contains itself")

    def test_truncated(self):
        for path in self.saved(small_model().state_dict()):
            data = pathlib.Path(path).read_bytes()
            for size in range(0, len(data), 97):
                pathlib.Path(path).write_bytes(data[:size])
                self.assertIsInstance(self.dump(path), str)

    def test_sparse(self):
        self.refuse({"s": torch.eye(2).to_sparse()}, "'s'", "dense")


if __name__ == "__main__":
    unittest.main()
