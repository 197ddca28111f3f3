"""Runs of kith that are trained in seconds, and one that only looks long."""

import json
import math
import pathlib
import shutil
import subprocess

CONFIG = """
data: {name: glyphs, classes: 12, per_class: 8}
sampler: {batch: 16, per_class: 4}
augment: [{name: affine, degrees: 10, translate: 0.1}]
model:
  input: {size: 16}
  backbone: {name: convnet, width: 8}
  head: {dim: 16}
train: {epochs: 4}
eval: {every: 1, before: true}
published: {source: A paper, recall_any@1: 61.5}
"""

PHASES = ("data", "forward", "loss", "backward", "optimizer")


def kith(program, *arguments):
    """Runs the program; what it printed."""
    done = subprocess.run([program, *map(str, arguments)], text=True,
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"kith {' '.join(map(str, arguments))} failed:\n"
                           + done.stderr)
    return done.stdout


def train(program, folder, loss):
    """A run in `folder`, named after its loss."""
    folder = pathlib.Path(folder)
    config = folder / "tiny.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    run = folder / loss
    kith(program, "train", config, "--out", run, "--device", "cpu",
         "--threads", 1, "--set", f"loss.name={loss}")
    return run


def sweep(program, folder):
    """A study in `folder` of two losses with two seeds."""
    config = pathlib.Path(folder) / "losses.yaml"
    config.write_text(CONFIG + """
study:
  title: Two losses
  seeds: [0, 1]
  axes: [{name: Loss, key: loss.name, values: [supcon, triplet]}]
  figures: [{name: bars, file: losses, x: Loss, y: recall_any@1}]
""", encoding="utf-8")
    study = pathlib.Path(folder) / "study"
    kith(program, "sweep", config, "--out", study, "--device", "cpu",
         "--threads", 1)
    return study


def lengthen(run, folder, epochs=200, steps=100):
    """A run in `folder` whose log has `epochs` epochs: a copy of `run` with
    made-up numbers."""
    shutil.copytree(run, folder)
    metrics = read_metrics(run)
    lines, history = [], []
    for epoch in range(1, epochs + 1):
        for i in range(steps):
            step = (epoch - 1) * steps + i + 1
            lines.append(_step(epoch, step))
        evaluation = dict(metrics["last"], epoch=epoch, step=step)
        share = 1 - math.exp(-epoch / 40)
        evaluation["metrics"] = {
            name: share * (0.9 if name == "map_at_r" else 1)
            for name in metrics["last"]["metrics"]}
        history.append(evaluation)
        lines.append({"kind": "eval", "epoch": epoch, "step": step,
                      "metrics": {k: v for k, v in evaluation.items()
                                  if k not in ("epoch", "step")},
                      "seconds": 0.5})
    metrics["last"], metrics["history"] = history[-1], history
    folder = pathlib.Path(folder)
    (folder / "log.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (folder / "metrics.json").write_text(json.dumps(metrics),
                                         encoding="utf-8")
    return folder


def _step(epoch, step):
    wave = math.sin(step * 12.9898) * 43758.5453
    noise = wave - math.floor(wave)
    seconds = {phase: 0.01 * (1 + noise) for phase in PHASES}
    return {"kind": "step", "epoch": epoch, "step": step,
            "loss": math.exp(-step / 8000) + 0.1 * noise, "lr": 0.001,
            "grad_norm": 1 + noise, "images": 16,
            "seconds": dict(seconds, total=sum(seconds.values())),
            "peak_mb": {phase: 200 for phase in PHASES}}


def read_log(run, kind):
    """The lines of log.jsonl of a kind: "step" or "eval"."""
    with open(pathlib.Path(run) / "log.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [line for line in lines if line["kind"] == kind]


def read_metrics(run):
    text = (pathlib.Path(run) / "metrics.json").read_text(encoding="utf-8")
    return json.loads(text)
