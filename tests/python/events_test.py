"""The event files of a run, read without kith or TensorBoard.

usage: KITH_PROGRAM=kith python3 events_test.py [OPTION of unittest]...

The reader is written from the formats' descriptions: records with CRC-32C,
messages in the wire format of protocol buffers.
"""

import collections
import json
import os
import pathlib
import signal
import struct
import subprocess
import tempfile
import time
import unittest
import zlib

PROGRAM = os.environ["KITH_PROGRAM"]

CONFIG = """
data: {name: glyphs, classes: 12, per_class: 8}
sampler: {batch: 16, per_class: 4}
model:
  input: {size: 16}
  backbone: {name: convnet, width: 8}
  head: {dim: 16}
train: {epochs: 3}
eval: {every: 1, before: true, metrics: ["recall_any@1,2", intra, spectrum]}
"""

PHASES = ("data", "forward", "loss", "backward", "optimizer")
START = 1  # SessionLog.status


def crc32c(data):
    """Bit by bit, from the definition."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(crc):
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def read_records(data):
    """The records of a file; a last one that was cut off is left out."""
    at = 0
    while at + 12 <= len(data):
        length, length_crc = struct.unpack_from("<QI", data, at)
        assert masked(crc32c(data[at:at + 8])) == length_crc, f"byte {at}"
        end = at + 12 + length
        if end + 4 > len(data):
            return
        record = data[at + 12:end]
        record_crc, = struct.unpack_from("<I", data, end)
        assert masked(crc32c(record)) == record_crc, f"byte {at}"
        yield record
        at = end + 4


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def read_message(data):
    """Values by field number: numbers, or bytes."""
    fields = collections.defaultdict(list)
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        elif kind == 2:
            length, at = read_varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length
        else:
            raise AssertionError(f"wire type {kind}")
        fields[number].append(value)
    return fields


def one(fields, number, default=None):
    """The only value of a field."""
    values = fields[number]
    assert len(values) <= 1, f"field {number} occurs {len(values)} times"
    return values[0] if values else default


def doubles(data):
    return struct.unpack(f"<{len(data) // 8}d", data)


class Event:
    def __init__(self, record):
        fields = read_message(record)
        assert set(fields) <= {1, 2, 3, 5, 7}, sorted(fields)
        self.time = one(fields, 1)
        self.step = one(fields, 2, 0)
        self.version = one(fields, 3)
        self.values = {}
        for value in read_message(one(fields, 5, b""))[1]:
            value = read_message(value)
            tag = one(value, 1).decode()
            assert tag not in self.values, tag
            self.values[tag] = value
        session = one(fields, 7)
        self.starts = (session is not None
                       and one(read_message(session), 1) == START)


def event_files(run):
    return sorted(run.glob("events.out.tfevents.*"))


def read_events(path):
    return [Event(record) for record in read_records(path.read_bytes())]


def shown(run):
    """(step, value message) by tag, as TensorBoard shows a folder: files in
    the order of their names, and a start drops what it begins anew."""
    points = collections.defaultdict(list)
    for path in event_files(run):
        for event in read_events(path):
            if event.starts:
                for tag in points:
                    points[tag] = [p for p in points[tag]
                                   if p[0] < event.step]
            for tag, value in event.values.items():
                points[tag].append((event.step, value))
    return points


def scalars(points, tag):
    return {step: one(value, 2) for step, value in points[tag]}


def read_log(run):
    lines = (run / "log.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    return ([r for r in records if r["kind"] == "step"],
            [r for r in records if r["kind"] == "eval"])


def float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


class Events(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.run_folder = self.folder / "run"
        (self.folder / "tiny.yaml").write_text(CONFIG)

    def arguments(self, *more):
        return [PROGRAM, "train", self.folder / "tiny.yaml", "--out",
                self.run_folder, "--device", "cpu", "--threads", "1", *more]

    def train(self, *more):
        result = subprocess.run(self.arguments(*more), capture_output=True,
                                text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def train_and_kill(self, lines, *more):
        """Kills the training once its log has this many lines."""
        log = self.run_folder / "log.jsonl"
        process = subprocess.Popen(self.arguments(*more),
                                   stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        while not log.exists() or log.read_bytes().count(b"\n") < lines:
            self.assertIsNone(process.poll(), "it ended before the kill")
            time.sleep(0.002)
        process.kill()
        self.assertEqual(process.wait(), -signal.SIGKILL)

    def check_steps(self, points, steps):
        """Every logged step is there once, with the numbers of the log."""
        def check(tag, value_of, exact=True):
            self.assertEqual([step for step, _ in points[tag]],
                             [record["step"] for record in steps], tag)
            values = scalars(points, tag)
            for record in steps:
                value = value_of(record)
                if exact:
                    self.assertEqual(values[record["step"]], float32(value))
                else:  # the log has microseconds
                    self.assertAlmostEqual(values[record["step"]], value,
                                           delta=2e-6 + 1e-6 * value)
        check("train/loss", lambda r: r["loss"])
        check("train/learning_rate", lambda r: r["lr"])
        check("train/gradient_norm", lambda r: r["grad_norm"])
        for phase in PHASES:
            check("time/" + phase, lambda r: r["seconds"][phase], exact=False)
            check("memory/" + phase, lambda r: r["peak_mb"][phase])
        check("time/step", lambda r: r["seconds"]["total"], exact=False)
        check("memory/peak", lambda r: max(r["peak_mb"].values()))
        speed = scalars(points, "time/images_per_second")
        for record in steps:
            expected = record["images"] / record["seconds"]["total"]
            self.assertAlmostEqual(speed[record["step"]] / expected, 1,
                                   delta=0.01)
        known = {"kind", "epoch", "step", "loss", "lr", "grad_norm", "images",
                 "seconds", "peak_mb"}
        for name in set(steps[0]) - known:  # what the loss says of itself
            check("train/" + name, lambda r: r[name])

    def check_evaluations(self, points, evals):
        for name, number in evals[0]["metrics"]["metrics"].items():
            if isinstance(number, list):
                self.assertNotIn("eval/test/" + name, points)
                continue
            self.assertEqual(
                [(step, one(value, 2)) for step, value in
                 points["eval/test/" + name]],
                [(e["step"], float32(e["metrics"]["metrics"][name]))
                 for e in evals], name)
        seconds = scalars(points, "time/evaluation")
        for record in evals:
            self.assertAlmostEqual(seconds[record["step"]], record["seconds"],
                                   delta=1e-5 + 1e-6 * record["seconds"])

    def check_examples(self, value, rows):
        """A PNG of `rows` queries and six items each, of 64 pixels."""
        picture = read_message(one(value, 4))
        height, width = one(picture, 1), one(picture, 2)
        self.assertEqual((height, width), (4 + rows * 68, 4 + 7 * 68))
        self.assertEqual(one(picture, 3), 3)
        png = one(picture, 4)
        self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
        at, pixels = 8, b""
        while at < len(png):
            length, kind = struct.unpack_from(">I4s", png, at)
            body = png[at + 8:at + 8 + length]
            if kind == b"IHDR":
                self.assertEqual(struct.unpack_from(">IIBB", body),
                                 (width, height, 8, 2))  # RGB
            elif kind == b"IDAT":
                pixels += body
            at += 12 + length
        self.assertEqual(kind, b"IEND")
        self.assertEqual(len(zlib.decompress(pixels)),
                         height * (1 + 3 * width))

    def check_histogram(self, value, pairs):
        histogram = read_message(one(value, 5))
        low, high, count, total, squares = (one(histogram, i)
                                            for i in range(1, 6))
        limits = doubles(one(histogram, 6))
        buckets = doubles(one(histogram, 7))
        self.assertEqual(count, pairs)
        self.assertEqual(sum(buckets), pairs)
        self.assertEqual(len(limits), len(buckets))
        self.assertEqual(list(limits), sorted(set(limits)))
        self.assertGreaterEqual(low, -1)
        self.assertLess(low, limits[0])
        self.assertEqual(high, limits[-1])
        self.assertLessEqual(high, 1)
        self.assertGreater(buckets[0], 0)
        self.assertGreater(buckets[-1], 0)
        mean = total / count
        self.assertTrue(low <= mean <= high)
        self.assertGreaterEqual(squares / count, mean * mean - 1e-12)

    def test_a_run(self):
        begin = time.time()
        result = self.train()
        path, = event_files(self.run_folder)
        self.assertRegex(path.name, r"^events\.out\.tfevents\.\d{10}\..+\.\d+$")
        events = read_events(path)
        self.assertEqual(events[0].version, b"brain.Event:2")
        self.assertTrue(events[1].starts)
        self.assertEqual(events[1].step, 0)
        times = [event.time for event in events]
        self.assertEqual(times, sorted(times))
        self.assertTrue(begin - 1 <= times[0] and times[-1] <= time.time() + 1)

        points = shown(self.run_folder)
        steps, evals = read_log(self.run_folder)
        self.assertEqual([r["step"] for r in steps], list(range(1, 10)))
        self.assertEqual([(r["epoch"], r["step"]) for r in evals],
                         [(0, 0), (1, 3), (2, 6), (3, 9)])
        self.check_steps(points, steps)
        self.check_evaluations(points, evals)
        metrics = json.loads((self.run_folder / "metrics.json").read_text())
        self.assertEqual([(p["epoch"], p["step"], p["metrics"])
                          for p in metrics["history"]],
                         [(r["epoch"], r["step"], r["metrics"]["metrics"])
                          for r in evals])
        self.assertGreater(metrics["best"]["epoch"], 0)

        # Six classes of eight: 48 queries, seven right answers each.
        for tag, pairs in (("positive", 48 * 7), ("negative", 48 * 40)):
            histograms = points["eval/test/similarity/" + tag]
            self.assertEqual([step for step, _ in histograms], [0, 3, 6, 9])
            for _, value in histograms:
                self.check_histogram(value, pairs)
        self.assertEqual([s for s, _ in points["eval/test/examples"]], [0, 3, 6, 9])
        for _, value in points["eval/test/examples"]:
            self.check_examples(value, rows=8)

        # What was said meanwhile: a table after each evaluation.
        self.assertIn("before training: test split, protocol", result.stderr)
        self.assertRegex(result.stderr,
                         r"after epoch 2, step 6: test split, protocol standard\n"
                         r"  metric +value +change +best +epoch\n"
                         r"  recall_any@1 +\d+\.\d\d% +[+-]\d+\.\d\d ")
        self.assertNotIn("\r", result.stderr)  # no bar without a terminal

    def test_pictures_can_be_fewer_or_left_out(self):
        self.train("--set", "log.examples=2", "--set", "log.every=2",
                   "--set", "eval.before=false", "--set", "eval.every=0")
        points = shown(self.run_folder)
        (step, value), = points["eval/test/examples"]
        self.assertEqual(step, 9)
        self.check_examples(value, rows=2)
        self.assertEqual([s for s, _ in points["train/loss"]], [2, 4, 6, 8])
        self.run_folder = self.folder / "other"
        self.train("--set", "log.examples=0", "--set", "train.epochs=1")
        self.assertNotIn("eval/test/examples", shown(self.run_folder))

    def test_a_killed_run(self):
        """Steps after the last checkpoint are logged, lost and taken again:
        each is shown once."""
        long_run = ("--set", "train.epochs=30", "--set", "eval.every=10",
                    "--set", "train.checkpoint_steps=7")
        self.train_and_kill(20, *long_run)
        self.train_and_kill(45, *long_run, "--resume")
        self.train(*long_run, "--resume")
        files = event_files(self.run_folder)
        self.assertEqual(len(files), 3)
        starts = [event.step for path in files for event in read_events(path)
                  if event.starts]
        self.assertEqual(starts[0], 0)
        self.assertEqual(starts, sorted(set(starts)))
        points = shown(self.run_folder)
        steps, evals = read_log(self.run_folder)
        self.assertEqual([r["step"] for r in steps], list(range(1, 91)))
        self.assertEqual([r["step"] for r in evals], [0, 30, 60, 90])
        self.check_steps(points, steps)
        self.check_evaluations(points, evals)

        # Ended is ended: no file for nothing.
        self.train(*long_run, "--resume")
        self.assertEqual(event_files(self.run_folder), files)


if __name__ == "__main__":
    unittest.main()
