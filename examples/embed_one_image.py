#!/usr/bin/env python3
"""Embeds one image with a network that `kith export` wrote, without kith.

usage: embed_one_image.py MODEL_FOLDER IMAGE

Reads the weights into torchvision's network and prints the embedding, one
number a line. Needs numpy, Pillow, torch and torchvision.
"""

import json
import pathlib
import struct
import sys

import numpy
import torch
import torchvision
from PIL import Image, ImageOps
from torch.nn import functional

KNOWN = ("mobilenet_v2", "resnet18", "resnet34", "resnet50", "resnet101",
         "resnet152")


def read_json(path):
    if not path.exists():
        sys.exit(f"{path} does not exist: not a folder that kith export wrote, "
                 "or it was stopped on its way; export again")
    contents = json.loads(path.read_text("utf-8"))
    if contents["format_version"] != 1:
        sys.exit(f"{path}: format version {contents['format_version']}, but "
                 "this example knows version 1; take that of a later kith")
    return contents


def read_safetensors(path):
    """Tensors by name, and the metadata: a u64 header size, a JSON header, then
    the data."""
    types = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "I64": "<i8",
             "I32": "<i4", "U8": "u1", "BOOL": "?"}
    data = pathlib.Path(path).read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:start])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = (start + offset for offset in entry["data_offsets"])
        array = numpy.frombuffer(data[begin:end], types[entry["dtype"]])
        tensors[name] = torch.from_numpy(array.reshape(entry["shape"]).copy())
    return tensors, metadata


def grey_of_16_bits(image):
    """In 8 bits, rounded to the nearest; Pillow would cut all above 255 off."""
    values = numpy.array(image).astype("int64")
    grey = ((values * 255 + 32895) >> 16).astype("uint8")
    if "transparency" in image.info:
        grey[values == image.info["transparency"]] = 255
    return Image.fromarray(grey)


def load_picture(path, options):
    """[1, 3, H, W] as preprocessing.json says."""
    with Image.open(path) as image:
        image.load()
    if image.format in ("JPEG", "MPO"):  # MPO: several JPEG pictures in a file
        image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):
        image = grey_of_16_bits(image)
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    image = fit(image.convert("RGB"), options)
    pixels = torch.from_numpy(numpy.array(image))
    if options["colour"] == "bgr":
        pixels = pixels.flip(2)
    values = pixels.float() / 255
    values = (values - torch.tensor(options["mean"])) / torch.tensor(
        options["std"])
    return values.permute(2, 0, 1).unsqueeze(0).contiguous()


def fit(image, options):
    """The picture at the network's size."""
    resample = {"bilinear": Image.Resampling.BILINEAR,
                "bicubic": Image.Resampling.BICUBIC}[options["filter"]]
    size = options["size"]
    if options["long_side"] > 0:
        probe = Image.new("L", image.size)
        probe.thumbnail((options["long_side"], options["long_side"]))
        step = options["multiple"]
        sides = [max(1, int(side / step + 0.5)) * step for side in probe.size]
        return image.resize(sides, resample)
    if options["resize"] == 0:
        return image.resize((size, size), resample)
    width, height = image.size
    short = options["resize"]
    if width <= height:
        width, height = short, int(short * height / width)
    else:
        width, height = int(short * width / height), short
    left, top = round((width - size) / 2), round((height - size) / 2)
    image = image.resize((width, height), resample)
    return image.crop((left, top, left + size, top + size))


def make_backbone(name, weights):
    """torchvision's network without its classifier: pictures to a map."""
    model = getattr(torchvision.models, name)(weights=None)
    # What is not in the file is the classifier, which kith does not have.
    missing, unexpected = model.load_state_dict(weights, strict=False)
    if unexpected or any(not key.startswith(("fc.", "classifier."))
                         for key in missing):
        sys.exit(f"the weights do not fit torchvision's {name}: "
                 f"missing {missing}, unexpected {unexpected}")
    model.eval()
    if name.startswith("resnet"):  # all but average pooling and fc
        return torch.nn.Sequential(*list(model.children())[:-2])
    return model.features


def pool(features, head):
    """[N, F, H, W] -> [N, F]"""
    mean, largest = features.mean((2, 3)), features.amax((2, 3))
    if head["pooling"] == "gem":
        p = head["gem_p"]
        powers = features.clamp_min(head["gem_minimum"]).pow(p)
        return powers.mean((2, 3)).pow(1 / p)
    return {"average": mean, "max": largest,
            "max_average": mean + largest}[head["pooling"]]


def apply_head(x, head, weights):
    """[N, F] -> [N, dim]"""
    def layer_norm(y):
        return functional.layer_norm(y, y.shape[1:],
                                     weights.get("norm.weight"),
                                     weights.get("norm.bias"),
                                     head["layer_norm_eps"])
    if head["l2_before"]:
        x = functional.normalize(x)
    if head["layer_norm"] == "before":
        x = layer_norm(x)
    x = functional.linear(x, weights["linear.weight"], weights["linear.bias"])
    if head["layer_norm"] == "after":
        x = layer_norm(x)
    return functional.normalize(x) if head["l2"] else x


def part_of(tensors, prefix):
    return {name[len(prefix):]: tensor for name, tensor in tensors.items()
            if name.startswith(prefix)}


def embed(folder, image):
    """The embedding of an image file, [dim]."""
    folder = pathlib.Path(folder)
    model = read_json(folder / "model.json")
    options = read_json(folder / "preprocessing.json")
    if model["descriptor"] != {"scales": [1], "long_side": 0, "flip": False}:
        print("note: kith's own embedding is a mean over several pictures of "
              f"the image, {model['descriptor']}; this is one picture's",
              file=sys.stderr)
    name = model["backbone"]["name"]
    if options["channels"] != 3 or name not in KNOWN:
        sys.exit(f"this example knows {', '.join(KNOWN)} on colour "
                 f"pictures, not {name} with {options['channels']} channel(s)")
    tensors, metadata = read_safetensors(folder / model["weights"]["file"])
    if (metadata.get("kith.sha256_of_tensors")
            != model["weights"]["sha256_of_tensors"]):
        sys.exit(f"{folder}: model.json and the weights are not of one export; "
                 "export again")
    with torch.no_grad():
        features = make_backbone(name, part_of(tensors, "backbone."))(
            load_picture(image, options))
        return apply_head(pool(features, model["head"]), model["head"],
                          part_of(tensors, "head."))[0]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    for value in embed(*sys.argv[1:]).tolist():
        print(f"{value:.9g}")
