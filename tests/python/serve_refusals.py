"""What `kith serve` refuses, and with which status."""

import os
import re
import socket
import struct
import time
import zlib

from serve_client import ServeTest, png, shared

# Small limits, so that they are met soon.
SMALL = ["--max-body-mb", "1", "--max-pixels", "4000000", "--header-seconds",
         "1", "--connections", "80"]


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

    def test_forms_that_are_none(self):
        kind = "multipart/form-data; boundary=B"
        head = b'--B\r\nContent-Disposition: form-data; name="image"'
        picture = shared.pictures[0]
        whole = head + b"\r\n\r\n" + picture + b"\r\n--B--\r\n"
        self.assertEqual(self.server.search(whole, Content_Type=kind)[0], 200)
        for body, told in (
                (whole, "multipart/form-data"), (whole, kind + "x"),
                (whole[:-9], kind), (whole[:60], kind), (b"", kind),
                (b"--B--", kind), (b"--B\r\n" * 1000, kind),
                (head + b"\r\nX: " + b"y" * 100000 + whole[40:], kind),
                (head + b"\r\n\r\nx\r\n" + whole, kind),
                ((head + b"\r\n\r\nx\r\n") * 300 + b"--B--", kind),
                (whole.replace(b"image", b"other"), kind),
                (os.urandom(100000), kind)):
            self.expect_refused(
                self.server.search(body, Content_Type=told), 400)
        self.expect_refused(self.server.search(
            head + b"\r\n\r\ntext\r\n--B--", Content_Type=kind), 415)

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
                self.server.search(shared.pictures[0], Sec_Fetch_Site=site),
                403)
            self.expect_refused(
                self.server.get("/api/items/any", Sec_Fetch_Site=site), 403)
            self.assertEqual(self.server.get("/", Sec_Fetch_Site=site)[0], 200)
        for site in ("same-origin", "none"):
            self.assertEqual(
                self.server.search(shared.pictures[0],
                                   Sec_Fetch_Site=site)[0], 200)

    def test_what_cannot_be_expected(self):
        self.expect_refused(
            self.server.search(shared.pictures[0], Expect="a miracle"), 417)

    def test_garbage_bodies(self):
        self.expect_refused(self.server.search(b"hello"), 415)
        self.expect_refused(self.server.search(b""), 415)
        self.expect_refused(self.server.search(os.urandom(100_000)), 415)
        for kind in ("text/plain", "application/x-www-form-urlencoded"):
            reply = self.server.search(shared.pictures[0], Content_Type=kind)
            self.expect_refused(reply, 415)
            self.assertIn(f"Content-Type '{kind}'", reply[2].decode())
        self.expect_refused(self.server.search(shared.pictures[0][:-20]), 400)
        damaged = bytearray(shared.pictures[0])
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

    def test_pictures_made_to_take_long(self):
        before = self.server.memory()
        start = time.monotonic()
        # Texts that unpack to 7 MB each, in front of the pixels.
        body = b"zTXta\0\0" + zlib.compress(bytes(7_000_000), 9)
        text = (struct.pack(">I", len(body) - 4) + body
                + struct.pack(">I", zlib.crc32(body)))
        picture = shared.pictures[0]
        at = picture.index(b"IDAT") - 4
        texts = picture[:at] + text * (900_000 // len(text)) + picture[at:]
        self.assertEqual(self.server.search(texts)[0], 200)
        markers = b"\xff\xd8" + b"\xff\xe1\0\2" * 225_000
        self.expect_refused(self.server.search(markers), 400)
        # Seconds and a gigabyte each, and SIGTERM waited for them.
        self.assertLess(time.monotonic() - start, 3)
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

    def test_idle_clients_shut_nobody_out(self):
        held = []
        try:
            for _ in range(200):
                held.append(socket.create_connection(
                    ("127.0.0.1", self.server.port), 10))
            for _ in range(10):
                self.assertEqual(self.server.get("/health")[0], 200)
                self.assertEqual(
                    self.server.search(shared.pictures[0])[0], 200)
        finally:
            for client in held:
                client.close()

    def test_too_many_connections(self):
        head = (f"POST /api/search HTTP/1.1\r\n"
                f"Host: 127.0.0.1:{self.server.port}\r\n"
                "Content-Type: image/png\r\nContent-Length: 1000\r\n"
                "Expect: 100-continue\r\n\r\n").encode()
        held = []
        try:
            for _ in range(80):
                held.append(socket.create_connection(
                    ("127.0.0.1", self.server.port), 10))
                held[-1].sendall(head)
                self.assertTrue(held[-1].recv(100).startswith(b"HTTP/1.1 100"))
            reply = self.server.get("/health")
            self.expect_refused(reply, 503)
            self.assertEqual(reply[1]["Retry-After"], "1")
        finally:
            for client in held:
                client.close()
        deadline = time.monotonic() + 10
        while self.server.get("/health")[0] != 200:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
