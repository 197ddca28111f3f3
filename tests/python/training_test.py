"""kith's training against PyTorch's: ten steps from the same weights.

The network and the losses are written here once more, in float64; optimisers
and clipping are PyTorch's. Batches are those that kith's sampler chose.

usage: KITH_TEST_PROGRAM=PROGRAM training_test.py [OPTION of unittest]...

Exit status 77 (skipped) without PyTorch; in CI (CI=true) it must be there.
"""

import copy
import itertools
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import tempfile
import unittest
import zlib

import find_python

find_python.need("torch")

import torch
from torch.nn import functional as F

from read_safetensors import read_safetensors

PROGRAM = [os.environ["KITH_TEST_PROGRAM"], "training"]
CLASSES, PER_CLASS = 12, 4
MEAN, STD = [0.4, 0.5, 0.6], [0.2, 0.25, 0.3]
TEMPERATURE, MARGIN = 0.2, 0.3

# Three steps an epoch, four of twelve classes in each.
CONFIG = {
    "data": {"name": "csv"},
    "sampler": {"name": "class_balanced", "batch": 16, "per_class": 4},
    "model": {
        "input": {"colour": "rgb", "mean": MEAN, "std": STD},
        "head": {"dim": 8, "pooling": "average", "layer_norm": "before",
                 "l2": True},
    },
    "train": {"epochs": 4, "steps": 10, "seed": 3, "workers": 1},
    "eval": {"split": "none"},
    "log": {"every": 1},
}
# A backbone and the size of its pictures.
MLP = {"name": "mlp", "hidden": [16, 12], "activation": "tanh"}, 4
CONVNET = {"name": "convnet", "width": 12}, 16
SOFTMAX = {"name": "norm_softmax", "temperature": TEMPERATURE, "lr": 0.02}
BETA = {"name": "margin_all", "margin": MARGIN, "beta": 0.9, "learn": True,
        "beta_per_class": True, "lr": 0.004}


def write_png(path, pixels):
    """RGB bytes [rows][columns][3]."""
    def chunk(kind, data):
        body = kind + data
        return (struct.pack(">I", len(data)) + body +
                struct.pack(">I", zlib.crc32(body)))

    rows = b"".join(b"\0" + bytes(sum(row, [])) for row in pixels)
    header = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_pictures(folder, side):
    """Pictures of noise, those of a class alike; their pixels by path."""
    draw = random.Random(5)
    pictures, lines = {}, ["path,label,split"]
    for label in range(CLASSES):
        base = [[[draw.randrange(200) for _ in range(3)] for _ in range(side)]
                for _ in range(side)]
        for number in range(PER_CLASS):
            name = f"{label}_{number}.png"
            pixels = [[[value + draw.randrange(56) for value in pixel]
                       for pixel in row] for row in base]
            write_png(folder / name, pixels)
            lines.append(f"{name},{label},train")
            pictures[str(folder / name)] = pixels
    (folder / "dataset.csv").write_text("\n".join(lines) + "\n")
    return pictures


def mlp(p, x):
    x = x.flatten(1)
    for layer in ("backbone.layer1", "backbone.layer2"):
        x = torch.tanh(F.linear(x, p[layer + ".weight"], p[layer + ".bias"]))
    return x


def convnet(p, x):
    """Changes the statistics of batch norm in `p`, as training does."""
    for block in range(1, 5):
        conv, norm = (f"backbone.block{block}_{each}."
                      for each in ("conv", "norm"))
        x = F.conv2d(x, p[conv + "weight"], padding=1)
        x = x if block == 4 else F.max_pool2d(x, 2)
        x = F.batch_norm(x, p[norm + "running_mean"], p[norm + "running_var"],
                         p[norm + "weight"], p[norm + "bias"], training=True)
        p[norm + "num_batches_tracked"] += 1
        x = torch.relu(x)
    return x.mean((2, 3))


def embed(p, pixels):
    """[N, side, side, 3] bytes -> [N, dim]"""
    mean, std = (torch.tensor(each).double() for each in (MEAN, STD))
    x = ((pixels.double() / 255 - mean) / std).permute(0, 3, 1, 2)
    x = mlp(p, x) if "backbone.layer1.weight" in p else convnet(p, x)
    x = F.layer_norm(x, x.shape[1:], p["head.norm.weight"],
                     p["head.norm.bias"])
    x = F.linear(x, p["head.linear.weight"], p["head.linear.bias"])
    return F.normalize(x)


