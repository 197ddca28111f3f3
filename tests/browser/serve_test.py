"""`kith serve` in a real browser: its page on a small index.

KITH_PROGRAM is the program. KITH_SCREENSHOTS, if it is set, names a folder for
pictures of the page.
"""

import os
import pathlib
import unittest

from browser import need_browser

need_browser()

import page_checks  # noqa: E402
from serve_case import (LOOKS, PHONE, USUAL_COUNT, ServeTest,  # noqa: E402
                        prepared, shared)
from serve_controls import Controls  # noqa: E402, F401
from serve_indexes import Indexes  # noqa: E402, F401
from serve_pictures import Pictures  # noqa: E402, F401
from serve_token import TOKEN, Token  # noqa: E402, F401
from serve_wishes import Wishes  # noqa: E402, F401
from tiny_server import CLASSES, HELD_OUT  # noqa: E402


class EveryState(ServeTest):
    """What holds for the page in all sizes and themes, whatever it shows."""

    def check(self, state, width, dark):
        browser = shared.browser
        faults = page_checks.structure_faults(browser)
        faults += page_checks.name_faults(browser)
        faults += page_checks.contrast_faults(browser)
        faults += page_checks.width_faults(browser, width)
        self.expect_none(faults)
        where = os.environ.get("KITH_SCREENSHOTS")
        if where:
            os.makedirs(where, exist_ok=True)
            look = "phone" if width == PHONE else "desktop"
            theme = "dark" if dark else "light"
            browser.save_picture(
                pathlib.Path(where) / f"serve-{state}-{look}-{theme}.png")

    def test_start_results_and_error(self):
        for width, dark in LOOKS:
            with self.subTest(width=width, dark=dark):
                page = self.open(width=width, dark=dark)
                self.check("start", width, dark)
                # With the longest name.
                page.upload(shared.tiny.queries[-1][0])
                self.expect_none(page_checks.picture_faults(shared.browser))
                self.check("results", width, dark)
                page.choose_class("no such class")
                page.give("drop", "some words", "words.txt", "text/plain")
                page.wait("error", page.trouble)
                self.check("error", width, dark)
                self.expect_quiet(page)

    def test_token(self):
        guarded = self.serve(token=TOKEN)
        for width, dark in LOOKS:
            with self.subTest(width=width, dark=dark):
                page = self.open(guarded, width, dark)
                self.check("token", width, dark)
                self.expect_quiet(page)

    def test_nothing_is_like_the_picture(self):
        server = self.serve(options=["--threshold", "1"])
        for width, dark in LOOKS:
            with self.subTest(width=width, dark=dark):
                page = self.open(server, width, dark)
                page.upload(shared.tiny.queries[0][0])
                self.assertIn("Nothing like this here: all are below the "
                              "threshold 1.000.", page.text("#state"))
                self.assertEqual(len(shared.browser.find_all("#hits .unlike")),
                                 USUAL_COUNT)
                self.check("threshold", width, dark)
                self.expect_quiet(page)

    def test_missing_images(self):
        path = shared.tiny.items[5][0]
        hidden = path.with_suffix(".moved")
        path.rename(hidden)
        self.addCleanup(hidden.rename, path)
        server = self.serve()
        for width, dark in LOOKS:
            with self.subTest(width=width, dark=dark):
                page = self.open(server, width, dark, hash="#item=5")
                page.wait_for_item(path)
                page.wait("missing query",
                          lambda: page.shows("#query .missing"))
                self.assertFalse(any(hit["missing"] for hit in page.hits()))
                self.check("missing", width, dark)
                page.hit(0).click()
                page.wait("missing hit", lambda: [
                    hit["path"] for hit in page.hits() if hit["missing"]
                ] == [str(path)])
                self.assertIn("image missing",
                              page.text_after("#hits .missing"))
                # Only the images that are missing were told of.
                self.expect_none([message for message in page.messages()
                                  if "api/items/5/image" not in message])


