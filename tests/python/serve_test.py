"""`kith serve` over sockets, as good and bad clients use it.

usage: KITH_PROGRAM=kith python3 serve_test.py [OPTION of unittest]...
"""

import concurrent.futures
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
import threading
import time
import unittest
import urllib.parse
import zlib

PROGRAM = os.environ["KITH_PROGRAM"]
SKIPPED = 77
TOKEN = "0123456789abcdef"

CONFIG = """
data: {name: csv, path: %s}
sampler: {batch: 16, per_class: 4}
model:
  input: {size: 16}
  backbone: {name: convnet, width: 8}
  head: {dim: 16}
train: {epochs: 1}
"""

# Small limits, so that they are met soon.
SMALL = ["--max-body-mb", "1", "--max-pixels", "4000000", "--header-seconds",
         "1", "--connections", "80"]


def kith(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], text=True,
                          capture_output=True, check=False)


def setUpModule():
    global folder, model, index, pictures
    if "no kith serve" in kith("--version").stdout:
        print("skipped: kith was built without Boost")
        sys.exit(1 if os.environ.get("CI") == "true" else SKIPPED)
    temporary = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(temporary.cleanup)
    folder = pathlib.Path(temporary.name)
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
    with open(f"{index}.items.csv", encoding="utf-8") as file:
        pictures = [pathlib.Path(row["path"]).read_bytes()
                    for row in csv.DictReader(file)]


class Server:
    """A server of the index on a free port."""

    def __init__(self, *arguments, token=None):
        environment = {name: value for name, value in os.environ.items()
                       if name != "KITH_TOKEN"}
        if token:
            environment["KITH_TOKEN"] = token
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--model", model, "--index", index, "--port",
             "0", "--device", "cpu", "--threads", "1", *arguments],
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


class Answers(ServeTest):
    def test_finds_each_picture(self):
        for position in (0, 17, 95):
            status, fields, body = self.server.search(pictures[position],
                                                      "?k=5")
            self.assertEqual(status, 200, body)
            results = json.loads(body)["results"]
            self.assertEqual(len(results), 5)
            self.assertEqual(results[0]["position"], position)
            self.assertAlmostEqual(results[0]["similarity"], 1, places=4)
            self.assertEqual(fields["Cache-Control"], "no-store")

    def test_has_security_fields_everywhere(self):
        for target in ("/", "/api/info", "/nothing", "/metrics"):
            _, fields, _ = self.server.get(target)
            self.assertIn("default-src 'self'",
                          fields["Content-Security-Policy"])
            self.assertIn("frame-ancestors 'none'",
                          fields["Content-Security-Policy"])
            self.assertEqual(fields["X-Content-Type-Options"], "nosniff")
            self.assertEqual(fields["Referrer-Policy"], "no-referrer")
            self.assertNotIn("Access-Control-Allow-Origin", fields)

    def test_tells_of_the_index_and_shows_its_pictures(self):
        info = json.loads(self.server.get("/api/info")[2])
        self.assertEqual((info["items"], info["dim"]), (96, 16))
        classes = json.loads(self.server.get("/api/classes")[2])["classes"]
        self.assertEqual(sum(entry["count"] for entry in classes), 96)
        label = classes[0]["label"]
        found = json.loads(self.server.get(
            f"/api/items/3/similar?k=100&label={urllib.parse.quote(label)}")[2])["results"]
        self.assertEqual({result["label"] for result in found}, {label})
        status, fields, body = self.server.get("/api/items/3/image?size=32")
        self.assertEqual((status, fields["Content-Type"]), (200, "image/jpeg"))
        self.assertTrue(body.startswith(b"\xff\xd8\xff"))
        for target in ("/", "/assets/serve.js", "/assets/serve.css"):
            self.assertEqual(self.server.get(target)[0], 200, target)

    def test_gives_any_item(self):
        for _ in range(3):
            body = self.server.get("/api/items/any")[2]
            position = json.loads(body)["position"]
            self.assertEqual(self.server.get(f"/api/items/{position}")[2],
                             body)

    def test_keeps_no_pictures_in_the_browser(self):
        _, fields, _ = self.server.get("/api/items/3/image")
        self.assertEqual(fields["Cache-Control"], "no-store")

    def test_answers_who_names_it_in_the_target(self):
        status, _, body = self.server.get(
            f"http://127.0.0.1:{self.server.port}/health")
        self.assertEqual(status, 200)
        self.assertEqual(json.loads(body),
                         {"status": "ok", "token_required": False})

    def test_keeps_a_connection(self):
        connection = self.server.connect()
        for _ in range(3):
            connection.request("POST", "/api/search?k=1", pictures[1])
            reply = connection.getresponse()
            self.assertEqual(reply.status, 200)
            self.assertFalse(reply.will_close)
            self.assertEqual(json.loads(reply.read())["results"][0]["position"],
                             1)
        connection.close()

    def test_answers_requests_sent_ahead_in_turn(self):
        host = f"Host: 127.0.0.1:{self.server.port}\r\n"
        answer, _ = self.server.send("".join(
            f"GET /api/items/{i} HTTP/1.1\r\n{host}"
            + ("Connection: close\r\n" if i == 4 else "") + "\r\n"
            for i in range(5)).encode())
        found = [int(n) for n in re.findall(rb'"position":(\d+)', answer)]
        self.assertEqual(found, [0, 1, 2, 3, 4])

    def test_answers_64_at_a_time(self):
        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            replies = list(pool.map(
                lambda i: self.server.search(pictures[i % 96], "?k=1"),
                range(320)))
        for i, (status, _, body) in enumerate(replies):
            self.assertEqual(status, 200, body)
            self.assertEqual(json.loads(body)["results"][0]["position"], i % 96)
        text = self.server.get("/metrics")[2].decode()
        sizes = dict(re.findall(r"kith_batch_size_(sum|count) (\d+)", text))
        self.assertLess(int(sizes["count"]), int(sizes["sum"]))
        self.assertIn('kith_requests_total{route="search",status="200"}', text)


