"""examples/track_run.py, with stand-ins for MLflow and Weights & Biases that write
down what they are told.

usage: KITH_EXAMPLES=examples python3 track_run_test.py [OPTION of unittest]...
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml  # noqa: F401
except ImportError:
    print("skipped: no PyYAML")
    sys.exit(77)

EXAMPLE = pathlib.Path(os.environ["KITH_EXAMPLES"]).resolve() / "track_run.py"

MLFLOW = '''
import contextlib, json, os, sys, types
entities = types.ModuleType("mlflow.entities")
entities.Metric = lambda *values: ["metric", *values]
entities.Param = lambda *values: ["param", *values]
sys.modules["mlflow.entities"] = entities
def say(*words):
    with open(os.environ["SAID"], "a") as file:
        file.write(json.dumps(words) + "\\n")
def set_experiment(name): say("experiment", name)
@contextlib.contextmanager
def start_run(run_name):
    say("run", run_name)
    yield types.SimpleNamespace(info=types.SimpleNamespace(run_id="7"))
    say("end")
class MlflowClient:
    def log_batch(self, run_id, metrics=(), params=()):
        assert run_id == "7" and len(params) <= 100 and len(metrics) <= 1000
        for item in [*metrics, *params]: say(*item)
def log_artifact(path): say("file", path)
'''

WANDB = '''
import contextlib, json, os
def say(*words):
    with open(os.environ["SAID"], "a") as file:
        file.write(json.dumps(words) + "\\n")
class Run:
    def log(self, numbers, step): say("log", numbers, step)
    def save(self, path, base_path, policy): say("file", path)
@contextlib.contextmanager
def init(project, name, config):
    say("run", project, name, config)
    yield Run()
    say("end")
'''

LOG = [
    {"kind": "eval", "epoch": 0, "step": 0, "split": "test", "seconds": 1,
     "metrics": {"queries": 8, "metrics": {"recall_any@1": 0.25,
                                           "spectrum": [0.5, 0.5]}}},
    {"kind": "step", "epoch": 0, "step": 1, "loss": 2.5, "lr": 0.1,
     "grad_norm": 3, "images": 16, "seconds": {"total": 0.5}},
    {"kind": "step", "epoch": 0, "step": 2, "loss": 1.5, "lr": 0.1,
     "images": 16, "seconds": {"total": 0}},
    {"kind": "eval", "epoch": 1, "step": 2, "split": "test", "seconds": 1,
     "metrics": {"metrics": {"recall_any@1": 0.5, "rho": None}}},
    {"kind": "other"},
]


class TrackRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.run = self.folder / "birds"
        self.run.mkdir()
        (self.run / "config.yaml").write_text("loss: {k: [1, 2], t: 0.5}\n")
        (self.run / "log.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in LOG) + '{"kind": "st')

    def call(self, *words, program=None, fails=False):
        modules = self.folder / "modules"
        modules.mkdir(exist_ok=True)
        if program:
            (modules / f"{words[0]}.py").write_text(program)
        said = self.folder / "said"
        done = subprocess.run(
            [sys.executable, EXAMPLE, *map(str, words)], text=True,
            capture_output=True, cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(modules), "SAID": str(said)})
        if fails:
            self.assertEqual(done.returncode, 1)
            self.assertNotIn("Traceback", done.stderr)
            return done.stderr
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in said.read_text().splitlines()]

    def test_mlflow_gets_parameters_metrics_and_files(self):
        (self.run / "metrics.json").write_text("{}")
        said = self.call("mlflow", self.run, program=MLFLOW)
        self.assertEqual(said, [
            ["experiment", "kith"], ["run", "birds"],
            ["param", "loss.k", "[1, 2]"], ["param", "loss.t", "0.5"],
            ["metric", "eval/test/recall_any_at_1", 0.25, 0, 0],
            ["metric", "train/loss", 2.5, 1, 1],
            ["metric", "train/lr", 0.1, 1, 1],
            ["metric", "train/grad_norm", 3, 1, 1],
            ["metric", "train/images_per_second", 32, 1, 1],
            ["metric", "train/loss", 1.5, 2, 2],
            ["metric", "train/lr", 0.1, 2, 2],
            ["metric", "eval/test/recall_any_at_1", 0.5, 2, 2],
            ["file", str(self.run / "config.yaml")],
            ["file", str(self.run / "metrics.json")], ["end"]])

    def test_wandb_gets_what_is_of_one_step_at_once(self):
        said = self.call("wandb", "birds", "--project", "p", program=WANDB)
        self.assertEqual(said, [
            ["run", "p", "birds", {"loss.k": [1, 2], "loss.t": 0.5}],
            ["log", {"epoch": 0, "eval/test/recall_any@1": 0.25}, 0],
            ["log", {"epoch": 0, "train/loss": 2.5, "train/lr": 0.1,
                     "train/grad_norm": 3, "train/images_per_second": 32}, 1],
            ["log", {"epoch": 0, "train/loss": 1.5, "train/lr": 0.1,
                     "eval/test/recall_any@1": 0.5}, 2],
            ["file", str(self.run / "config.yaml")], ["end"]])

    def test_errors_are_one_line(self):
        self.assertIn("not a folder that kith train wrote",
                      self.call("wandb", "none", program=WANDB, fails=True))
        (self.run / "log.jsonl").unlink()
        self.assertIn("has not begun",
                      self.call("mlflow", self.run, program=MLFLOW, fails=True))
        self.assertIn("pip install wandb",
                      self.call("wandb", self.run,
                                program="raise ImportError('no wandb')",
                                fails=True))


if __name__ == "__main__":
    unittest.main()
