"""How `kith serve` starts, lets in and ends: options, addresses, tokens,
signals."""

import concurrent.futures
import http.client
import json
import socket
import threading
import time
import unittest

from serve_client import Server, kith, shared

TOKEN = "0123456789abcdef"


class Options(unittest.TestCase):
    def test_seconds_that_are_none(self):
        for value in ("nan", "inf", "0", "x"):
            done = kith("serve", "--index", shared.index, "--header-seconds",
                        value)
            self.assertEqual(done.returncode, 2, value)
            self.assertIn("--header-seconds", done.stderr)
            self.assertIn("from 0.1 to 3600", done.stderr)


class PicturesRoot(unittest.TestCase):
    def statuses(self, root):
        server = Server("--pictures-root", root)
        self.addCleanup(server.end)
        found = (server.get("/api/items/3/image")[0],
                 server.search(shared.pictures[3])[0])
        return found, server.stop()[1]

    def test_shows_what_is_below_it_alone(self):
        self.assertEqual(self.statuses(shared.folder / "data")[0], (200, 200))
        found, said = self.statuses(shared.model)
        self.assertEqual(found, (404, 200))
        self.assertIn(f"is not shown: it is not below {shared.model}", said)

    def test_must_be_there(self):
        done = kith("serve", "--index", shared.index, "--pictures-root",
                    shared.folder / "none")
        self.assertEqual(done.returncode, 2)
        self.assertIn("none, which is no folder", done.stderr)

    def test_is_kept_in_an_index(self):
        index = shared.folder / "rooted"
        make = ("index", shared.model, "--images",
                shared.folder / "data" / "dataset.csv", "--out", index,
                "--device", "cpu", "--threads", 1, "--pictures-root")
        done = kith(*make, shared.model)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"is not below {shared.model}", done.stderr)
        self.assertIn("--pictures-root", done.stderr)
        done = kith(*make, shared.folder / "data")
        self.assertEqual(done.returncode, 0, done.stderr)
        root = str(shared.folder / "data")
        self.assertIn(f"below {root} only", kith("index", "info", index).stdout)
        told = json.loads(kith("index", "info", index, "--json").stdout)
        self.assertEqual(told["pictures_root"], root)
        server = Server(index=index)
        self.addCleanup(server.end)
        self.assertEqual(server.get("/api/items/3/image")[0], 200)


class Addresses(unittest.TestCase):
    def expect_own(self, host, url):
        server = Server("--host", host)
        self.addCleanup(server.end)
        self.assertEqual(server.host, host)
        self.assertEqual(server.get("/health")[0], 200)
        self.assertEqual(server.search(shared.pictures[0])[0], 200)
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
        token_file = shared.folder / "any_token"
        token_file.write_text(TOKEN, encoding="ascii")
        done = kith("serve", "--model", shared.model, "--index",
                    shared.index, "--host",
                    "192.0.2.1", "--token-file", token_file)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--host must be an address of this machine", done.stderr)
        self.assertNotIn("--port", done.stderr)


class Tokens(unittest.TestCase):
    def test_other_machines_need_one(self):
        done = kith("serve", "--model", shared.model, "--index",
                    shared.index, "--host",
                    "0.0.0.0", "--port", 0)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--token-file", done.stderr)
        (shared.folder / "empty").write_text("\n", encoding="ascii")
        done = kith("serve", "--index", shared.index, "--token-file",
                    shared.folder / "empty")
        self.assertEqual(done.returncode, 2)
        self.assertIn("empty", done.stderr)

    def test_short_ones_are_refused(self):
        for token in ("a", TOKEN[:-1]):
            with self.assertRaisesRegex(RuntimeError,
                                        "at least 16.*openssl rand -hex 16"):
                Server(token=token)

    def test_they_cannot_be_tried_for_long(self):
        server = Server(token=TOKEN)
        self.addCleanup(server.end)
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            statuses = list(pool.map(
                lambda i: server.get("/api/info",
                                     Authorization=f"Bearer {i}")[0],
                range(200)))
        self.assertEqual(set(statuses), {401, 429})
        self.assertLess(statuses.count(401), 100)
        # This machine's own programs are not shut out by others there.
        self.assertEqual(
            server.get("/api/info", Authorization=f"Bearer {TOKEN}")[0], 200)

    def test_only_the_right_one_is_let_in(self):
        token_file = shared.folder / "token"
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
                reply = server.search(shared.pictures[0], Authorization=field)
                self.assertEqual(reply[0], 401)
            self.assertTrue(
                json.loads(server.get("/health")[2])["token_required"])
            right = f"Bearer {TOKEN}"
            self.assertEqual(
                server.search(shared.pictures[0], Authorization=right)[0], 200)
            self.assertEqual(server.stop()[0], 0)


class Stopping(unittest.TestCase):
    def test_searches_in_work_are_answered(self):
        server = Server("--verbose")
        self.addCleanup(server.end)
        statuses, failures = [], []

        def search():
            try:
                while True:
                    statuses.append(server.search(shared.pictures[0])[0])
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
        done = kith("serve", "--index", shared.index, "--port", server.port)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--port", done.stderr)
