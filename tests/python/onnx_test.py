"""What `kith export --onnx` writes, in clients of ONNX: embeddings are within
1e-4 of kith's, for one picture and for seven.

usage: KITH_PROGRAM=kith KITH_TEST_PROGRAM=kith_for_python
           python3 onnx_test.py [OPTION of unittest]...

The clients are onnx's checker, OpenCV's dnn, and onnxruntime: that of Python
where it is installed, else that of node, which is fetched once to the folder
KITH_ONNX_NODE. A client that is not there is left out, and the test says so.
KITH_ONNX_ALL=PATTERNS ("*", "resnet* vit_*", "* -*7b*" without some) takes
backbones of `kith list backbones` as they are, beside a small one of each
family: KITH_ONNX_JOBS at a time, with pictures of KITH_ONNX_SIZE pixels if that
is set and not of those that they are for.

Exit status 77 (skipped) without Python's onnx; in CI (CI=true) it must be there.
"""

import concurrent.futures
import fnmatch
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import find_python

find_python.need("numpy", "onnx")

import numpy
import onnx

PROGRAM = os.environ["KITH_PROGRAM"]
HERE = pathlib.Path(__file__).parent
BOUND = 1e-4

SMALL_VIT = {"name": "vit", "patch": 8, "width": 32, "depth": 2, "heads": 2,
             "hidden": 48, "layer_scale": 0.7}


def vit(**options):
    return SMALL_VIT | options


# One of each family, with every option that changes what is computed.
BACKBONES = {
    "convnet": {"name": "convnet", "width": 32},
    "mlp": {"name": "mlp", "hidden": [24, 16], "activation": "tanh"},
    "resnet": {"name": "resnet", "block": "basic", "depths": [1, 1],
               "widths": [8, 16], "stem": 8},
    "resnet_groups": {"name": "resnet", "depths": [1, 1], "widths": [16, 32],
                      "stem": 8, "groups": 4, "width_per_group": 16},
    "resnet_corner": {"name": "resnet", "depths": [1, 1], "widths": [8, 8],
                      "stem": 8, "stride": "1x1", "pool": "corner"},
    "mobilenet_v2": {"name": "mobilenet_v2"},
    "mobilenet_v3": {"name": "mobilenet_v3_small"},
    "mobilenet_v3_tf": {"name": "tf_mobilenetv3_small_100"},
    "efficientnet": {"name": "efficientnet_b0"},
    "efficientnet_tf": {"name": "tf_efficientnet_b0"},
    "efficientnet_v2": {
        "name": "efficientnet", "stem": 8, "depths": [1, 2, 1],
        "widths": [8, 16, 24], "expand": [1, 4, 4], "kernels": [3, 3, 3],
        "strides": [1, 2, 2], "fused": 2, "last": 48, "padding": "even"},
    "regnet_x": {"name": "regnet", "stem": 8, "depths": [1, 2],
                 "widths": [16, 32], "group_width": 8, "squeeze": 0},
    "regnet_y": {"name": "regnety_002"},
    "convnext": {"name": "convnext_atto", "layer_scale": 0.5},
    "convnext_v2": {"name": "convnext_v2_atto"},
    "convnext_dinov3": {"name": "convnext", "depths": [1, 1],
                        "widths": [16, 32], "layer_scale": 0.5,
                        "norm_map": True},
    "googlenet": {"name": "googlenet"},
    "bn_inception": {"name": "bn_inception"},
    "inception_v1": {"name": "inception_v1"},
    "vit": vit(),
    "vit_other_grid": vit(grid=3),
    "vit_offset": vit(grid=3, interpolation="offset"),
    "vit_swiglu": vit(mlp="swiglu", registers=2, prefix_positions=False),
    "vit_rotary": vit(positions="rotary", qkv_bias="no_key", registers=4),
    "vit_clip": vit(pre_norm=True, projection=24, activation="quick_gelu"),
    "vit_siglip": vit(class_token=False, token="attention_pool",
                      activation="gelu_tanh"),
    "vit_unicom": vit(class_token=False, token="joined", projection=24,
                      activation="relu6", qkv_bias="none"),
}

