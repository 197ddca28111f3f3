"""The page of `kith serve` with several indexes."""

import page_checks
from serve_case import LOOKS, ServeTest, shared


class Indexes(ServeTest):
    def setUp(self):
        half = len(shared.tiny.items) // 2
        self.less = shared.tiny.without(shared.tiny.items[half:])
        self.server = self.serve(options=["--index", f"less={self.less}"])

    def choose(self, page, name):
        shared.browser.run("""
            const field = document.getElementById("index");
            field.value = arguments[0];
            field.dispatchEvent(new Event("change"));""", name)
        count = (len(shared.tiny.items) if name == "index"
                 else len(shared.tiny.items) // 2)
        page.wait(f"index {name}",
                  lambda: page.text("#about").startswith(f"{count} images"))

    def test_one_is_not_asked_for(self):
        self.assertFalse(self.open().shows("#which"))

    def test_a_picture_is_searched_with_in_both(self):
        page = self.open(self.server)
        self.assertTrue(page.shows("#which"))
        path, label = shared.tiny.queries[-1]
        page.upload(path)
        self.assertEqual(page.hits()[0]["label"], label)
        self.choose(page, "less")
        page.wait("other results", lambda: not page.is_busy()
                  and page.hits()[0]["label"] != label)
        self.assertEqual(page.query()["name"], path.name)
        self.assertIn("#index=less&picture=", shared.browser.driver.current_url)
        shared.browser.driver.back()
        page.wait("the first results", lambda: not page.is_busy()
                  and page.hits() and page.hits()[0]["label"] == label)
        self.expect_quiet(page)

    def test_items_are_searched_with_where_they_are(self):
        page = self.open(self.server, hash="#index=less&item=2")
        page.wait_for_item(shared.tiny.items[2][0])
        page.hit(0).click()
        page.wait("another item", lambda: not page.is_busy()
                  and page.query()["detail"] != str(shared.tiny.items[2][0]))
        self.assertIn("#index=less&item=", shared.browser.driver.current_url)
        self.choose(page, "index")
        page.wait("nothing found", lambda: not page.shows("#outcome"))
        page.surprise()
        self.assertNotIn("index=", shared.browser.driver.current_url)
        # An index that is not served.
        page.open("#index=none&item=2")
        self.assertFalse(page.shows("#outcome"))
        self.expect_quiet(page)

    def test_all_looks(self):
        for width, dark in LOOKS:
            with self.subTest(width=width, dark=dark):
                page = self.open(self.server, width, dark,
                                 hash="#index=less&item=3")
                page.wait_for_item(shared.tiny.items[3][0])
                self.expect_none(page_checks.width_faults(shared.browser,
                                                          width))
                self.expect_none(page_checks.name_faults(shared.browser))