class Refusals(ServeTest):
    options = SMALL

    def test_paths_that_leave_the_tree(self):
        for target in ("/api/items/../../etc/passwd", "/../etc/passwd",
                       "/api/items/%2e%2e/%2e%2e/etc/passwd",
                       "/api/items/..%2f..%2fetc%2fpasswd/image",
                       "/assets/..%2f..%2fetc%2fpasswd", "/assets//etc/passwd",
                       "/api/items//etc/passwd/image", "/etc/passwd",
                       "/api/items/%00/image", "/assets/..\\..\\x"):
            status, _, body = self.server.get(target)
            self.assertIn(status, (400, 404), target)
            self.assertNotIn(b"root:", body)

    def test_what_is_not_there(self):
        for target in ("/nothing", "/api/items/96", "/api/items/-1",
                       "/api/items/96/similar", "/api/items/any/image",
                       "/api/items/99999999999999999999/image"):
            self.expect_refused(self.server.get(target), 404)
        self.expect_refused(self.server.get("/api/items/1/similar?k=0"), 400)
        self.expect_refused(self.server.get("/api/items/1/similar?label=x"),
                            400)

    def test_other_methods(self):
        self.expect_refused(self.server.get("/api/search"), 405)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            reply = self.server.ask(method, "/api/info")
            self.expect_refused(reply, 405)
            self.assertEqual(reply[1]["Allow"], "GET, HEAD")
        self.assertEqual(self.server.ask("HEAD", "/api/info")[0], 200)

    def test_pages_of_other_sites(self):
        for site in ("cross-site", "same-site"):
            self.expect_refused(
                self.server.search(pictures[0], Sec_Fetch_Site=site), 403)
            self.expect_refused(
                self.server.get("/api/items/any", Sec_Fetch_Site=site), 403)
            self.assertEqual(self.server.get("/", Sec_Fetch_Site=site)[0], 200)
        for site in ("same-origin", "none"):
            self.assertEqual(
                self.server.search(pictures[0], Sec_Fetch_Site=site)[0], 200)

    def test_what_cannot_be_expected(self):
        self.expect_refused(
            self.server.search(pictures[0], Expect="a miracle"), 417)

    def test_garbage_bodies(self):
        self.expect_refused(self.server.search(b"hello"), 415)
        self.expect_refused(self.server.search(b""), 415)
        self.expect_refused(self.server.search(os.urandom(100_000)), 415)
        for kind in ("text/plain", "application/x-www-form-urlencoded"):
            reply = self.server.search(pictures[0], Content_Type=kind)
            self.expect_refused(reply, 415)
            self.assertIn(f"Content-Type '{kind}'", reply[2].decode())
        self.expect_refused(self.server.search(pictures[0][:-20]), 400)
        damaged = bytearray(pictures[0])
        damaged[60] ^= 255
        self.expect_refused(self.server.search(bytes(damaged)), 400)
        for jpeg in (b"\xff\xd8\xff", b"\xff\xd8\xff\xe0" + os.urandom(5000)):
            self.expect_refused(self.server.search(jpeg), 400)

    def test_pictures_of_too_many_pixels(self):
        before = self.server.memory()
        bomb = png(30000, 30000)
        self.assertLess(len(bomb), 1 << 20)
        for _ in range(3):
            self.expect_refused(self.server.search(bomb), 413)
        self.expect_refused(self.server.search(png(65535, 65535, 1)), 413)
        self.assertLess(self.server.memory(), before + (50 << 20))

    def test_bodies_that_are_too_long(self):
        self.expect_refused(self.server.search(bytes((1 << 20) + 1)), 413)
        host = f"Host: 127.0.0.1:{self.server.port}\r\n".encode()
        for length in (b"1048577", b"99999999999999", b"9" * 40):
            answer, _ = self.server.send(
                b"POST /api/search HTTP/1.1\r\n" + host + b"Content-Length: "
                + length + b"\r\n\r\nabc")
            self.assertIn(answer[:12], (b"HTTP/1.1 413", b"HTTP/1.1 400"))
        answer, _ = self.server.send(
            b"POST /api/search HTTP/1.1\r\n" + host
            + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
        self.assertEqual(answer[:12], b"HTTP/1.1 411")

    def test_what_is_not_http(self):
        for data in (b"hello\r\n\r\n", b"\x16\x03\x01\x00\xa5\x01\x00\r\n\r\n",
                     b"GET /\r\n\r\n", b"GET / HTTP/3.0\r\n\r\n",
                     b"GET /\xff\x00 HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"):
            self.assertEqual(self.server.send(data)[0][:12], b"HTTP/1.1 400",
                             data)

    def test_headers_that_are_too_long(self):
        self.expect_refused(self.server.get("/", X_Long="a" * 9000), 431)
        self.expect_refused(self.server.get("/" + "a" * 9000), 431)

    def test_other_names_for_this_machine(self):
        for host in ("evil.example", f"evil.example:{self.server.port}",
                     "127.0.0.1:1"):
            reply = self.server.get("/", Host=host)
            self.expect_refused(reply, 421)
            self.assertIn(f"http://127.0.0.1:{self.server.port}/",
                          reply[2].decode())
        self.assertEqual(
            self.server.get("/health", Host=f"localhost:{self.server.port}")[0],
            200)

    def test_slow_clients(self):
        host = f"Host: 127.0.0.1:{self.server.port}\r\n".encode()
        for data in (b"", b"GET / HTTP/1.1\r\nHo", b"GET / HTTP/1.1\r\n" + host):
            answer, seconds = self.server.send(data, wait=20)
            self.assertLess(seconds, 6)
            self.assertEqual(answer[:12], b"HTTP/1.1 408" if data else b"")
        # A second request has no more time for its header than the first.
        answer, seconds = self.server.send(
            b"GET /health HTTP/1.1\r\n" + host + b"\r\nGET /hea", wait=20)
        self.assertLess(seconds, 6)
        self.assertEqual(re.findall(rb"HTTP/1.1 \d+", answer),
                         [b"HTTP/1.1 200", b"HTTP/1.1 408"])
        # One byte now and then does not help.
        with socket.create_connection(("127.0.0.1", self.server.port)) as slow:
            start = time.monotonic()
            with self.assertRaises(OSError):
                while time.monotonic() - start < 20:
                    slow.sendall(b"G")
                    time.sleep(0.2)
            self.assertLess(time.monotonic() - start, 10)
        self.assertEqual(self.server.get("/health")[0], 200)

    def test_too_many_connections(self):
        held = []
        try:
            for _ in range(80):
                held.append(self.server.connect())
                held[-1].request("GET", "/health")
                if held[-1].getresponse().read() == b"":
                    break
            reply = self.server.get("/health")
            self.expect_refused(reply, 503)
            self.assertEqual(reply[1]["Retry-After"], "1")
        finally:
            for connection in held:
                connection.close()
        deadline = time.monotonic() + 10
        while self.server.get("/health")[0] != 200:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)