# Pictures of another size change more than sizes in these.
ONE_SIZE = {"mlp", "mobilenet_v3_tf", "efficientnet_tf", "bn_inception"}

HEADS = {
    "average": {"pooling": "average", "layer_norm": "before"},
    "max": {"pooling": "max", "l2_before": True},
    "max_average": {"pooling": "max_average", "layer_norm": "after"},
    "class_token": {"pooling": "class_token", "layer_norm": "after",
                    "layer_norm_affine": False},
    "class_token_and_average": {"pooling": "class_token_and_average"},
    "bare": {"pooling": "average", "dim": 0},
    "no_l2": {"pooling": "gem", "l2": False},
}


def item(name, backbone, head=None, size=32, **more):
    model = {"input": {"size": size, "colour": "rgb"}, "backbone": backbone,
             "head": {"dim": 16} | (head or {})}
    return {"name": name, "model": model} | more


def models():
    """What is exported, by name."""
    fixed = {"size": "fixed"}
    for name, backbone in BACKBONES.items():
        size = 32 if name.startswith(("vit", "mlp")) else 64
        yield item(name, backbone, size=size, onnx=fixed)
    for name, head in HEADS.items():
        has_token = name.startswith("class_token")
        backbone = BACKBONES["vit" if has_token else "resnet"]
        yield item("head_" + name, backbone, head, onnx=fixed)
    # Of any size.
    for name in ("convnet", "resnet", "mobilenet_v2", "efficientnet",
                 "efficientnet_v2", "regnet_y", "convnext_v2", "googlenet"):
        yield item("any_" + name, BACKBONES[name], size=64, other_size=True)
    for name in sorted(ONE_SIZE):
        size = 32 if name == "mlp" else 64
        yield item("one_" + name, BACKBONES[name], size=size)
    # Other inputs and weights.
    yield item("bytes", BACKBONES["resnet"], onnx={"input": "uint8"},
               other_size=True)
    bgr = item("bytes_bgr", BACKBONES["resnet"],
               onnx={"input": "uint8", "size": "fixed"})
    bgr["model"]["input"] |= {"colour": "bgr", "mean": [0.4, 0.5, 0.6],
                              "std": [0.2, 0.3, 0.1]}
    yield bgr
    grey = item("grey", BACKBONES["convnet"], onnx=fixed)
    grey["model"]["input"]["colour"] = "grey"
    yield grey
    yield item("half", BACKBONES["mobilenet_v2"], size=64,
               onnx={"weights": "float16", "size": "fixed"})
    adapters = item("lora", BACKBONES["vit"], onnx=fixed)
    adapters["model"]["lora"] = {"rank": 2}
    yield adapters
    yield item("flipped", BACKBONES["convnet"], checkpoint=True, size=16,
               eval={"flip": True})
    yield {"name": "own", "model": {"own": True}, "onnx": {}}
    # As they are used.
    yield item("mobilenet_v2_224", BACKBONES["mobilenet_v2"], {"dim": 128},
               size=224, checkpoint=True)
    yield item("vit_ti_16", {"name": "vit_ti_16"}, {"pooling": "class_token"},
               size=224, checkpoint=True)


def run(*arguments):
    result = subprocess.run([*map(str, arguments)], text=True,
                            capture_output=True, check=False)
    if result.returncode != 0:
        raise AssertionError(f"{arguments}: {result.stderr}")
    return result


def write_png(path, pixels):
    """uint8 [H, W, 3], with nothing but Python."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class PythonRuntime:
    """Python's onnxruntime."""

    def __init__(self, module):
        self.module = module

    def run(self, jobs):
        loaded = None
        for model, images in jobs:
            if model != loaded:
                options = self.module.SessionOptions()
                options.intra_op_num_threads = 1
                options.log_severity_level = 3
                session = self.module.InferenceSession(
                    str(model), options, providers=["CPUExecutionProvider"])
                loaded = model
            yield session.run(["embeddings"], {"images": images})[0]


