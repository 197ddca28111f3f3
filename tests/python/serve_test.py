"""`kith serve` over sockets, as good and bad clients use it.

usage: KITH_PROGRAM=kith python3 serve_test.py [OPTION of unittest]...
"""

import concurrent.futures
import json
import re
import unittest
import urllib.parse

from serve_checkpoint import Checkpoints  # noqa: F401
from serve_client import ServeTest, prepared, shared
from serve_refusals import Refusals  # noqa: F401
from serve_start import (  # noqa: F401
    Addresses,
    Options,
    PicturesRoot,
    Stopping,
    Tokens,
)


class Answers(ServeTest):
    def test_finds_each_picture(self):
        for position in (0, 17, 95):
            status, fields, body = self.server.search(shared.pictures[position],
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
            connection.request("POST", "/api/search?k=1", shared.pictures[1])
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
                lambda i: self.server.search(shared.pictures[i % 96], "?k=1"),
                range(320)))
        for i, (status, _, body) in enumerate(replies):
            self.assertEqual(status, 200, body)
            self.assertEqual(json.loads(body)["results"][0]["position"], i % 96)
        text = self.server.get("/metrics")[2].decode()
        sizes = dict(re.findall(r"kith_batch_size_(sum|count) (\d+)", text))
        self.assertLess(int(sizes["count"]), int(sizes["sum"]))
        self.assertIn('kith_requests_total{route="search",status="200"}', text)


if __name__ == "__main__":
    with prepared():
        unittest.main()
