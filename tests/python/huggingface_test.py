"""What `kith export --huggingface` writes, in timm and torchvision: the code in
its model card gives kith's embeddings, for one picture and for seven. In double
precision numbers are within 1e-6 of each other; in single precision within 1e-5
of that, or as near as four times what kith itself rounds off there.

usage: KITH_PROGRAM=kith KITH_TEST_PROGRAM=kith_for_python
           python3 huggingface_test.py [OPTION of unittest]...

Without timm the tests that need it say "skipped".
KITH_TIMM_ALL=PATTERN ("*", "resnet*") takes backbones of `kith list backbones`
beside those below; those that neither library has are named.

Exit status 77 (skipped) without torch and torchvision; in CI (CI=true) they
must be there.
"""

import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

import find_python

find_python.need("numpy", "PIL", "torch", "torchvision")

import numpy
import PIL.Image
import torch

import read_safetensors

PROGRAM = os.environ["KITH_PROGRAM"]
BOUND = 1e-5
BOUND_OF_DOUBLES = 1e-6


def stand_in_for_safetensors():
    """The package, where it is not installed."""
    try:
        import safetensors.torch
    except ImportError:
        package = types.ModuleType("safetensors")
        package.torch = types.ModuleType("safetensors.torch")
        package.torch.load_file = (
            lambda path, device="cpu":
            read_safetensors.read_safetensors(path))
        sys.modules["safetensors"] = package
        sys.modules["safetensors.torch"] = package.torch


stand_in_for_safetensors()

try:
    import timm
except ImportError:
    timm = None

# Small ones of every family and of every kind of names, by library. Sizes are
# those of pictures, where the usual ones are not 64.
TORCHVISION = {"googlenet": {}, "mobilenet_v2": {}, "mobilenet_v3_large": {},
               "mobilenet_v3_small": {}}
TIMM = {
    "resnet18": {}, "resnet50": {}, "resnext50_32x4d": {},
    "efficientnet_b0": {}, "efficientnet_b5": {}, "efficientnet_v2_s": {},
    "tf_efficientnet_b1": {},
    "regnet_y_400mf": {}, "regnet_x_400mf": {}, "regnety_002": {},
    "regnet_y_800mf": {},
    "convnext_atto": {}, "convnext_tiny": {}, "convnext_v2_atto": {},
    "dinov3_convnext_tiny": {},
    "vit_ti_16": {}, "vit_s_32": {}, "deit_ti_16_distilled": {},
    "deit3_s_16": {},
    "dino_vits16": {"size": 80}, "dinov2_vits14": {"size": 56},
    "dinov2_vits14_reg": {"size": 56},
    "dinov3_vits16": {}, "dinov3_vits16plus": {},
    "clip_vit_b_32": {"size": 64}, "openclip_vit_b_32": {"size": 96},
    "siglip_vit_b_16_224": {"size": 64},
}
# With a class token, beside the pooling of all others.
TOKENS = ("vit", "deit", "dino", "clip", "openclip", "siglip", "convnext")

HEADS = {
    "average": {"pooling": "average", "layer_norm": "before"},
    "max": {"pooling": "max", "l2_before": True},
    "max_average": {"pooling": "max_average", "layer_norm": "after"},
    "no_affine": {"pooling": "gem", "layer_norm": "after",
                  "layer_norm_affine": False},
    "bare": {"pooling": "average", "dim": 0},
    "no_l2": {"pooling": "gem", "l2": False},
}


def item(name, backbone, head=None, size=64, options=None, **more):
    """`more` is about the input, `options` about the backbone."""
    return {"name": name, "checkpoint_alone": True, "exact": True, "model": {
        "input": {"size": size, "colour": "rgb"} | more,
        "backbone": {"name": backbone} | (options or {}), "head": {"dim": 16} | (head or {})}}


def models(backbones):
    for name, options in backbones.items():
        yield item(name, name, {"pooling": "gem"}, **options)
        if name.startswith(TOKENS):
            yield item(name + ".token", name, {"pooling": "class_token"},
                       **options)


def run(*arguments):
    result = subprocess.run([*map(str, arguments)], text=True,
                            capture_output=True, check=False)
    if result.returncode != 0:
        raise AssertionError(f"{arguments}: {result.stderr}")
    return result


def code_of(folder):
    """The Python of the model card, for this folder."""
    card = (folder / "README.md").read_text("utf-8")
    code = card.split("```python\n")[1].split("```")[0]
    return code.replace("THIS_FOLDER", str(folder))


class Embedding:
    """The function `embed` of that code."""

    def __init__(self, folder):
        self.names = {}
        exec(code_of(folder).split("with torch.no_grad")[0], self.names)

    def to_double(self):
        self.names["model"].double()
        head = self.names.get("head", {})
        self.names["head"] = {key: t.double() for key, t in head.items()}

    def __call__(self, images):
        with torch.no_grad():
            return self.names["embed"](torch.from_numpy(images)).numpy()


