"""The installed package as its docs show it: the examples of README.md and
docs/python.md as printed, examples/pml_loop.py, types, what an installation
refuses.

usage: ENVIRONMENT/bin/python package_docs_test.py [OPTION of unittest]...
"""

import ast
import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import support  # noqa: F401  (first: finds a Python with torch)

import kith

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(kith.__file__).resolve().parent
sys.path.insert(0, str(SOURCE / "tests/package"))
from run_path_test import is_safe, run_path

TYPED = """
import torch
import kith

x, labels = torch.zeros(2, 2), torch.zeros(2, dtype=torch.int64)
value: torch.Tensor = kith.losses.RecallAtK(k=[1, 2], t2=0.1)(x, labels)
proxies: torch.nn.Parameter = kith.losses.ArcFace(10, 64, scale=8).proxies
tuples: torch.Tensor = kith.miners.SemihardMiner(margin=0.1)(x, labels)
kith.losses.Margin(count="pairs", num_classes=3)(x, labels, tuples)
batches = list(kith.samplers.SpcSampler([1, 2], batch=2))
places: int = batches[0][0]
found: torch.Tensor = kith.search(x, x, 1).indices
"""
WRONG = ("kith.losses.RecallAtK(t3=1.0)", "kith.losses.Margin(count='paris')",
         "kith.losses.ArcFace(scale=8)", "kith.miners.SemihardMiner(margin='a')")


def python_blocks(path):
    return re.findall(r"^```python\n(.*?)^```$", path.read_text("utf-8"),
                      re.M | re.S)


class Docs(unittest.TestCase):
    def test_examples_as_printed(self):
        for name, least in (("README.md", 1), ("docs/python.md", 4)):
            blocks = python_blocks(SOURCE / name)
            self.assertGreaterEqual(len(blocks), least, name)
            names = {}
            for block in blocks:
                exec(compile(block, name, "exec"), names)

    def test_loop_of_pytorch_metric_learning(self):
        done = subprocess.run([sys.executable, SOURCE / "examples/pml_loop.py"],
                              capture_output=True, text=True, check=True)
        recalls = [float(number) for number in
                   re.findall(r"recall@1 ([\d.]+)", done.stdout)]
        self.assertGreater(len(recalls), 1, done.stdout)
        self.assertGreater(recalls[-1], recalls[0] + 0.1, done.stdout)


@unittest.skipUnless((PACKAGE / "libkith_ops.so").exists(), "not installed")
class Installed(unittest.TestCase):
    def test_libraries_are_found_beside_each_other(self):
        self.assertEqual(pathlib.Path(kith.LIBRARY).parent, PACKAGE)
        libraries = sorted(PACKAGE.glob("libkith*.so"))
        self.assertEqual([path.name for path in libraries],
                         ["libkith.so", "libkith_base.so", "libkith_ops.so"])
        for path in libraries:
            first, *others = run_path(path)
            self.assertEqual(first, "$ORIGIN")
            for element in others:  # CUDA's
                self.assertTrue(is_safe(element))
                self.assertFalse(element.startswith(str(SOURCE)), element)

    def test_stubs_say_the_signatures(self):
        for module in (kith.losses, kith.miners, kith.samplers):
            name = module.__name__.rpartition(".")[2]
            tree = ast.parse((PACKAGE / f"{name}.pyi").read_text("utf-8"))
            classes = {node.name: node for node in tree.body
                       if isinstance(node, ast.ClassDef)}
            for cls in module.by_name.values():
                init = next(node for node in classes[cls.__name__].body
                            if isinstance(node, ast.FunctionDef))
                arguments = init.args.args[1:] + init.args.kwonlyargs
                self.assertEqual([argument.arg for argument in arguments],
                                 list(cls.__signature__.parameters))
                self.assertEqual(ast.get_docstring(classes[cls.__name__]),
                                 inspect.cleandoc(cls.__doc__))

    def test_mypy(self):
        mypy = shutil.which("mypy")
        if mypy is None:
            self.skipTest("there is no mypy")
        with tempfile.TemporaryDirectory() as name:
            file = pathlib.Path(name) / "typed.py"
            file.write_text(TYPED + "\n".join(WRONG) + "\n")
            done = subprocess.run(
                [mypy, "--python-executable", sys.executable, "--cache-dir",
                 name, str(file)], capture_output=True, text=True, cwd=name)
        first = len(TYPED.splitlines()) + 1
        found = {int(line) for line in
                 re.findall(r"typed\.py:(\d+): error", done.stdout)}
        self.assertEqual(found, set(range(first, first + len(WRONG))),
                         done.stdout + done.stderr)


class Refused(unittest.TestCase):
    def build(self, folder, **environment):
        done = subprocess.run(
            [sys.executable, folder / "setup.py", "build_py"], text=True,
            capture_output=True, cwd=folder, env={**os.environ, **environment})
        self.assertEqual(done.returncode, 1)
        return done.stderr

    def test_outside_of_a_checkout(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "python"
            folder.mkdir()
            shutil.copy(SOURCE / "python/setup.py", folder)
            self.assertIn("is built from the checkout", self.build(folder))

    def test_no_build_folder(self):
        with tempfile.TemporaryDirectory() as name:
            self.assertIn("is not a build folder of CMake",
                          self.build(SOURCE / "python", KITH_BUILD=name))


if __name__ == "__main__":
    unittest.main()