class Options(unittest.TestCase):
    def test_seconds_that_are_none(self):
        for value in ("nan", "inf", "0", "x"):
            done = kith("serve", "--index", index, "--header-seconds", value)
            self.assertEqual(done.returncode, 2, value)
            self.assertIn("--header-seconds", done.stderr)
            self.assertIn("from 0.1 to 3600", done.stderr)


class Addresses(unittest.TestCase):
    def expect_own(self, host, url):
        server = Server("--host", host)
        self.addCleanup(server.end)
        self.assertEqual(server.host, host)
        self.assertEqual(server.get("/health")[0], 200)
        self.assertEqual(server.search(pictures[0])[0], 200)
        reply = server.get("/health", Host="evil.example")
        self.assertEqual(reply[0], 421)
        self.assertIn(f"open {url % server.port}", reply[2].decode())
        self.assertEqual(server.stop()[0], 0)

    def test_another_of_this_machine(self):
        self.expect_own("127.0.0.2", "http://127.0.0.2:%d/")

    def test_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError as error:
            self.skipTest(f"no IPv6: {error}")
        self.expect_own("::1", "http://[::1]:%d/")

    def test_one_of_no_machine(self):
        token_file = folder / "any_token"
        token_file.write_text(TOKEN, encoding="ascii")
        done = kith("serve", "--model", model, "--index", index, "--host",
                    "192.0.2.1", "--token-file", token_file)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--host must be an address of this machine", done.stderr)
        self.assertNotIn("--port", done.stderr)


