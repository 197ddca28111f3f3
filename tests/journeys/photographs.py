"""Small pictures in colour, drawn without any library: a class is a shape of one
colour on a ground of another, and its pictures differ in place, size and light."""

import colorsys
import math
import pathlib
import random
import struct
import zlib


def write_png(path, rows):
    """rows: of (r, g, b) each, 0 to 255."""
    height, width = len(rows), len(rows[0])
    data = b"".join(b"\0" + bytes(value for pixel in row for value in pixel)
                    for row in rows)

    def chunk(kind, body):
        return (struct.pack(">I", len(body)) + kind + body
                + struct.pack(">I", zlib.crc32(kind + body)))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
                     + chunk(b"IDAT", zlib.compress(data, 1))
                     + chunk(b"IEND", b""))


def draw(path, kind, number, size=48):
    """Picture `number` of class `kind`. Files are told apart by their content,
    so the name may end in .jpg."""
    rng = random.Random(f"{kind}/{number}")
    look = random.Random(kind)
    ground = colorsys.hsv_to_rgb(look.random(), 0.5, 0.6)
    shape = colorsys.hsv_to_rgb(look.random(), 0.9, 0.9)
    corners = look.randrange(2, 6)
    x, y = (size * rng.uniform(0.4, 0.6) for _ in range(2))
    radius, turn = size * rng.uniform(0.25, 0.35), rng.uniform(0, 0.5)
    light = rng.uniform(0.8, 1.1)
    rows = []
    for row in range(size):
        rows.append([])
        for column in range(size):
            angle = math.atan2(row - y, column - x) + turn
            edge = radius * (0.75 + 0.25 * math.cos(corners * angle))
            inside = math.hypot(row - y, column - x) < edge
            shade = light * (0.8 + 0.2 * row / size) * rng.uniform(0.95, 1.05)
            rows[-1].append(tuple(min(255, int(255 * value * shade))
                                  for value in (shape if inside else ground)))
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_png(path, rows)


def draw_folder(folder, classes, per_class, first=0):
    """One folder per class, as FOLDER/<class>/<number>.jpg."""
    for kind in classes:
        for number in range(first, first + per_class):
            draw(pathlib.Path(folder, kind, f"{number}.jpg"), kind, number)