def norm_softmax(proxies, x, classes):
    logits = x @ F.normalize(proxies).t() / TEMPERATURE
    return F.cross_entropy(logits, classes)


def margin_all(beta, x, classes):
    """The mean of the terms above zero of all triplets."""
    same = classes[:, None] == classes[None]
    triplets = [(a, p, n) for a, p, n in itertools.product(
        range(len(x)), repeat=3) if a != p and same[a, p] and not same[a, n]]
    a, p, n = torch.tensor(triplets).t()
    beta = beta[classes[a]]
    terms = torch.cat([(x[a] - x[p]).norm(dim=1) - beta + MARGIN,
                       beta - (x[a] - x[n]).norm(dim=1) + MARGIN]).relu()
    return terms.sum() / (terms > 0).sum()


LOSSES = {"norm_softmax": (norm_softmax, "loss.proxies"),
          "margin_all": (margin_all, "loss.beta")}


def schedule_factor(options, epoch, epochs):
    """`epoch` is a fraction; below zero, only the head is trained."""
    if epoch < 0:
        return 1
    factor = 1
    if options.get("warmup_epochs"):
        factor = min(1, max(epoch / options["warmup_epochs"], 0.01))
    if options["name"] == "step":
        return factor * options["gamma"] ** sum(
            epoch >= milestone for milestone in options["milestones"])
    if options["name"] == "cosine":
        return factor * (1 + math.cos(math.pi * epoch / epochs)) / 2
    return factor


def groups_of(config, parameters):
    """A group for each parameter: its learning rate and decay."""
    options, loss = config["optimizer"], config["loss"]
    groups = []
    for name, parameter in parameters.items():
        part = name.split(".")[0]
        decays = options.get("decay_norms", True) or parameter.dim() >= 2
        if part == "loss":
            decays = decays and loss.get("decay", False)
        lr = loss["lr"] if part == "loss" else options["lr"]
        lr *= options.get(part + "_lr", 1)
        groups.append({"params": [parameter], "lr": lr, "start": lr,
                       "weight_decay": options["weight_decay"] * decays})
    return groups


def make_optimizer(config, parameters):
    options = config["optimizer"]
    groups = groups_of(config, parameters)
    if options["name"] == "adam":
        return torch.optim.Adam(groups)
    if options["name"] == "adamw":
        return torch.optim.AdamW(groups)
    return torch.optim.SGD(groups, lr=1, momentum=options["momentum"],
                           nesterov=options.get("nesterov", False))


def is_statistic(name):
    return "running_" in name or name.endswith("num_batches_tracked")


def train(config, state, plan, pictures):
    """Takes the steps; returns learning rate, loss and gradient norm of each.
    """
    parameters = {name: each for name, each in state.items()
                  if not is_statistic(name)}
    options, steps_an_epoch = config["train"], 3
    head_epochs = options.get("head_epochs", 0)
    optimizer = make_optimizer(config, parameters)
    loss_of, learnt = LOSSES[config["loss"]["name"]]
    records = []
    for step, batch in enumerate(plan[:options["steps"]]):
        epoch = step / steps_an_epoch - head_epochs
        for name, parameter in parameters.items():
            frozen = epoch < 0 and name.startswith("backbone.")
            parameter.requires_grad_(not frozen)
        factor = schedule_factor(config["schedule"], epoch, options["epochs"])
        for group in optimizer.param_groups:
            group["lr"] = group["start"] * factor
        optimizer.zero_grad(set_to_none=True)
        pixels = torch.tensor([pictures[name] for name in batch["images"]])
        loss = loss_of(parameters[learnt], embed(state, pixels),
                       torch.tensor(batch["classes"]))
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(
            parameters.values(), options.get("clip_norm", math.inf))
        optimizer.step()
        records.append((config["optimizer"]["lr"] * factor, loss.item(),
                        norm.item()))
    return records


