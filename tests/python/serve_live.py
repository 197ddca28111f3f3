"""Indexes that change while `kith serve` has them: on disk, by clients, and
when it is killed."""

import json
import pathlib
import shutil
import signal
import threading
import time
import unittest
import urllib.parse

from serve_client import Server, kith, shared
from serve_start import TOKEN

END = ("", ".items.csv", ".json")


def form(*fields):
    """A body and its Content-Type; a field is (name, text or bytes)."""
    parts = []
    for name, data in fields:
        is_file = isinstance(data, bytes)
        parts.append(
            b'--frontier\r\nContent-Disposition: form-data; name="'
            + name.encode() + (b'"; filename="x.png"' if is_file else b'"')
            + b"\r\n\r\n" + (data if is_file else data.encode()) + b"\r\n")
    return (b"".join(parts) + b"--frontier--\r\n",
            "multipart/form-data; boundary=frontier")


class LiveTest(unittest.TestCase):
    """With an index of its own, of all pictures but the last eight."""

    def setUp(self):
        self.folder = shared.folder / self.id()
        self.folder.mkdir()
        self.index = self.copy("live.faiss")
        names = self.folder / "last.txt"
        with open(f"{shared.index}.items.csv", encoding="utf-8") as file:
            self.paths = [line.split(",")[0] for line in file][1:]
        names.write_text("\n".join(self.paths[-8:]), encoding="utf-8")
        self.kith("index", "remove", names, "--from", self.index)
        self.others = shared.pictures[-8:]

    def copy(self, name):
        for end in END:
            shutil.copy(f"{shared.index}{end}", self.folder / (name + end))
        return self.folder / name

    def kith(self, *arguments):
        done = kith(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)

    def serve(self, *options):
        server = Server("--allow-changes", *options, token=TOKEN,
                        index=self.index)
        self.addCleanup(server.end)
        return server

    def ask(self, server, method, target, body=None, **fields):
        reply = server.ask(method, target, body,
                           Authorization=f"Bearer {TOKEN}", **fields)
        try:
            return reply[0], json.loads(reply[2])
        except ValueError:
            return reply[0], reply[2].decode()

    def add(self, server, name, picture):
        return self.ask(server, "POST", f"/api/items?id={name}", picture,
                        Content_Type="image/png")

    def items(self, server):
        return self.ask(server, "GET", "/api/info")[1]["items"]

    def wait_for(self, condition):
        for _ in range(100):
            if condition():
                return
            time.sleep(0.1)
        self.fail("it did not come to pass within ten seconds")


class Reloading(LiveTest):
    def remove(self, path):
        names = self.folder / "gone.txt"
        names.write_text(path, encoding="utf-8")
        self.kith("index", "remove", names, "--from", self.index)

    def test_follows_what_kith_index_does(self):
        server = self.serve()
        self.assertEqual(self.items(server), 88)
        self.remove(self.paths[0])
        self.wait_for(lambda: self.items(server) == 87)
        self.kith("index", shared.model, "--images",
                  pathlib.Path(shared.folder) / "data" / "dataset.csv", "--out",
                  self.index, "--overwrite", "--device", "cpu", "--threads", 1)
        self.wait_for(lambda: self.items(server) == 96)
        status, said = server.stop()
        self.assertEqual(status, 0)
        self.assertIn("is loaded again: 87 items, 88 before", said)

    def test_sighup_loads_and_does_not_end_it(self):
        server = self.serve()
        for _ in range(3):
            server.process.send_signal(signal.SIGHUP)
            time.sleep(0.3)
        self.assertEqual(self.items(server), 88)
        status, said = server.stop()
        self.assertEqual(status, 0)
        self.assertGreaterEqual(said.count("is loaded again"), 2)

    def test_a_broken_index_leaves_the_old_one(self):
        server = self.serve()
        record = pathlib.Path(f"{self.index}.json")
        whole = record.read_text(encoding="utf-8")
        record.write_text(whole[:50], encoding="utf-8")
        stale = 'kith_index_stale{index="live"} '
        self.wait_for(lambda: stale + "1" in self.ask(server, "GET",
                                                      "/metrics")[1])
        self.assertEqual(self.items(server), 88)
        self.assertEqual(server.search(
            shared.pictures[3], Authorization=f"Bearer {TOKEN}")[0], 200)
        record.write_text(whole, encoding="utf-8")
        self.wait_for(lambda: stale + "0" in self.ask(server, "GET",
                                                      "/metrics")[1])
        said = server.stop()[1]
        self.assertEqual(said.count("cannot be served"), 1, said)

    def test_no_request_fails_meanwhile(self):
        server = self.serve()
        statuses, ends = [], []

        def search(number):
            while not ends:
                reply = server.search(shared.pictures[number],
                                      "?k=3", Authorization=f"Bearer {TOKEN}")
                statuses.append(reply[0])

        threads = [threading.Thread(target=search, args=(i,))
                   for i in range(4)]
        for thread in threads:
            thread.start()
        for i in range(10):
            self.remove(self.paths[20 + i])
            server.process.send_signal(signal.SIGHUP)
            time.sleep(0.1)
        self.wait_for(lambda: self.items(server) == 78)
        ends.append(True)
        for thread in threads:
            thread.join()
        self.assertGreater(len(statuses), 50)
        self.assertEqual(set(statuses), {200})


