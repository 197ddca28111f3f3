"""kith's backbones against torchvision's, with the same random weights.

usage: KITH_TEST_PROGRAM=PROGRAM python3 backbones_test.py
           [OPTION of unittest]...

Exit status 77 (skipped) without torchvision; in CI (CI=true) it must be there.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import find_python

find_python.need("numpy", "torch", "torchvision")

import numpy
import torch
import torchvision

PROGRAM = [os.environ["KITH_TEST_PROGRAM"], "backbones"]


def model_of(name, **options):
    """A model of torchvision as if trained: nothing is zero or one."""
    torch.manual_seed(7)
    model = getattr(torchvision.models, name)(weights=None, **options)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.2)
            module.running_var.uniform_(0.5, 2)
            module.weight.data.uniform_(0.5, 1.5)
            module.bias.data.normal_(0, 0.2)
        elif hasattr(module, "layer_scale"):
            module.layer_scale.data.uniform_(0.2, 0.5)
        elif isinstance(module, torch.nn.LayerNorm):
            module.weight.data.uniform_(0.5, 1.5)
            module.bias.data.normal_(0, 0.2)
        elif isinstance(module, torch.nn.MultiheadAttention):
            module.in_proj_bias.data.normal_(0, 0.2)
            module.out_proj.bias.data.normal_(0, 0.2)
    if hasattr(model, "class_token"):
        model.class_token.data.normal_()
    return model.eval()


def output_of(model, module, images):
    """What `module` puts out when the model sees images."""
    seen = []
    handle = module.register_forward_hook(lambda *call: seen.append(call[2]))
    with torch.no_grad():
        model(images)
    handle.remove()
    return seen[0]


def timm_names(state):
    """Weights of a vision transformer under the names of timm."""
    parts = [("class_token", "cls_token"), ("conv_proj", "patch_embed.proj"),
             ("encoder.pos_embedding", "pos_embed"),
             ("encoder.layers.encoder_layer_", "blocks."),
             ("encoder.ln", "norm"), ("heads.", ""), ("ln_1", "norm1"),
             ("ln_2", "norm2"), ("self_attention.in_proj_", "attn.qkv."),
             ("self_attention.out_proj", "attn.proj"), ("mlp.0", "mlp.fc1"),
             ("mlp.3", "mlp.fc2")]
    renamed = {}
    for name, tensor in state.items():
        for ours, theirs in parts:
            name = name.replace(ours, theirs)
        renamed[name] = tensor
    return renamed


def untrained(name):
    """The model without the time that random weights take."""
    kept = {}
    for key in dir(torch.nn.init):
        if key.endswith("_") and not key.startswith("_"):
            kept[key] = getattr(torch.nn.init, key)
            setattr(torch.nn.init, key, lambda tensor, *_, **__: tensor)
    try:
        return getattr(torchvision.models, name)(weights=None)
    finally:
        for key, function in kept.items():
            setattr(torch.nn.init, key, function)


def value_of(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def shape_of(name, model):
    """Options of kith's backbone as the layers of the model have them."""
    if name.startswith(("resn", "wide_")):
        stages = [getattr(model, f"layer{i}") for i in range(1, 5)]
        basic = not hasattr(stages[0][0], "conv3")
        return {"block": "basic" if basic else "bottleneck",
                "depths": [len(stage) for stage in stages],
                "groups": stages[0][0].conv2.groups,
                "width_per_group": 64 if basic else
                stages[0][0].conv2.weight.shape[1]}
    if name.startswith("convnext"):
        stages = list(model.features)[1::2]
        return {"depths": [len(stage) for stage in stages],
                "widths": [stage[0].block[0].out_channels for stage in stages]}
    if name.startswith("regnet"):
        stages = list(model.trunk_output)
        first = [list(stage)[0] for stage in stages]
        return {"depths": [len(stage) for stage in stages],
                "widths": [block.f.b[0].out_channels for block in first],
                "group_width": max(block.f.b[0].weight.shape[1]
                                   for block in first),
                "squeeze": 0.25 if "_y_" in name else 0}
    stages = list(model.features)[1:-1]
    convs = [[m for m in stage[0].modules()
              if isinstance(m, torch.nn.Conv2d)] for stage in stages]
    spatial = [max(group, key=lambda conv: conv.kernel_size) for group in convs]
    return {"stem": model.features[0][0].out_channels,
            "depths": [len(stage) for stage in stages],
            "widths": [stage[0].out_channels for stage in stages],
            "expand": [conv.out_channels // group[0].in_channels
                       if len(group) > 1 else 1
                       for conv, group in zip(spatial, convs)],
            "kernels": [conv.kernel_size[0] for conv in spatial],
            "strides": [conv.stride[0] for conv in spatial],
            "fused": sum(conv.groups == 1 for conv in spatial),
            "last": model.features[-1][0].out_channels,
            "bn_eps": model.features[0][1].eps,
            "bn_momentum": model.features[0][1].momentum}