class Searching(ServeTest):
    def test_right_class_first(self):
        page = self.open()
        right = 0
        for path, label in shared.tiny.queries[::HELD_OUT]:
            # Names are the same in all classes: back to the start between.
            page.open()
            page.upload(path)
            hits = page.hits()
            self.assertEqual(len(hits), USUAL_COUNT)
            right += hits[0]["label"] == label
        self.assertGreaterEqual(right, 0.7 * len(CLASSES))

    def test_image_of_the_index_finds_itself(self):
        page = self.open()
        path, label = shared.tiny.items[20]
        page.upload(path)
        first, *others = page.hits()
        self.assertEqual(first["path"], str(path))
        self.assertEqual(first["label"], label)
        self.assertGreaterEqual(first["similarity"], 0.999)
        similarities = [first["similarity"]] + [hit["similarity"]
                                                for hit in others]
        self.assertEqual(similarities, sorted(similarities, reverse=True))
        self.assertEqual([first["rank"]] + [hit["rank"] for hit in others],
                         list(range(1, USUAL_COUNT + 1)))
        self.assertIn(f"{USUAL_COUNT} images", page.text("#state"))
        self.expect_quiet(page)

    def test_threshold(self):
        page = self.open(hash="#item=5")
        page.wait_for_item(shared.tiny.items[5][0])
        found = [hit["similarity"] for hit in page.hits()]
        self.assertNotIn("threshold", page.text("#state"))
        threshold = (found[3] + found[8]) / 2
        page = self.open(self.serve(options=["--threshold", f"{threshold}"]),
                         hash="#item=5")
        page.wait_for_item(shared.tiny.items[5][0])
        below = sum(similarity < threshold for similarity in found)
        self.assertEqual(len(shared.browser.find_all("#hits .unlike")), below)
        self.assertIn(f"{below} are below the threshold {threshold:.3f}",
                      page.text("#state"))

    def test_long_names_can_be_read(self):
        path, label = shared.tiny.items[-1]
        page = self.open()
        page.upload(path)
        self.assertEqual(page.hit(0).get_attribute("title"),
                         f"{label}\n{path}")

    def test_click_and_back(self):
        page = self.open()
        path = shared.tiny.queries[0][0]
        page.upload(path)
        before = page.hits()
        page.hit(2).click()
        page.wait_for_item(before[2]["path"])
        self.assertEqual(page.query()["name"], before[2]["label"])
        self.assertNotIn(before[2]["path"],
                         [hit["path"] for hit in page.hits()])
        self.expect_focus("outcome-title")
        shared.browser.driver.back()
        page.wait_for_query(path.name)
        self.assertEqual(page.hits(), before)
        shared.browser.driver.forward()
        page.wait_for_item(before[2]["path"])
        self.expect_quiet(page)

    def test_title_and_back(self):
        page = self.open()
        path = shared.tiny.queries[0][0]
        page.upload(path)
        before = page.hits()
        shared.browser.find("h1 a").click()
        page.wait("the start", lambda: page.shows("#how")
                  and not page.shows("#outcome"))
        shared.browser.driver.back()
        page.wait("the results", lambda: page.shows("#outcome"))
        page.wait_for_query(path.name)
        self.assertEqual(page.hits(), before)

    def test_address_of_an_item(self):
        page = self.open(hash="#item=5")
        page.wait_for_item(shared.tiny.items[5][0])
        page.open("#item=100000")
        page.wait("error", page.trouble)
        self.assertIn("no item 100000", page.trouble())

    def test_keyboard(self):
        page = self.open(hash="#item=5")
        page.wait_for_item(shared.tiny.items[5][0])
        wanted = page.hits()[1]["path"]
        page.hit(1).send_keys("\n")
        page.wait_for_item(wanted)

    def test_surprise(self):
        page = self.open()
        page.surprise()
        self.assertEqual(page.query()["kind"], "From the index")
        self.assertEqual(len(page.hits()), USUAL_COUNT)
        self.expect_quiet(page)

    def test_surprise_never_takes_what_was_removed(self):
        items = shared.tiny.items
        half = len(items) // 2
        page = self.open(self.serve(index=shared.tiny.without(items[:half])))
        left = [str(path) for path, _ in items[half:]]
        for _ in range(5):
            page.surprise()
            self.assertIn(page.query()["detail"], left)
        self.expect_quiet(page)


class Errors(ServeTest):
    def test_not_a_picture(self):
        page = self.open()
        page.give("drop", "some words", "words.txt", "text/plain")
        page.wait("error", page.trouble)
        self.assertIn("words.txt is not a picture", page.trouble())
        self.assertFalse(page.shows("#trouble .again"))
        shared.browser.find("#trouble .close").click()
        self.assertEqual(page.trouble(), "")
        self.expect_focus("file")
        page.upload(shared.tiny.queries[0][0])
        self.expect_quiet(page)

    def test_error_is_in_sight(self):
        page = self.open(width=PHONE, hash="#item=5")
        page.wait_for_item(shared.tiny.items[5][0])
        page.choose_count(60)
        page.wait("many hits", lambda: len(page.hits()) == 60)
        shared.browser.run("window.scrollTo(0, 1e6);")
        page.give("drop", "some words", "words.txt", "text/plain")
        page.wait("error", page.trouble)
        top, bottom = shared.browser.run("""
            const box = document.querySelector("#trouble .box");
            const {top, bottom} = box.getBoundingClientRect();
            return [top, innerHeight - bottom];""")
        self.assertGreaterEqual(top, 0)
        self.assertGreaterEqual(bottom, 0)

    def test_reload_forgets_a_picture(self):
        page = self.open()
        first, second = (path for path, _ in shared.tiny.queries[:2])
        page.upload(first)
        shared.browser.driver.refresh()
        page.wait("error", page.trouble)
        self.assertIn("Choose it again", page.trouble())
        page.upload(second)
        self.assertEqual(page.trouble(), "")
        self.assertEqual(len(page.hits()), USUAL_COUNT)
        shared.browser.driver.back()
        page.wait("error", page.trouble)
        self.assertIn("Choose it again", page.trouble())
        self.expect_quiet(page)

    def test_server_is_gone_and_comes_back(self):
        other = self.serve()
        page = self.open(other, hash="#item=5")
        page.wait_for_item(shared.tiny.items[5][0])
        wanted = page.hits()[0]["path"]
        self.assertEqual(other.stop(), 0)
        page.hit(0).click()
        page.wait("error", page.trouble)
        self.assertIn("does not answer", page.trouble())
        self.serve(port=other.port)
        shared.browser.find("#trouble .again").click()
        page.wait_for_item(wanted)
        self.assertEqual(page.trouble(), "")
        # Only the requests that failed were told of.
        self.expect_none([message for message in page.messages()
                          if "ERR_CONNECTION_REFUSED" not in message])


if __name__ == "__main__":
    with prepared():
        unittest.main()
