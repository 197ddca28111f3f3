"""What the tests of a report share: runs, their pages, and a browser."""

import contextlib
import os
import pathlib
import tempfile
import unittest

import tiny_runs
from browser import Browser
from report_page import ReportPage

LOSSES = ("recall_at_k", "supcon", "triplet")
QUERIES, NEIGHBOURS, RUN_IMAGES = 5, 4, 48
DESKTOP, PHONE = 1200, 390


class Shared:
    """Filled by prepared(). By the name of a page, "one", "three", "long" or
    "study": the folders of its runs, and its file."""

    browser = None
    runs = {}
    pages = {}


shared = Shared()


@contextlib.contextmanager
def prepared():
    """With runs that were trained, their pages, and a browser."""
    with tempfile.TemporaryDirectory() as folder:
        program, root = os.environ["KITH_PROGRAM"], pathlib.Path(folder)
        shared.runs = _train(program, root)
        for name, runs in shared.runs.items():
            shared.pages[name] = root / f"{name}.html"
            more = [] if name == "study" else ["--no-network"] if (
                name == "long") else [
                "--queries", QUERIES, "--neighbours", NEIGHBOURS]
            tiny_runs.kith(program, "report", *runs, "--out",
                           shared.pages[name], "--device", "cpu", "--threads",
                           1, *more)
        shared.browser = Browser()
        try:
            yield
        finally:
            shared.browser.close()


def _train(program, root):
    first, *others = LOSSES
    runs = {"one": [tiny_runs.train(program, root, first)]}
    tiny_runs.kith(program, "eval", runs["one"][0], "--corruptions",
                   "jpeg,rotation", "--diagnostics", "--device", "cpu",
                   "--threads", 1)
    runs["three"] = runs["one"] + [tiny_runs.train(program, root, loss)
                                   for loss in others]
    runs["long"] = [tiny_runs.lengthen(runs["one"][0], root / "long")]
    runs["study"] = [tiny_runs.sweep(program, root)]
    return runs


class ReportTest(unittest.TestCase):
    def open(self, name, width=DESKTOP, dark=False, scripts=True):
        shared.browser.allow_scripts(scripts)
        shared.browser.show_as(width=width, dark=dark)
        shared.browser.open(shared.pages[name])
        page = ReportPage(shared.browser)
        self.addCleanup(shared.browser.allow_scripts, True)
        return page

    def expect_none(self, faults):
        if faults:
            self.fail("\n".join([f"{len(faults)} faults", *faults[:20]]))