class Backbones(unittest.TestCase):
    def features(self, name, state, images):
        """Map and, of a transformer, class token as kith computes them."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            torch.save(state, folder / "weights.pth")
            numpy.save(folder / "images.npy", images.numpy())
            files = [folder / "map.npy"]
            if name.startswith(("vit", "convnext")):
                files.append(folder / "token.npy")
            subprocess.run([*PROGRAM, name, folder / "weights.pth",
                            folder / "images.npy", *files], check=True)
            return [torch.from_numpy(numpy.load(file)) for file in files]

    def check(self, value, expected):
        """Equal to 1e-5 of the largest value."""
        self.assertEqual(value.shape, expected.shape)
        scale = expected.abs().max().item()
        self.assertGreater(scale, 0.1)
        self.assertLessEqual((value - expected).abs().max().item(),
                             1e-5 * scale)

    def check_convolutional(self, name, last, **options):
        model = model_of(name, **options)
        images = torch.randn(2, 3, 64, 64)
        value, = self.features(name, model.state_dict(), images)
        self.check(value, output_of(model, last(model), images))

    def check_transformer(self, name, size, rename=dict):
        model = model_of(name, image_size=size)
        images = torch.randn(2, 3, size, size)
        value, token = self.features(name, rename(model.state_dict()), images)
        tokens = output_of(model, model.encoder.ln, images)
        self.check(token, tokens[:, 0])
        side = value.shape[2]
        self.assertEqual(value.shape[3], side)
        self.check(value.flatten(2).transpose(1, 2), tokens[:, 1:])

    def test_resnet(self):
        for name in ("resnet18", "resnet34", "resnet50", "resnet101",
                     "resnext50_32x4d", "wide_resnet50_2"):
            with self.subTest(name=name):
                self.check_convolutional(name, lambda m: m.layer4)

    def test_mobilenet(self):
        for name in ("mobilenet_v2", "mobilenet_v3_large",
                     "mobilenet_v3_small"):
            with self.subTest(name=name):
                self.check_convolutional(name, lambda m: m.features)

    def test_efficientnet(self):
        for name in ("efficientnet_b0", "efficientnet_b1", "efficientnet_b5",
                     "efficientnet_v2_s"):
            with self.subTest(name=name):
                self.check_convolutional(name, lambda m: m.features)

    def test_regnet(self):
        for name in ("regnet_y_400mf", "regnet_y_800mf", "regnet_x_3_2gf"):
            with self.subTest(name=name):
                self.check_convolutional(name, lambda m: m.trunk_output)

    def test_convnext(self):
        model = model_of("convnext_tiny")
        images = torch.randn(2, 3, 64, 64)
        value, token = self.features("convnext_tiny", model.state_dict(),
                                     images)
        self.check(value, output_of(model, model.features, images))
        pooled = output_of(model, model.classifier[0], images)
        self.check(token, pooled.flatten(1))

    def test_shapes_of_all_names(self):
        """Those of the large ones too, whose numbers would take minutes."""
        torchvision_names = [
            name for name in dir(torchvision.models) if name.startswith(
                ("resn", "wide_", "convnext_", "efficientnet_", "regnet_"))
            and callable(getattr(torchvision.models, name))]
        self.assertGreater(len(torchvision_names), 35)
        texts = subprocess.run([PROGRAM[0], "backbone_options",
                                *torchvision_names], check=True, text=True,
                               capture_output=True).stdout.split("\n\n")
        for name, text in zip(torchvision_names, texts):
            with self.subTest(name=name):
                options = dict(line.split(": ") for line in text.splitlines())
                self.assertEqual(options["name"], name)
                shape = shape_of(name, untrained(name))
                for key, expected in shape.items():
                    self.assertEqual(value_of(options[key]), expected, key)

    def test_googlenet(self):
        # The file has the weights of two auxiliary classifiers too.
        self.check_convolutional("googlenet", lambda m: m.inception5b,
                                 init_weights=False)

    def test_vit_b_16(self):
        self.check_transformer("vit_b_16", 64)

    def test_vit_b_32(self):
        self.check_transformer("vit_b_32", 224)

    def test_names_of_timm(self):
        self.check_transformer("vit_b_32", 64, timm_names)


if __name__ == "__main__":
    unittest.main()
