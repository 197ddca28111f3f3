"""What the tests of `kith serve` share: an index, and servers of it."""

import contextlib
import csv
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

PROGRAM = os.environ["KITH_PROGRAM"]
SKIPPED = 77

CONFIG = """
data: {name: csv, path: %s}
sampler: {batch: 16, per_class: 4}
model:
  input: {size: 16}
  backbone: {name: convnet, width: 8}
  head: {dim: 16}
train: {epochs: 1}
"""

def kith(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], text=True,
                          capture_output=True, check=False)


class Shared:
    """Filled by prepared()."""

    folder = None
    model = None
    index = None
    pictures = None  # the files of the items, by position


shared = Shared()


@contextlib.contextmanager
def prepared():
    """With a model that was trained, and an index of its pictures."""
    if "no kith serve" in kith("--version").stdout:
        print("skipped: kith was built without Boost")
        sys.exit(1 if os.environ.get("CI") == "true" else SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        fill(pathlib.Path(folder))
        yield


def fill(folder):
    data, model, index = folder / "data", folder / "run", folder / "index"
    (folder / "tiny.yaml").write_text(CONFIG % data, encoding="utf-8")
    on_cpu = ["--device", "cpu", "--threads", 1]
    for command in (
            ["data", "make", "glyphs", "--out", data, "--classes", 12,
             "--per-class", 8],
            ["train", folder / "tiny.yaml", "--out", model, *on_cpu],
            ["index", model, "--images", data / "dataset.csv", "--out", index,
             *on_cpu]):
        done = kith(*command)
        if done.returncode != 0:
            raise RuntimeError(f"kith {command}: {done.stderr}")
    shared.folder, shared.model, shared.index = folder, model, index
    with open(f"{index}.items.csv", encoding="utf-8") as file:
        shared.pictures = [pathlib.Path(row["path"]).read_bytes()
                           for row in csv.DictReader(file)]


class Server:
    """A server of the index, or another one, on a free port."""

    def __init__(self, *arguments, token=None, index=None, model=None):
        environment = {name: value for name, value in os.environ.items()
                       if name != "KITH_TOKEN"}
        if token:
            environment["KITH_TOKEN"] = token
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--model", model or shared.model, "--index",
             index or shared.index, "--port", "0", "--device", "cpu", "--threads",
             "1", *arguments],
            env=environment, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        line = self.process.stdout.readline()
        found = re.search(r"http://\[?([0-9.:]+?)\]?:(\d+)/", line)
        if not found:
            raise RuntimeError(f"{line}: {self.process.stderr.read()}")
        self.host, self.port = found.group(1), int(found.group(2))

    def stop(self):
        """The exit status, and what it said."""
        self.process.send_signal(signal.SIGTERM)
        try:
            _, said = self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.end()
            raise
        return self.process.returncode, said

    def end(self):
        """For the end of a test, whatever became of it."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=20)

    def ask(self, method, target, body=None, **fields):
        """Status, fields and body, on a connection of its own."""
        connection = self.connect()
        try:
            connection.request(method, target, body,
                               {name.replace("_", "-"): value
                                for name, value in fields.items()})
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read()
        finally:
            connection.close()

    def get(self, target, **fields):
        return self.ask("GET", target, **fields)

    def search(self, body, query="", **fields):
        return self.ask("POST", "/api/search" + query, body,
                        **{"Content_Type": "image/png", **fields})

    def send(self, data, wait=10):
        """All that comes back for some bytes, and after how many seconds the
        connection was closed."""
        with socket.create_connection(("127.0.0.1", self.port), wait) as client:
            start = time.monotonic()
            client.sendall(data)
            answer = b""
            while True:
                try:
                    more = client.recv(65536)
                except ConnectionResetError:
                    more = b""
                if not more:
                    return answer, time.monotonic() - start
                answer += more

    def memory(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(
            encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1)) * 1024


def png(width, height, rows=None):
    """A black grey picture; `rows` of it, all unless it is said."""
    def chunk(kind, data):
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(bytes(width + 1))
                    for _ in range(height if rows is None else rows))
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0,
                                         0))
            + chunk(b"IDAT", data + packer.flush()) + chunk(b"IEND", b""))


class ServeTest(unittest.TestCase):
    options = []

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.options)

    @classmethod
    def tearDownClass(cls):
        status, _ = cls.server.stop()
        assert status == 0, status

    def expect_refused(self, reply, status):
        self.assertEqual(reply[0], status, reply[2])
        told = json.loads(reply[2])
        self.assertTrue(told["error"])
        self.assertTrue(told["remedy"])
