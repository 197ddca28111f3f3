"""`kith serve` behind nginx with TLS, as examples/nginx.conf has it.

usage: KITH_PROGRAM=kith KITH_NGINX_CONF=nginx.conf python3 serve_tls_test.py
"""

import concurrent.futures
import http.client
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import time
import unittest

from serve_client import SKIPPED, Server, prepared, shared
from serve_start import TOKEN

# Debian has it where only root looks.
NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
RIGHT = {"Authorization": f"Bearer {TOKEN}"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
         "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost", "-keyout", folder / "key.pem", "-out",
         folder / "cert.pem"], check=True, capture_output=True)


class Nginx:
    """nginx with the example, at ports and with a certificate of its own."""

    def __init__(self, folder, kith_port):
        self.folder, self.port, self.plain = folder, free_port(), free_port()
        text = pathlib.Path(os.environ["KITH_NGINX_CONF"]).read_text("utf-8")
        for old, new in (
                ("listen 443 ssl http2;", f"listen 127.0.0.1:{self.port} ssl;"),
                ("listen 80;", f"listen 127.0.0.1:{self.plain};"),
                ("kith.example.org", "localhost"),
                ("127.0.0.1:8080", f"127.0.0.1:{kith_port}"),
                ("/etc/ssl/certs/kith.pem", f"{folder}/cert.pem"),
                ("/etc/ssl/private/kith.key", f"{folder}/key.pem"),
                ("client_max_body_size 20m", "client_max_body_size 1m")):
            if old not in text:
                raise RuntimeError(f"the example has no {old!r} any more")
            text = text.replace(old, new)
        paths = "".join(
            f"  {name}_temp_path {folder}/{name};\n"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (folder / "nginx.conf").write_text(
            f"daemon off;\nmaster_process off;\npid {folder}/pid;\n"
            f"error_log {folder}/error.log;\nevents {{ }}\n"
            f"http {{\n  access_log off;\n{paths}{text}}}\n", "utf-8")
        self.process = subprocess.Popen(
            [NGINX, "-p", folder, "-e", folder / "error.log", "-c",
             folder / "nginx.conf"], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", self.port), 5).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        self.process.kill()
        raise RuntimeError(self.process.communicate()[0].decode())

    def ask(self, method, target, body=None, fields=None):
        context = ssl.create_default_context(cafile=self.folder / "cert.pem")
        connection = http.client.HTTPSConnection("localhost", self.port,
                                                 timeout=30, context=context)
        try:
            connection.request(method, target, body, fields or {})
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read()
        finally:
            connection.close()

    def end(self):
        self.process.terminate()
        self.process.communicate()


class BehindNginx(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = shared.folder / "nginx"
        folder.mkdir()
        make_certificate(folder)
        cls.server = Server("--max-body-mb", "1", token=TOKEN)
        cls.addClassCleanup(cls.server.end)
        cls.nginx = Nginx(folder, cls.server.port)
        cls.addClassCleanup(cls.nginx.end)

    def test_searches_are_encrypted(self):
        picture = shared.pictures[17]
        status, fields, body = self.nginx.ask(
            "POST", "/api/search?k=1", picture,
            {**RIGHT, "Content-Type": "image/png"})
        self.assertEqual(status, 200, body)
        self.assertEqual(json.loads(body)["results"][0]["position"], 17)
        self.assertIn("max-age", fields["Strict-Transport-Security"])
        self.assertIn("frame-ancestors 'none'",
                      fields["Content-Security-Policy"])
        self.assertEqual(self.nginx.ask("GET", "/ready")[0], 200)
        page = self.nginx.ask("GET", "/")
        self.assertIn(b"<!", page[2][:10])

    def test_without_the_token_nobody_searches(self):
        for fields in ({}, {"Authorization": "Bearer wrong"}):
            self.assertEqual(
                self.nginx.ask("GET", "/api/info", None, fields)[0], 401)

    def test_pages_of_other_sites_cannot_search(self):
        self.assertEqual(self.nginx.ask(
            "GET", "/api/info", None,
            {**RIGHT, "Sec-Fetch-Site": "cross-site"})[0], 403)

    def test_plain_requests_are_sent_on(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.nginx.plain,
                                                timeout=30)
        self.addCleanup(connection.close)
        connection.request("GET", "/api/info", headers={"Host": "localhost"})
        reply = connection.getresponse()
        self.assertEqual(reply.status, 301)
        self.assertEqual(reply.headers["Location"],
                         "https://localhost/api/info")

    def test_bodies_are_bounded_in_front(self):
        status = self.nginx.ask("POST", "/api/search", bytes((1 << 20) + 1),
                                {**RIGHT, "Content-Type": "image/png"})[0]
        self.assertEqual(status, 413)

    def test_z_one_address_cannot_ask_for_all(self):
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            statuses = set(pool.map(
                lambda _: self.nginx.ask("GET", "/health")[0], range(400)))
        self.assertEqual(statuses, {200, 429})


if __name__ == "__main__":
    if NGINX is None or shutil.which("openssl") is None:
        print("skipped: no nginx, or no openssl")
        sys.exit(1 if os.environ.get("CI") == "true" else SKIPPED)
    with prepared():
        unittest.main()
