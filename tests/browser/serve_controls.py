"""The class and the number of results on the page of `kith serve`."""

from serve_case import ServeTest, shared
from tiny_server import CLASSES, HELD_OUT, PER_CLASS

OF_A_CLASS = PER_CLASS - HELD_OUT
# Keys as WebDriver names them.
HOME, END, RIGHT = "\ue011", "\ue010", "\ue014"


class Controls(ServeTest):
    def open_item(self):
        page = self.open(hash="#item=5")
        page.wait_for_item(shared.tiny.items[5][0])
        return page

    def wait_for_class(self, page, label):
        page.wait(f"only {label}", lambda: page.hits() and all(
            hit["label"] == label for hit in page.hits()))

    def test_class_and_count(self):
        page = self.open_item()
        page.choose_class("glyph 4")
        self.wait_for_class(page, "glyph 4")
        page.choose_count(3)
        page.wait("three hits", lambda: len(page.hits()) == 3)
        page.choose_count(100)
        page.wait("the class", lambda: len(page.hits()) == OF_A_CLASS)
        page.choose_class("")
        page.wait("all classes", lambda: len(page.hits()) == 100)
        self.expect_quiet(page)

    def test_count_by_keyboard(self):
        page = self.open_item()
        slider = shared.browser.find("#count")
        for keys, count in ((HOME, 1), (RIGHT * 2, 3), (END, 100)):
            slider.send_keys(keys)
            page.wait(f"{count} hits", lambda: len(page.hits()) == count)
            self.assertEqual(page.text("#count-shown"), str(count))
            self.expect_focus("count")
        self.expect_quiet(page)

    def test_class_by_keyboard(self):
        page = self.open_item()
        # It is searched as soon as it is complete.
        shared.browser.find("#class").send_keys("glyph 4")
        self.wait_for_class(page, "glyph 4")
        self.expect_focus("class")
        self.expect_quiet(page)

    def test_class_in_other_letters(self):
        page = self.open_item()
        page.choose_class("GLYPH 4")
        self.wait_for_class(page, "glyph 4")
        self.assertEqual(page.text("#class-hint"), "")
        field = shared.browser.find("#class")
        self.assertEqual([field.get_dom_attribute(name) for name
                          in ("autocapitalize", "autocorrect")],
                         ["none", "off"])
        self.expect_quiet(page)

    def test_classes_that_differ_in_capitals(self):
        self.run_before_pages("""
            const send = window.fetch;
            const told = {classes: ["Sun", "sun"].map(
                (label) => ({label, count: 1}))};
            window.fetch = (path, options) => path === "/api/classes"
                ? Promise.resolve(Response.json(told)) : send(path, options);
            """)
        page = self.open()
        page.choose_class("SUN")
        page.wait("hint", lambda: page.text("#class-hint"))
        page.choose_class("Sun")
        page.wait("no hint", lambda: not page.text("#class-hint"))

    def test_offered_classes(self):
        self.open()
        self.assertEqual(shared.browser.run("""
            return [...document.querySelectorAll("#classes option")].map(
                (option) => option.value);"""),
            CLASSES)

    def test_wrong_class(self):
        page = self.open_item()
        page.choose_class("glyph 77")
        page.wait("hint", lambda: page.text("#class-hint"))
        self.assertIn("glyph 77", page.text("#class-hint"))
        page.choose_class("glyph 7")
        page.wait("no hint", lambda: not page.text("#class-hint"))
