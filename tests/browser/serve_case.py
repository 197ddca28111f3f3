"""What the tests of `kith serve` share: an index, its server, and a browser."""

import contextlib
import os
import tempfile
import unittest

from browser import Browser
from serve_page import ServePage
from tiny_server import Server, TinyIndex

DESKTOP, PHONE = 1200, 390
LOOKS = [(width, dark) for width in (DESKTOP, PHONE)
         for dark in (False, True)]
USUAL_COUNT = 12


class Shared:
    """Filled by prepared()."""

    browser = None
    tiny = None
    server = None


shared = Shared()


@contextlib.contextmanager
def prepared():
    """With a model that was trained, a server of its index, and a browser."""
    with tempfile.TemporaryDirectory() as folder:
        shared.tiny = TinyIndex(os.environ["KITH_PROGRAM"], folder)
        with contextlib.ExitStack() as ends:
            shared.server = Server(shared.tiny)
            ends.callback(shared.server.stop)
            shared.browser = Browser()
            ends.callback(shared.browser.close)
            yield


class ServeTest(unittest.TestCase):
    def open(self, where=None, width=DESKTOP, dark=False, hash=""):
        shared.browser.show_as(width=width, height=844, dark=dark)
        page = self.page(where or shared.server)
        page.open(hash)
        return page

    def page(self, where):
        return ServePage(shared.browser, where.url)

    def serve(self, **options):
        """Another server, until the end of the test."""
        server = Server(shared.tiny, **options)
        self.addCleanup(server.stop)
        return server

    def run_before_pages(self, script):
        """Runs it in every page that is opened in this test, before the
        page's own scripts."""
        added = shared.browser.cdp("Page.addScriptToEvaluateOnNewDocument",
                                   source=script)
        self.addCleanup(shared.browser.cdp,
                        "Page.removeScriptToEvaluateOnNewDocument", **added)

    def expect_none(self, faults):
        if faults:
            self.fail("\n".join([f"{len(faults)} faults", *faults[:20]]))

    def expect_quiet(self, page):
        self.expect_none(page.messages() + page.requests_elsewhere())

    def expect_focus(self, element):
        self.assertEqual(
            shared.browser.run("return document.activeElement.id"), element)