class Exports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def need_timm(self):
        if timm is None:
            self.skipTest("no timm")

    def export(self, model):
        """Makes a lively network, pictures and their embeddings, and exports
        it."""
        path = self.folder / "models.json"
        path.write_text(json.dumps({"models": [model]}), "utf-8")
        run(os.environ["KITH_TEST_PROGRAM"], "onnx", self.folder, path)
        folder = self.folder / (model["name"] + "_export")
        run(PROGRAM, "export", self.folder / (model["name"] + ".safetensors"),
            "--out", folder, "--huggingface")
        return folder

    def check(self, model):
        name = model["name"]
        folder = self.export(model)
        embed = Embedding(folder)
        images, kith, exact, found = {}, {}, {}, {}
        for count in (1, 7):
            def load(kind):
                return numpy.load(self.folder / f"{name}.{count}.{kind}.npy")
            images[count] = load("images")
            kith[count], exact[count] = load("embeddings"), load("exact")
            found[count] = embed(images[count])
        embed.to_double()
        errors = []
        for count in images:
            self.assertEqual(found[count].shape, exact[count].shape, name)
            size = max(1, abs(exact[count]).max())

            def error_of(rows):
                return abs(rows - exact[count]).max() / size
            errors += [error_of(embed(images[count].astype("float64"))),
                       error_of(found[count]), error_of(kith[count])]
            self.assertLessEqual(errors[-3], BOUND_OF_DOUBLES, name)
            self.assertLessEqual(errors[-2], max(BOUND, 4 * errors[-1]), name)
        # Pictures differ: that they agree says something.
        self.assertGreater(abs(exact[7][0] - exact[7][1]).max() / size,
                           20 * BOUND, name)
        print(f"{name}: {max(errors[::3]):.1e} in double, "
              f"{max(errors[1::3]):.1e}; kith {max(errors[2::3]):.1e}",
              flush=True)
        for file in self.folder.glob(name + ".*"):
            file.unlink()
        return folder

    def test_torchvision(self):
        for model in models(TORCHVISION):
            self.check(model)

    def test_timm(self):
        self.need_timm()
        for model in models(TIMM):
            folder = self.check(model)
            config = json.loads((folder / "config.json").read_text("utf-8"))
            self.assertEqual(config["library_name"], "timm")
            # As others load a network for its features.
            plain = timm.create_model(f"local-dir:{folder}", pretrained=True,
                                      num_classes=0)
            self.assertEqual(plain.num_features,
                             plain(torch.zeros(
                                 [2, *config["pretrained_cfg"]["input_size"]]))
                             .shape[1])

    def test_heads(self):
        for name, head in HEADS.items():
            self.check(item("head_" + name, "mobilenet_v2", head))

    def test_heads_of_tokens(self):
        self.need_timm()
        for backbone in ("vit_ti_16", "convnext_atto", "siglip_vit_b_16_224"):
            self.check(item("both_" + backbone, backbone,
                            {"pooling": "class_token_and_average"}))
        self.check(item("clip_average", "clip_vit_b_32",
                        {"pooling": "class_token_and_average"}))
        self.check(item("clip_bare", "clip_vit_b_32",
                        {"pooling": "class_token"},
                        options={"projection": 0}))

    def test_options(self):
        self.need_timm()
        for name, options in {
                "efficientnet_b0": {"bn_eps": 0.01},
                "convnext_atto": {"eps": 1e-3, "last_eps": 1e-3},
                "vit_ti_16": {"activation": "quick_gelu", "grid": 3,
                              "interpolation": "offset"}}.items():
            self.check(item("options_" + name, name, options=options))

    def test_grey_pictures(self):
        self.need_timm()
        self.check(item("grey", "resnet18", colour="grey"))

    def test_adapters_are_merged(self):
        self.need_timm()
        model = item("lora", "vit_ti_16")
        model["model"]["lora"] = {"rank": 2}
        self.check(model)

    def check_pictures(self, name, backbone, **options):
        """From files, by the code of the card as it stands."""
        model = item(name, backbone, filter="bicubic", **options)
        folder = self.export(model)
        images = self.folder / "images"
        images.mkdir(exist_ok=True)
        rng = numpy.random.default_rng(5)
        coarse = PIL.Image.fromarray(
            rng.integers(0, 256, (9, 7, 3), "uint8"))
        coarse.resize((140, 180), PIL.Image.BICUBIC).save(images / "a.png")
        rows = self.folder / "rows.npy"
        run(PROGRAM, "embed", self.folder / f"{name}.safetensors", "--images",
            images, "--out", rows, "--device", "cpu", "--threads", "1")
        code = code_of(folder).replace("picture.jpg", str(images / "a.png"))
        printed = []
        exec(code, {"print": printed.append})
        error = abs(printed[0].numpy() - numpy.load(rows)).max()
        self.assertLessEqual(error, BOUND, name)

    def test_pictures_in_torchvision(self):
        self.check_pictures("cut", "mobilenet_v2", resize=72)
        self.check_pictures("squeezed", "mobilenet_v2")

    def test_pictures_in_timm(self):
        self.need_timm()
        for resize in (0, 64, 67, 73, 146):
            self.check_pictures(f"timm_{resize}", "resnet18", resize=resize)

    def test_every_backbone(self):
        pattern = os.environ.get("KITH_TIMM_ALL", "")
        if not pattern:
            self.skipTest("KITH_TIMM_ALL is for all of them, in many minutes")
        self.need_timm()
        listed = json.loads(run(PROGRAM, "list", "backbones", "--json").stdout)
        names = [part["name"] for part in listed["backbones"]]
        for name in fnmatch.filter(names, pattern):
            patch = 14 if "14" in name else 32
            try:
                self.check(item(name, name, size=2 * patch))
            except AssertionError as error:
                if "neither timm nor torchvision" not in str(error):
                    raise
                print(f"{name}: in neither library", flush=True)


if __name__ == "__main__":
    unittest.main()
