"""kith's backbones against torchvision's, with the same random weights.

usage: KITH_TEST_PROGRAM=PROGRAM python3 backbones_test.py
           [OPTION of unittest]...

Exit status 77 (skipped) without torchvision; in CI (CI=true) it must be there.
"""

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


class Backbones(unittest.TestCase):
    def features(self, name, state, images):
        """Map and, of a transformer, class token as kith computes them."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            torch.save(state, folder / "weights.pth")
            numpy.save(folder / "images.npy", images.numpy())
            files = [folder / "map.npy"]
            if name.startswith("vit"):
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
        for depth in (18, 34, 50, 101):
            with self.subTest(depth=depth):
                self.check_convolutional(f"resnet{depth}", lambda m: m.layer4)

    def test_mobilenet_v2(self):
        self.check_convolutional("mobilenet_v2", lambda m: m.features)

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