class Changing(LiveTest):
    def test_what_was_answered_is_there_after_a_kill(self):
        done, gone = set(), set()
        for turn in range(4):
            server = self.serve()
            ends = []

            def work(number, server=server, turn=turn, ends=ends):
                try:
                    for i in range(1000):
                        name = f"{turn}-{number}-{i}"
                        picture = self.others[i % 8]
                        if self.add(server, name, picture)[0] == 201:
                            done.add(name)
                        if i % 3 != 2:
                            continue
                        done.discard(name)  # not known until it is answered
                        if self.ask(server, "DELETE",
                                    f"/api/items?id={name}")[0] == 200:
                            gone.add(name)
                except (OSError, ValueError):
                    ends.append(number)

            threads = [threading.Thread(target=work, args=(i,))
                       for i in range(4)]
            for thread in threads:
                thread.start()
            time.sleep(0.7 + 0.13 * turn)
            server.end()  # by SIGKILL
            for thread in threads:
                thread.join()
            self.assertEqual(len(ends), 4)
        server = self.serve()
        self.assertGreater(len(done), 20)
        self.assertGreater(len(gone), 4)
        for name in gone:
            status, _ = self.ask(server, "GET", f"/api/items?id={name}")
            self.assertEqual(status, 404, name)
        kept = f"{self.index}.pictures"
        for name in done:
            status, item = self.ask(server, "GET", f"/api/items?id={name}")
            self.assertEqual(status, 200, name)
            self.assertTrue(item["path"].startswith(kept))
            self.assertTrue(pathlib.Path(item["path"]).exists())
        # One that was not answered may be there or not.
        self.assertLessEqual(abs(self.items(server) - 88 - len(done)), 16)
        self.assertGreaterEqual(len(list(pathlib.Path(kept).iterdir())),
                                self.items(server) - 88)
        self.assertEqual(server.stop()[0], 0)
        self.kith("index", "info", self.index, "--check")

    def test_both_kith_index_and_clients_change_it(self):
        server = self.serve()
        added, ends = [], []

        def work():
            while not ends:
                name = f"n{len(added)}"
                status, told = self.add(server, name, self.others[0])
                self.assertEqual(status, 201, told)
                added.append(name)

        thread = threading.Thread(target=work)
        thread.start()
        names = self.folder / "names.txt"
        for i in range(8):
            names.write_text(self.paths[i], encoding="utf-8")
            self.kith("index", "remove", names, "--from", self.index)
        ends.append(True)
        thread.join()
        self.wait_for(lambda: self.items(server) == 80 + len(added))
        self.assertGreater(len(added), 3)

    def test_a_form_as_curl_sends_it(self):
        server = self.serve()
        body, kind = form(("image", self.others[1]), ("id", "a"),
                          ("image", self.others[2]), ("id", "b"),
                          ("label", "new"))
        status, told = self.ask(server, "POST", "/api/items", body,
                                Content_Type=kind)
        self.assertEqual(status, 201, told)
        body, kind = form(("image", self.others[2]), ("k", "1"))
        status, told = self.ask(server, "POST", "/api/search", body,
                                Content_Type=kind)
        self.assertEqual(status, 200, told)
        self.assertEqual(told["results"][0]["id"], "b")
        self.assertEqual(told["results"][0]["label"], "new")

    def test_needs_to_be_allowed_and_a_token(self):
        done = kith("serve", "--index", self.index, "--allow-changes")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--token-file", done.stderr)
        server = Server(index=self.index)
        self.addCleanup(server.end)
        reply = server.ask("DELETE", "/api/items?id=x")
        self.assertEqual(reply[0], 403)
        self.assertIn("docs/serve.md", json.loads(reply[2])["remedy"])