class Tokens(unittest.TestCase):
    def test_other_machines_need_one(self):
        done = kith("serve", "--model", model, "--index", index, "--host",
                    "0.0.0.0", "--port", 0)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--token-file", done.stderr)
        (folder / "empty").write_text("\n", encoding="ascii")
        done = kith("serve", "--index", index, "--token-file",
                    folder / "empty")
        self.assertEqual(done.returncode, 2)
        self.assertIn("empty", done.stderr)

    def test_only_the_right_one_is_let_in(self):
        token_file = folder / "token"
        token_file.write_text(TOKEN + "\n", encoding="ascii")
        for server in (
                Server("--host", "0.0.0.0", "--token-file", token_file),
                Server(token=TOKEN)):
            self.addCleanup(server.end)
            for target in ("/", "/health", "/assets/serve.js"):
                self.assertEqual(server.get(target)[0], 200, target)
            for field in ("", TOKEN, "Bearer", "Bearer x", f"Bearer {TOKEN}0",
                          f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}"):
                for target in ("/api/info", "/metrics", "/api/items/1/image"):
                    reply = server.get(target, Authorization=field)
                    self.assertEqual(reply[0], 401, field)
                    self.assertEqual(reply[1]["WWW-Authenticate"], "Bearer")
                reply = server.search(pictures[0], Authorization=field)
                self.assertEqual(reply[0], 401)
            self.assertTrue(
                json.loads(server.get("/health")[2])["token_required"])
            right = f"Bearer {TOKEN}"
            self.assertEqual(
                server.search(pictures[0], Authorization=right)[0], 200)
            self.assertEqual(server.stop()[0], 0)


class Stopping(unittest.TestCase):
    def test_searches_in_work_are_answered(self):
        server = Server("--verbose")
        self.addCleanup(server.end)
        statuses, failures = [], []

        def search():
            try:
                while True:
                    statuses.append(server.search(pictures[0])[0])
            except (OSError, http.client.HTTPException) as error:
                failures.append(error)

        threads = [threading.Thread(target=search) for _ in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        start = time.monotonic()
        status, said = server.stop()
        self.assertEqual(status, 0)
        self.assertLess(time.monotonic() - start, 8)
        for thread in threads:
            thread.join()
        self.assertGreater(len(statuses), 8)
        self.assertLessEqual(set(statuses), {200, 503})
        self.assertIn("POST '/api/search' 200", said)

    def test_clients_that_do_nothing_do_not_hold_it_up(self):
        server = Server()
        self.addCleanup(server.end)
        with socket.create_connection(("127.0.0.1", server.port)) as idle:
            idle.sendall(b"GET / HT")
            self.assertEqual(server.get("/health")[0], 200)
            start = time.monotonic()
            self.assertEqual(server.stop()[0], 0)
            self.assertLess(time.monotonic() - start, 8)

    def test_a_port_that_is_taken(self):
        server = Server()
        self.addCleanup(server.end)
        done = kith("serve", "--index", index, "--port", server.port)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--port", done.stderr)


if __name__ == "__main__":
    unittest.main()