class NodeRuntime:
    """That of node, in one process for all jobs."""

    def __init__(self, node_path):
        self.node_path = node_path

    def run(self, jobs):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            described = []
            for i, (model, images) in enumerate(jobs):
                source, target = folder / f"{i}.in", folder / f"{i}.out"
                source.write_bytes(numpy.ascontiguousarray(images).tobytes())
                described.append({
                    "model": str(model), "type": str(images.dtype),
                    "dims": images.shape, "input": str(source),
                    "output": str(target), "repeat": 0})
            (folder / "jobs.json").write_text(json.dumps(described), "utf-8")
            result = subprocess.run(
                ["node", HERE / "onnx_client.js", folder / "jobs.json"],
                env=os.environ | {"NODE_PATH": str(self.node_path)}, text=True,
                capture_output=True, check=False)
            if result.returncode != 0:
                raise AssertionError(result.stderr)
            for i, line in enumerate(result.stdout.splitlines()):
                dims = json.loads(line)["dims"]
                yield numpy.frombuffer((folder / f"{i}.out").read_bytes(),
                                       "float32").reshape(dims)


def node_modules():
    """The folder with node's onnxruntime, or None."""
    folder = pathlib.Path(os.environ.get("KITH_ONNX_NODE", "onnxruntime"))
    modules = folder / "node_modules"
    if (modules / "onnxruntime-node").is_dir():
        return modules
    if not shutil.which("node") or not shutil.which("npm"):
        return None
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text("{}", "utf-8")
    # Its scripts would fetch libraries for GPUs.
    command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund",
               "--fetch-retries", "0", "onnxruntime-node@1"]
    try:
        subprocess.run(command, cwd=folder, capture_output=True, check=True,
                       timeout=200)
        return modules
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        shutil.rmtree(modules, ignore_errors=True)
        print(f"npm fetches no onnxruntime-node: {error}")
        return None


def find_runtime():
    try:
        import onnxruntime
        return PythonRuntime(onnxruntime)
    except ImportError:
        modules = node_modules()
        return NodeRuntime(modules) if modules else None


