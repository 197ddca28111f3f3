"""`kith report` in a real browser: one run, three runs, and one of 200 epochs.

KITH_PROGRAM is the program. KITH_SCREENSHOTS, if it is set, names a folder for
pictures of the pages.
"""

import os
import pathlib
import unittest

from browser import need_browser

need_browser()

import page_checks  # noqa: E402
import tiny_runs  # noqa: E402
from report_case import (DESKTOP, LOSSES, PHONE, ReportTest,  # noqa: E402
                         prepared, shared)
from report_charts import Charts  # noqa: E402, F401
from report_page import ReportPage  # noqa: E402
from report_pictures import Pictures  # noqa: E402, F401

ALWAYS = ["results", "curves", "examples", "similarities", "spectrum", "ranks",
          "classes", "confused", "lookalikes", "hubs", "duplicates",
          "activations", "scatter", "cost", "run"]


class EveryPage(ReportTest):
    """What holds for any page, in all sizes and themes."""

    def test_nothing_is_wrong_with_it(self):
        for name in shared.pages:
            for width in (DESKTOP, PHONE):
                for dark in (False, True):
                    with self.subTest(page=name, width=width, dark=dark):
                        self.open(name, width, dark)
                        self.check_all(width)
                        self.save_picture(name, width, dark)

    def check_all(self, width):
        faults = page_checks.structure_faults(shared.browser)
        faults += page_checks.picture_faults(shared.browser)
        faults += page_checks.policy_faults(shared.browser)
        faults += page_checks.width_faults(shared.browser, width)
        ReportPage(shared.browser).unfold()
        faults += page_checks.width_faults(shared.browser, width)
        faults += page_checks.name_faults(shared.browser)
        faults += page_checks.contrast_faults(shared.browser)
        faults += page_checks.console_faults(shared.browser)
        faults += page_checks.request_faults(shared.browser)
        self.expect_none(faults)

    def save_picture(self, name, width, dark):
        where = os.environ.get("KITH_SCREENSHOTS")
        if not where:
            return
        os.makedirs(where, exist_ok=True)
        kind = "phone" if width == PHONE else "desktop"
        theme = "dark" if dark else "light"
        shared.browser.open(shared.pages[name])  # folded again
        shared.browser.save_picture(
            pathlib.Path(where) / f"{name}-{kind}-{theme}.png")

    def test_themes_differ(self):
        colours = []
        for dark in (False, True):
            self.open("one", dark=dark)
            colours.append(shared.browser.run(
                "return getComputedStyle(document.body).backgroundColor"))
        self.assertNotEqual(*colours)

    def test_without_scripts_all_is_shown(self):
        for name in shared.pages:
            for dark in (False, True):
                with self.subTest(page=name, dark=dark):
                    page = self.open(name, dark=dark, scripts=False)
                    # What tabs hide otherwise is checked here too.
                    self.check_all(DESKTOP)
                    self.assertTrue(page.sections())
                    self.assertEqual(page.hidden_in_sections(), [])


class Sections(ReportTest):
    def test_of_one_run(self):
        page = self.open("one")
        self.assertCountEqual(page.sections(), ALWAYS + ["corruptions"])

    def test_of_three_runs(self):
        page = self.open("three")
        self.assertCountEqual(page.sections(),
                              ALWAYS + ["corruptions", "differences"])
        differences = shared.browser.find("#differences").text
        for word in LOSSES + ("loss.name",):
            self.assertIn(word, differences)
        self.assertNotIn("loss.margin", differences)  # of triplet alone
        results = shared.browser.find("#results").text
        self.assertGreaterEqual(results.count("before "), len(LOSSES))

    def test_of_a_study(self):
        page = self.open("study")
        self.assertEqual(page.sections(), ["results", "values", "curves",
                                           "figures", "best", "run"])
        self.assertIn("All 4 runs are finished",
                      shared.browser.find(".lead").text)
        links = shared.browser.find_all("#best a")
        self.assertEqual(len(links), 4)

    def test_of_a_run_without_network(self):
        page = self.open("long")
        for name in ("results", "curves", "cost", "run"):
            self.assertIn(name, page.sections())
        for name in ("examples", "activations", "scatter"):
            self.assertNotIn(name, page.sections())

    def test_are_in_the_contents_in_their_order(self):
        for name in shared.pages:
            page = self.open(name)
            links = [link.get_attribute("href").split("#")[1]
                     for link in shared.browser.find_all("nav a")]
            self.assertEqual(links, page.sections())

    def test_numbers_are_those_of_the_run(self):
        self.open("one")
        last = tiny_runs.read_metrics(shared.runs["one"][0])["last"]["metrics"]
        text = shared.browser.find("#results").text
        for name, value in last.items():
            self.assertIn(f"{100 * value:.2f}", text, name)
        self.assertIn("61.5", text)
        self.assertIn("A paper", text)
        self.assertIn("1000 bootstrap resamples", text)
        self.assertRegex(text, r"\[\d+\.\d\d, \d+\.\d\d\]")
        self.assertIn("chosen on the test split", text)


class Speed(ReportTest):
    def test_two_hundred_epochs_open_within_a_second(self):
        seconds = []
        for _ in range(3):
            self.open("long")
            seconds.append(shared.browser.load_seconds())
        self.assertLess(min(seconds), 1.0)

    def test_sizes(self):
        for name, path in shared.pages.items():
            self.assertLess(path.stat().st_size, 20e6, name)


if __name__ == "__main__":
    with prepared():
        unittest.main()
