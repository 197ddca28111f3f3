#!/usr/bin/env python3
"""Makes the pictures of this folder with Pillow and torchvision.

usage: make.py     writes the files next to itself

tests/data/pillow_test.cpp makes the same sources by formula, does the same to
them and compares. The files were made with Pillow 9.4 and torchvision 0.14.1.
"""

import pathlib

import numpy
from PIL import Image
from torchvision import transforms
from torchvision.transforms import functional

HERE = pathlib.Path(__file__).parent
FILTERS = {"bilinear": functional.InterpolationMode.BILINEAR,
           "bicubic": functional.InterpolationMode.BICUBIC}

# name: source (width, height, channels), resize, size
INPUTS = {"down": (300, 200, 3, 72, 64), "odd": (300, 200, 1, 40, 33),
          "portrait": (47, 61, 3, 31, 24), "up": (61, 47, 3, 80, 56)}
# name: source, box (left, top, width, height), size
BOXES = {"down": (300, 200, 3, 37, 21, 151, 112, 48),
         "up": (300, 200, 3, 268, 177, 32, 23, 48),
         "grey": (61, 47, 1, 0, 5, 61, 30, 40)}
# change: amounts
COLOURS = {"brightness": (0.6, 1.5), "contrast": (0.5, 1.7),
           "saturation": (0.3, 1.8), "hue": (0.1, -0.37, 0.5)}


def pattern(width, height, channels):
    """Slopes, edges and some noise, by formula; an array [H, W, C]."""
    y, x, c = numpy.meshgrid(numpy.arange(height), numpy.arange(width),
                             numpy.arange(channels), indexing="ij")
    noise = ((x * 31 + y * 17 + c * 13) ^ (x * y)) % 23
    values = x * (3 + c) + y * (5 - c) + x * y // (7 + c) + noise
    return (values & 255).astype(numpy.uint8)


def picture(width, height, channels):
    return Image.fromarray(pattern(width, height, channels).squeeze())


def save(name, image):
    image.save(HERE / f"{name}.png", optimize=True)


def make_resized():
    for name, (w, h, c, resize, size) in INPUTS.items():
        for filter_name, mode in FILTERS.items():
            steps = transforms.Compose([transforms.Resize(resize, mode),
                                        transforms.CenterCrop(size)])
            save(f"input_{name}_{filter_name}", steps(picture(w, h, c)))
    save("center_crop", transforms.CenterCrop(52)(picture(61, 47, 3)))
    for name, (w, h, c, left, top, bw, bh, size) in BOXES.items():
        for filter_name, mode in FILTERS.items():
            save(f"box_{name}_{filter_name}", functional.resized_crop(
                picture(w, h, c), top, left, bh, bw, [size, size], mode))


def make_colours():
    adjust = {name: getattr(functional, f"adjust_{name}") for name in COLOURS}
    for channels, kind in ((3, "rgb"), (1, "grey")):
        for name, amounts in COLOURS.items():
            for i, amount in enumerate(amounts):
                if channels == 1 and name in ("saturation", "hue"):
                    continue
                save(f"{kind}_{name}_{i}",
                     adjust[name](picture(61, 47, channels), amount))


def make_jpegs():
    kinds = {"420": {"subsampling": 2}, "422": {"subsampling": 1},
             "444": {"subsampling": 0},
             "progressive": {"subsampling": 2, "progressive": True}}
    # A smoother picture, of which JPEG keeps something.
    smooth = picture(61, 47, 3).resize((97, 75), Image.BICUBIC)
    for name, options in kinds.items():
        smooth.save(HERE / f"{name}.jpg", quality=85, **options)
    smooth.convert("L").save(HERE / "grey.jpg", quality=85)
    for name in [*kinds, "grey"]:
        with Image.open(HERE / f"{name}.jpg") as image:
            save(f"jpeg_{name}", image)


if __name__ == "__main__":
    make_resized()
    make_colours()
    make_jpegs()