def pairs_of(folder, name):
    """Pictures and kith's embeddings of them."""
    for images in sorted(folder.glob(name + ".*.images.npy")):
        embeddings = str(images).replace(".images.", ".embeddings.")
        yield numpy.load(images), numpy.load(embeddings)


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.models = {model["name"]: model for model in models()}
        cls.write(cls.models.values())
        cls.runtime = find_runtime()

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def write(cls, items):
        path = cls.folder / "models.json"
        path.write_text(json.dumps({"models": list(items)}), "utf-8")
        run(os.environ["KITH_TEST_PROGRAM"], "onnx", cls.folder, path)

    def need_runtime(self):
        if self.runtime is None:
            self.skipTest("no onnxruntime: neither Python's nor node's")

    def check(self, name, found, expected):
        """Of unit vectors, and of others by the largest number."""
        self.assertEqual(found.shape, expected.shape, name)
        size = max(1, abs(expected).max())
        error = abs(found - expected).max() / size
        self.assertLessEqual(error, BOUND, name)
        return error

    def check_pictures_differ(self, name, embeddings):
        if len(embeddings) == 7:
            size = max(1, abs(embeddings).max())
            self.assertGreater(abs(embeddings[0] - embeddings[1]).max() / size,
                               20 * BOUND, name)

    def test_checker(self):
        for name in self.models:
            model = onnx.load(self.folder / f"{name}.onnx")
            onnx.checker.check_model(model, full_check=True)
            self.assertEqual(model.opset_import[0].version, 10)
            self.assertEqual([i.name for i in model.graph.input], ["images"])
            self.assertEqual([o.name for o in model.graph.output],
                             ["embeddings"])

    def test_sizes(self):
        def shape(name):
            model = onnx.load(self.folder / f"{name}.onnx")
            dims = model.graph.input[0].type.tensor_type.shape.dim
            return [d.dim_param or d.dim_value for d in dims]

        self.assertEqual(shape("resnet"), ["batch", 3, 64, 64])
        self.assertEqual(shape("bytes"), ["batch", "height", "width", 3])
        for name in self.models:
            if name.startswith("any_"):
                self.assertEqual(shape(name),
                                 ["batch", 3, "height", "width"], name)
            if name.startswith("one_"):
                size = self.models[name]["model"]["input"]["size"]
                self.assertEqual(shape(name), ["batch", 3, size, size], name)

    def test_half_weights(self):
        model = onnx.load(self.folder / "half.onnx")
        kernels = [c for c in model.graph.initializer if len(c.dims) > 1]
        self.assertTrue(all(c.data_type == onnx.TensorProto.FLOAT16
                            for c in kernels))
        full = (self.folder / "mobilenet_v2.onnx").stat().st_size
        self.assertLess((self.folder / "half.onnx").stat().st_size, 0.55 * full)

    def test_onnxruntime(self):
        self.need_runtime()
        jobs, expected = [], []
        for name in self.models:
            for images, embeddings in pairs_of(self.folder, name):
                jobs.append((self.folder / f"{name}.onnx", images))
                expected.append((name, embeddings))
        errors = {}
        for (name, embeddings), found in zip(expected,
                                             self.runtime.run(jobs)):
            if name == "half":
                # Weights of 11 bits: another network, and one as good.
                cosine = (found * embeddings).sum(1)
                self.assertGreater(cosine.min(), 0.999)
                continue
            error = self.check(name, found, embeddings)
            errors[name] = max(error, errors.get(name, 0))
            self.check_pictures_differ(name, embeddings)
        print("largest differences:", {name: f"{error:.1e}" for name, error
                                       in sorted(errors.items())})

    def test_opencv(self):
        try:
            import cv2
        except ImportError:
            self.skipTest("no OpenCV for Python")
        # 4.6 lacks operators of vision transformers and ConvNeXt, and wants the
        # size of pictures free.
        names = [name for name in self.models if name.startswith("any_")]
        names.remove("any_convnext_v2")
        for name in [*names, "mobilenet_v2_224"]:
            for images, embeddings in pairs_of(self.folder, name):
                net = cv2.dnn.readNetFromONNX(
                    str(self.folder / f"{name}.onnx"))
                net.setInput(images)
                self.check(name, net.forward(), embeddings)

    def test_program(self):
        """From files of pictures, by the program's own commands."""
        self.need_runtime()
        images = self.folder / "images"
        images.mkdir(exist_ok=True)
        rng = numpy.random.default_rng(5)
        pixels = rng.integers(0, 256, (7, 224, 224, 3), "uint8")
        for i, picture in enumerate(pixels):
            write_png(images / f"{i}.png", picture)
        jobs, expected = [], []
        for name in ("mobilenet_v2_224", "vit_ti_16"):
            model = self.folder / f"{name}.safetensors"
            rows = self.folder / "rows.npy"
            run(PROGRAM, "embed", model, "--images", images, "--out", rows,
                "--device", "cpu", "--threads", "1")
            place = self.folder / f"{name}_export"
            run(PROGRAM, "export", model, "--out", place, "--onnx",
                "--onnx-input", "uint8")
            for batch in (1, 7):
                jobs.append((place / "model.onnx", pixels[:batch]))
                expected.append((name, numpy.load(rows)[:batch]))
            triton = self.folder / f"{name}_triton"
            run(PROGRAM, "export", model, "--out", triton, "--triton")
            config = (triton / "config.pbtxt").read_text("utf-8")
            self.assertIn(f'name: "{triton.name}"', config)
            self.assertTrue((triton / "1" / "model.onnx").is_file())
        for (name, embeddings), found in zip(expected, self.runtime.run(jobs)):
            self.check(name, found, embeddings)
        model = onnx.load(place / "model.onnx")
        metadata = {p.key: p.value for p in model.metadata_props}
        self.assertEqual(metadata["metric"], "cosine")
        self.assertEqual(metadata["dim"], "16")
        self.assertEqual(json.loads(metadata["preprocessing"]),
                         json.loads((place / "preprocessing.json")
                                    .read_text("utf-8")))

    def test_means_over_several_pictures(self):
        result = run(PROGRAM, "export", self.folder / "flipped.safetensors",
                     "--out", self.folder / "flipped", "--onnx")
        self.assertIn("the ONNX model embeds one picture", result.stderr)


