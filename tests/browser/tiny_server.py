"""A small index with a model that tells its classes apart, and `kith serve`."""

import csv
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading

from browser import SKIPPED
from tiny_runs import kith

PER_CLASS, HELD_OUT = 16, 3
CLASSES = [f"glyph {i}" for i in range(9)] + [
    "glyph_9_with_a_name_that_is_longer_than_a_telephone_is_wide_and_no_space"]

# The network learns the classes it will be asked for: this is about the page.
CONFIG = """
data: {name: csv, path: glyphs/all.csv}
sampler: {batch: 40, per_class: 4}
augment: [{name: affine, degrees: 10, translate: 0.1}]
model:
  input: {size: 32}
  backbone: {name: convnet, width: 16}
  head: {dim: 32}
train: {epochs: 40}
eval: {every: 40}
"""


class TinyIndex:
    """The glyphs of CLASSES. `queries` are (path, class) of images
    that are neither trained with nor in the index, `items` of those in it, in
    its order."""

    def __init__(self, program, folder):
        self.program = program
        folder = pathlib.Path(folder)
        glyphs = folder / "glyphs"
        kith(program, "data", "make", "glyphs", "--out", glyphs, "--classes",
             len(CLASSES), "--per-class", PER_CLASS)
        with open(glyphs / "dataset.csv", encoding="utf-8") as file:
            rows = [(row["path"], int(row["label"]))
                    for row in csv.DictReader(file)]
        first = [i % PER_CLASS < PER_CLASS - HELD_OUT for i in range(len(rows))]
        kept = [row for row, keep in zip(rows, first) if keep]
        held = [row for row, keep in zip(rows, first) if not keep]
        _write_list(glyphs / "all.csv", kept, held)
        _write_list(glyphs / "gallery.csv", kept, [])
        self.items = [_named(glyphs, row) for row in kept]
        self.queries = [_named(glyphs, row) for row in held]
        (folder / "tiny.yaml").write_text(
            CONFIG.replace("glyphs/", f"{glyphs}/"), encoding="utf-8")
        self.model = folder / "tiny"
        self.index = folder / "index.faiss"
        kith(program, "train", folder / "tiny.yaml", "--out", self.model,
             "--device", "cpu", "--threads", 1)
        kith(program, "index", self.model, "--images", glyphs / "gallery.csv",
             "--out", self.index, "--device", "cpu", "--threads", 1)

    def without(self, items):
        """Another index, from which these items were removed."""
        index = self.index.with_name("less.faiss")
        for end in ("", ".items.csv", ".json"):
            shutil.copy(f"{self.index}{end}", f"{index}{end}")
        names = index.with_name("less.txt")
        names.write_text("".join(f"{path}\n" for path, _ in items),
                         encoding="utf-8")
        kith(self.program, "index", "remove", names, "--from", index)
        return index


def _named(folder, row):
    return folder / row[0], CLASSES[row[1]]


def _write_list(path, train, test):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "label", "split", "class"])
        for split, rows in (("train", train), ("test", test)):
            writer.writerows((image, label, split, CLASSES[label])
                             for image, label in rows)


class Server:
    """`kith serve` of an index, on this machine only. `index`: another one
    than the usual."""

    def __init__(self, tiny, port=0, token=None, index=None, options=()):
        environment = {name: value for name, value in os.environ.items()
                       if name != "KITH_TOKEN"}
        if token:
            environment["KITH_TOKEN"] = token
        self.process = subprocess.Popen(
            [tiny.program, "serve", "--model", tiny.model, "--index",
             index or tiny.index, "--port", str(port), "--device", "cpu",
             "--threads", "1", *options], env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.url = self._find_url()
        self.port = int(self.url.rsplit(":", 1)[1].strip("/"))
        # What it says later is not kept, but must be read.
        self._reader = threading.Thread(target=self.process.stdout.read,
                                        daemon=True)
        self._reader.start()

    def _find_url(self):
        said = ""
        for line in self.process.stdout:
            said += line
            found = re.search(r"http://127\.0\.0\.1:\d+/?", line)
            if found:
                return found.group().rstrip("/") + "/"
        if "built without Boost" in said:
            print("skipped: " + said)
            sys.exit(1 if os.environ.get("CI") == "true" else SKIPPED)
        raise RuntimeError("kith serve ended:\n" + said)

    def stop(self):
        """Its exit status; None if it is stopped already."""
        if self.process.poll() is not None:
            return None
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self._reader.join()
        self.process.stdout.close()
        return status
