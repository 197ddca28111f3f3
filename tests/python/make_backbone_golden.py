"""Writes tests/golden/backbone_googlenet and backbone_inception_v1: features of
networks whose weights a formula makes, computed in float64 by torchvision's
GoogLeNet and by the functions of torch below.

usage: python3 tests/python/make_backbone_golden.py

Made with torch 1.13 and torchvision 0.14. The formula is that of
tests/golden/backbone_bn_inception.
"""

import json
import math
import pathlib

import numpy
import torch
import torch.nn.functional as F
import torchvision

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
SHAPE = (2, 3, 97, 66)  # Sides that no pool halves evenly.
SCALE, STEP = 100, 0.7
WEIGHTS = json.loads(
    (GOLDEN / "backbone_bn_inception/meta.json").read_text())["weights"]

# Channels of the blocks: 1x1, 3x3 reduce, 3x3, 5x5 reduce, 5x5, pool_proj.
BLOCKS = {"3a": (64, 96, 128, 16, 32, 32), "3b": (128, 128, 192, 32, 96, 64),
          "4a": (192, 96, 208, 16, 48, 64), "4b": (160, 112, 224, 24, 64, 64),
          "4c": (128, 128, 256, 24, 64, 64), "4d": (112, 144, 288, 32, 64, 64),
          "4e": (256, 160, 320, 32, 128, 128),
          "5a": (256, 160, 320, 32, 128, 128),
          "5b": (384, 192, 384, 48, 128, 128)}


def tensor(k, name, shape):
    """The k-th tensor (k from 1) by the formula that WEIGHTS says."""
    i = torch.arange(math.prod(shape), dtype=torch.float64)
    p = 0.1 * k
    if name.endswith("running_mean"):
        value = 0.05 * torch.sin(2 * i + p)
    elif name.endswith("running_var"):
        value = 1 + 0.2 * torch.cos(3 * i + p) ** 2
    elif name.endswith("bias"):
        value = 0.1 * torch.cos(i + p)
    elif len(shape) == 1:
        value = 1 + 0.1 * torch.sin(i + p)
    else:
        fan_in = math.prod(shape[1:])
        value = (math.sqrt(2) * math.sqrt(2 / fan_in)
                 * torch.sin(0.7 * i + p))
    return value.view(shape)


def all_tensors(shapes):
    return {name: tensor(k, name, shape)
            for k, (name, shape) in enumerate(shapes, 1)}


def images():
    """Large, and as quick as the weights: the network must answer to them."""
    i = torch.arange(math.prod(SHAPE), dtype=torch.float64)
    return (SCALE * torch.sin(STEP * i)).view(SHAPE)


def write(item, source, shapes, features):
    folder = GOLDEN / item
    folder.mkdir(exist_ok=True)
    numpy.save(folder / "features_mean.npy", features.mean((2, 3)).numpy())
    numpy.save(folder / "features_max.npy", features.amax((2, 3)).numpy())
    lines = ",\n".join("  " + json.dumps([n, list(s)]) for n, s in shapes)
    facts = {"item": item, "source": source, "weights": WEIGHTS,
             "input": "input_shape, flattened index i: input_scale "
                      "sin(input_step i)",
             "input_shape": SHAPE, "input_scale": SCALE, "input_step": STEP,
             "output": "last feature map: features_mean and features_max over "
                       "its positions, [2,1024]",
             "feature_map": list(features.shape),
             "tol64_rel": 1e-6, "tol32_rel": 1e-3}
    text = json.dumps(facts, indent=1)
    (folder / "meta.json").write_text(
        text[:-2] + ',\n "tensors": [\n' + lines + "\n ]\n}\n")


def googlenet():
    model = torchvision.models.googlenet(weights=None, aux_logits=False,
                                         init_weights=False).double().eval()
    shapes = [(name, tuple(value.shape))
              for name, value in model.state_dict().items()
              if not name.startswith("fc.")
              and not name.endswith("num_batches_tracked")]
    model.load_state_dict(all_tensors(shapes), strict=False)
    seen = []
    model.inception5b.register_forward_hook(lambda *call: seen.append(call[2]))
    with torch.no_grad():
        model(images())
    write("backbone_googlenet", "torchvision 0.14 googlenet in float64", shapes,
          seen[0])


def inception_v1_shapes():
    shapes = []

    def add(name, out, into, kernel):
        shapes.append((name + ".weight", (out, into, kernel, kernel)))
        shapes.append((name + ".bias", (out,)))

    add("conv1/7x7_s2", 64, 3, 7)
    add("conv2/3x3_reduce", 64, 64, 1)
    add("conv2/3x3", 192, 64, 3)
    into = 192
    for block, (one, r3, three, r5, five, pool) in BLOCKS.items():
        name = f"inception_{block}/"
        add(name + "1x1", one, into, 1)
        add(name + "3x3_reduce", r3, into, 1)
        add(name + "3x3", three, r3, 3)
        add(name + "5x5_reduce", r5, into, 1)
        add(name + "5x5", five, r5, 5)
        add(name + "pool_proj", pool, into, 1)
        into = one + three + five + pool
    return shapes


def inception_v1():
    """The model bvlc_googlenet of Caffe, layer by layer."""
    shapes = inception_v1_shapes()
    weights = all_tensors(shapes)

    def conv(x, name, stride=1):
        weight = weights[name + ".weight"]
        return F.relu(F.conv2d(x, weight, weights[name + ".bias"], stride,
                               weight.shape[2] // 2))

    def pool(x):
        return F.max_pool2d(x, 3, 2, ceil_mode=True)

    def norm(x):
        return F.local_response_norm(x, 5, alpha=1e-4, beta=0.75, k=1)

    x = norm(pool(conv(images(), "conv1/7x7_s2", 2)))
    x = pool(norm(conv(conv(x, "conv2/3x3_reduce"), "conv2/3x3")))
    for block in BLOCKS:
        if block in ("4a", "5a"):
            x = pool(x)
        name = f"inception_{block}/"
        x = torch.cat([
            conv(x, name + "1x1"),
            conv(conv(x, name + "3x3_reduce"), name + "3x3"),
            conv(conv(x, name + "5x5_reduce"), name + "5x5"),
            conv(F.max_pool2d(x, 3, 1, 1), name + "pool_proj")], 1)
    write("backbone_inception_v1",
          "Caffe's bvlc_googlenet in functions of torch 1.13, float64", shapes,
          x)


if __name__ == "__main__":
    googlenet()
    inception_v1()