def chosen_backbones(patterns):
    """Those of `kith list backbones` that are wanted, and those left out."""
    listed = json.loads(run(PROGRAM, "list", "backbones", "--json").stdout)
    wanted = [p for p in patterns.split() if not p.startswith("-")]
    unwanted = [p[1:] for p in patterns.split() if p.startswith("-")]

    def any_of(name, those):
        return any(fnmatch.fnmatch(name, pattern) for pattern in those)

    found = [part for part in listed["backbones"]
             if any_of(part["name"], wanted)]
    left = [part for part in found if any_of(part["name"], unwanted)]
    return [part for part in found if part not in left], left


def size_for(backbone):
    """KITH_ONNX_SIZE in whole patches; 0: that of its weights."""
    size = int(os.environ.get("KITH_ONNX_SIZE", "0"))
    options = {option["name"]: option for option in backbone["options"]}
    if "patch" not in options:
        return size
    # A ViT whose weights fix the size; ConvNeXt has patches and no token.
    if options.get("token", {}).get("default") == "joined":
        return 0
    patch = int(options["patch"]["default"])
    return size // patch * patch


@unittest.skipUnless(os.environ.get("KITH_ONNX_ALL"),
                     "KITH_ONNX_ALL is for all of them, in many minutes")
class EveryBackbone(unittest.TestCase):
    def errors_of(self, backbone, runtime):
        """By batch the difference and what kith itself rounds off; and bytes."""
        model = {"backbone": {"name": backbone["name"]}, "head": {"dim": 16}}
        if size_for(backbone) > 0:
            model["input"] = {"size": size_for(backbone)}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "models.json").write_text(json.dumps({"models": [
                {"name": "all", "exact": True, "model": model}]}), "utf-8")
            run(os.environ["KITH_TEST_PROGRAM"], "onnx", folder,
                folder / "models.json")
            path = folder / "all.onnx"
            onnx.checker.check_model(str(path))
            jobs, expected = zip(*(((path, images), embeddings) for
                                   images, embeddings in pairs_of(folder, "all")))
            exact = [numpy.load(file) for file in
                     sorted(folder.glob("all.*.exact.npy"))]
            assert [len(rows) for rows in exact] == [1, 7]
            errors = [(abs(found - truth).max(), abs(kith - truth).max())
                      for found, kith, truth in
                      zip(runtime.run(jobs), expected, exact)]
            size = sum(file.stat().st_size for file in folder.glob("all.onnx*"))
            return errors, size

    def test_every_backbone(self):
        runtime = find_runtime()
        if runtime is None:
            self.skipTest("no onnxruntime: neither Python's nor node's")
        chosen, left = chosen_backbones(os.environ["KITH_ONNX_ALL"])
        print("left out:", " ".join(part["name"] for part in left) or "none",
              flush=True)
        jobs = int(os.environ.get("KITH_ONNX_JOBS", "1"))
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            running = {pool.submit(self.errors_of, part, runtime): part["name"]
                       for part in chosen}
            for done in concurrent.futures.as_completed(running):
                name = running[done]
                with self.subTest(name):
                    errors, size = done.result()
                    print(f"{name}: {max(errors)[0]:.1e}, {size / 1e6:.0f} MB",
                          flush=True)
                    for error, own in errors:
                        # The largest random networks round off more than that.
                        self.assertLessEqual(error, max(BOUND, 4 * own))


if __name__ == "__main__":
    unittest.main()