class Training(unittest.TestCase):
    def train_both(self, folder, config):
        """Parameters after kith's run, after PyTorch's, and before both."""
        pictures = write_pictures(folder, config["model"]["input"]["size"])
        config["data"]["path"] = str(folder)
        (folder / "config.yaml").write_text(json.dumps(config))
        subprocess.run([*PROGRAM, folder / "config.yaml", folder], check=True,
                       stderr=subprocess.DEVNULL)
        plan = json.loads((folder / "plan.json").read_text())

        def parameters_of(run):
            file = folder / run / "checkpoints" / "last.safetensors"
            return {name.removeprefix("model."): tensor.double()
                    for name, tensor in read_safetensors(file).items()
                    if name.startswith(("model.", "loss."))}

        start = parameters_of("start")
        for name, each in start.items():  # the run with rate 0 gathered some
            if is_statistic(name):
                each.fill_(name.endswith("running_var"))
        theirs = {name: each.clone() for name, each in start.items()}
        expected = train(config, theirs, plan, pictures)
        log = map(json.loads,
                  (folder / "run" / "log.jsonl").read_text().splitlines())
        self.check_log([each for each in log if each["kind"] == "step"],
                       expected)
        return parameters_of("run"), theirs, start

    def check_log(self, log, expected):
        self.assertEqual(len(log), len(expected))
        for record, (lr, loss, norm) in zip(log, expected):
            self.assertAlmostEqual(record["lr"], lr, delta=1e-12)
            self.assertAlmostEqual(record["loss"], loss, delta=1e-5)
            self.assertAlmostEqual(record["grad_norm"], norm,
                                   delta=1e-5 * max(1, norm))

    def check(self, optimizer, loss, schedule=None, backbone=MLP, **options):
        config = copy.deepcopy(CONFIG)
        config["optimizer"] = {"lr": 0.004, "weight_decay": 0.05, **optimizer}
        config["loss"] = loss
        config["schedule"] = schedule or {"name": "constant"}
        model = config["model"]
        model["backbone"], model["input"]["size"] = backbone
        config["train"].update(options)
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs, start = self.train_both(pathlib.Path(folder), config)
        self.assertEqual(ours.keys(), theirs.keys())
        for name, value in theirs.items():
            with self.subTest(parameter=name):
                torch.testing.assert_close(ours[name], value.detach(),
                                           rtol=1e-6, atol=1e-6)
                self.assertGreater((ours[name] - start[name]).abs().max(),
                                   1e-3)

    def test_adam(self):
        adam = {"name": "adam"}
        cosine = {"name": "cosine", "warmup_epochs": 1.5}
        self.check(adam, SOFTMAX, cosine)
        self.check(adam, {**SOFTMAX, "decay": True}, clip_norm=0.2)
        self.check({**adam, "decay_norms": False}, BETA)
        self.check(adam, {**BETA, "decay": True})

    def test_adam_with_a_frozen_start(self):
        adam = {"name": "adam"}
        self.check(adam, BETA, {"name": "step", "milestones": [1, 2],
                                "gamma": 0.5}, head_epochs=1)
        self.check(adam, SOFTMAX, {"name": "cosine", "warmup_epochs": 0.5},
                   head_epochs=2, clip_norm=0.3)

    def test_adamw(self):
        adamw = {"name": "adamw", "weight_decay": 0.2}
        self.check(adamw, {**SOFTMAX, "decay": True}, head_epochs=1)
        self.check({**adamw, "decay_norms": False, "backbone_lr": 0.5}, BETA,
                   {"name": "step", "milestones": [1, 2.5], "gamma": 0.3},
                   clip_norm=0.2)

    def test_sgd(self):
        sgd = {"name": "sgd", "lr": 0.02, "momentum": 0.9}
        self.check(sgd, {**SOFTMAX, "decay": True}, clip_norm=0.5)
        self.check({**sgd, "nesterov": True, "head_lr": 2, "loss_lr": 3}, BETA,
                   {"name": "cosine"}, head_epochs=1)
        self.check({**sgd, "momentum": 0, "decay_norms": False}, SOFTMAX)

    def test_batch_norm(self):
        sgd = {"name": "sgd", "lr": 0.001, "momentum": 0.9}
        self.check(sgd, SOFTMAX, backbone=CONVNET)
        # At this rate nothing comes nearer than 2e-6 to a corner of ReLU or to a
        # tie of a pool, where rounding would decide: single precision is off by
        # 1e-6 here.
        adam = {"name": "adam", "lr": 0.0012, "decay_norms": False}
        self.check(adam, BETA,
                   {"name": "step", "milestones": [1], "gamma": 0.3},
                   backbone=CONVNET, head_epochs=1)


if __name__ == "__main__":
    unittest.main()