class Approximate(LiveTest):
    """Kinds of faiss keep what docs/serve.md says of all."""

    def setUp(self):
        if "faiss: not found" in kith("--version").stdout:
            self.skipTest("kith was built without faiss")
        super().setUp()

    def make(self, *kind):
        self.index = self.folder / f"{kind[1]}.faiss"
        self.kith("index", shared.model, "--images",
                  shared.folder / "data" / "dataset.csv", "--out", self.index,
                  "--device", "cpu", "--threads", 1, *kind)
        names = self.folder / "last.txt"
        self.kith("index", "remove", names, "--from", self.index)

    def find(self, server, picture, k):
        status, told = self.ask(server, "POST", f"/api/search?k={k}", picture,
                                Content_Type="image/png")
        self.assertEqual(status, 200, told)
        return told["results"]

    def expect_found(self, server, name, picture):
        """Among the first: codes are not exact."""
        found = self.find(server, picture, 8)
        self.assertIn(name, [result["id"] for result in found])
        self.assertEqual(len(found), 8)

    def change(self, server):
        """Adds a to d, of which b is then another picture and c is gone."""
        body, kind = form(*(field for name, picture in zip("abcd", self.others)
                            for field in (("image", picture), ("id", name))),
                          ("label", "new"))
        status, told = self.ask(server, "POST", "/api/items", body,
                                Content_Type=kind)
        self.assertEqual(status, 201, told)
        self.assertEqual([item["position"] for item in told["items"]],
                         [96, 97, 98, 99])
        for name, picture in zip("abcd", self.others):
            self.expect_found(server, name, picture)
        self.assertEqual(self.add(server, "a", self.others[0])[0], 409)
        status, told = self.ask(server, "PUT", "/api/items?id=b&label=other",
                                self.others[5], Content_Type="image/png")
        self.assertEqual(status, 200, told)
        for name in ("c", self.paths[0]):
            target = "/api/items?id=" + urllib.parse.quote(name)
            self.assertEqual(self.ask(server, "DELETE", target),
                             (200, {"removed": 1}))
            self.assertEqual(self.ask(server, "DELETE", target)[0], 404)

    def expect_changed(self, server):
        self.assertEqual(self.items(server), 88 + 3 - 1)
        self.expect_found(server, "a", self.others[0])
        self.expect_found(server, "b", self.others[5])
        self.expect_found(server, "d", self.others[3])
        gone = {"c", *self.paths[-8:], self.paths[0]}
        for picture in (self.others[1], self.others[2], shared.pictures[0]):
            found = self.find(server, picture, 90)
            self.assertEqual(len({result["id"] for result in found}), 90)
            self.assertFalse(gone & {result["id"] for result in found})
            nearness = [result["similarity"] for result in found]
            self.assertEqual(nearness, sorted(nearness, reverse=True))
        status, told = self.ask(server, "GET", "/api/items?id=b")
        self.assertEqual((status, told["label"]), (200, "other"))
        status, told = self.ask(
            server, "GET", f"/api/items/{told['position']}/similar?k=100")
        self.assertEqual(status, 200, told)
        self.assertEqual(len(told["results"]), 89)  # all but itself
        _, told = self.ask(server, "GET", "/api/classes")
        counts = {entry["label"]: entry["count"] for entry in told["classes"]}
        self.assertEqual((counts["new"], counts["other"]), (2, 1))

    def expect_follows(self, *kind):
        self.make(*kind)
        server = self.serve()
        self.change(server)
        self.expect_changed(server)
        server.end()  # by SIGKILL
        self.kith("index", "info", self.index, "--check")
        server = self.serve()
        self.expect_changed(server)
        # Most may go: those that are left are found, and no others.
        for path in self.paths[1:80]:
            status, told = self.ask(
                server, "DELETE", "/api/items?id=" + urllib.parse.quote(path))
            self.assertEqual(status, 200, told)
        left = {"a", "b", "d", *self.paths[80:88]}
        for picture in (self.others[0], shared.pictures[3]):
            found = self.find(server, picture, 20)
            self.assertEqual({result["id"] for result in found}, left)
        found = self.ask(server, "POST", "/api/search?k=20&label=new",
                         self.others[5], Content_Type="image/png")[1]
        self.assertEqual({result["id"] for result in found["results"]},
                         {"a", "d"})
        self.assertEqual(server.stop()[0], 0)

    def test_hnsw(self):
        self.expect_follows("--kind", "hnsw")

    def test_ivf_pq(self):
        # A code for each dimension: the embeddings lie close together.
        self.expect_follows("--kind", "ivf_pq", "--set", "lists=8", "--set",
                            "probes=2", "--set", "subvectors=16", "--set",
                            "bits=6")


class Several(LiveTest):
    def test_each_has_its_addresses(self):
        other = self.copy("other.faiss")
        server = Server("--index", f"whole={other}", index=self.index)
        self.addCleanup(server.end)
        get = lambda target: json.loads(server.get(target)[2])
        self.assertEqual(
            [(entry["name"], entry["items"])
             for entry in get("/api/indexes")["indexes"]],
            [("live", 88), ("whole", 96)])
        self.assertEqual(get("/api/info")["items"], 88)
        self.assertEqual(get("/api/indexes/live/info")["items"], 88)
        self.assertEqual(get("/api/indexes/whole/info")["items"], 96)
        self.assertEqual(server.get("/api/items/95")[0], 404)
        item = get("/api/indexes/whole/items/95")
        self.assertEqual(item["image"], "/api/indexes/whole/items/95/image")
        self.assertEqual(server.get(item["image"])[0], 200)
        reply = server.get("/api/indexes/none/info")
        self.assertEqual(reply[0], 404)
        self.assertIn("/api/indexes", json.loads(reply[2])["remedy"])
        status, _, body = server.ask(
            "POST", "/api/indexes/whole/search?k=1", self.others[7])
        self.assertEqual(status, 200, body)
        self.assertEqual(json.loads(body)["results"][0]["position"], 95)

    def test_names_must_differ_and_fit_addresses(self):
        for names, part in (((f"a={self.index}", f"a={self.index}"),
                             "two indexes are called 'a'"),
                            ((f"a b={self.index}",), "letters, digits")):
            flags = [word for name in names for word in ("--index", name)]
            done = kith("serve", *flags, "--port", 0)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(part, done.stderr)
