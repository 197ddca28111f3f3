"""Examples, activation maps and scatters of a report."""

import page_checks
from report_case import (NEIGHBOURS, PHONE, QUERIES, RUN_IMAGES, ReportTest,
                         shared)


class Pictures(ReportTest):
    def test_examples_have_their_queries_and_neighbours(self):
        for name in ("one", "three"):
            page = self.open(name)
            sizes = []
            for examples in page.examples():
                self.check_examples(examples, len(shared.runs[name]))
                sizes.append(len(examples))
            self.assertEqual(sizes[:2], [QUERIES, QUERIES])
            # The most improved: no more than have improved.
            self.assertEqual(len(sizes), 2 if name == "one" else 3)
            self.assertLessEqual(sizes[-1], QUERIES)

    def check_examples(self, queries, run_count):
        for query in queries:
            self.assertEqual(len(query["lists"]), run_count)
            for found in query["lists"]:
                self.assertEqual(len(found), NEIGHBOURS)
                for item in found:
                    self.assertEqual(item["right"],
                                     item["label"] == query["label"])
                    self.assertEqual(item["right"], item["marked_right"])
                similarities = [item["similarity"] for item in found]
                self.assertEqual(similarities,
                                 sorted(similarities, reverse=True))

    def test_tabs_by_mouse(self):
        page = self.open("three")
        tabs = page.tabs()
        self.assertEqual(len(tabs), 3)
        self.assertEqual(page.shown_panels(), [True, False, False])
        for chosen in (1, 2, 0):
            tabs[chosen].click()
            self.check_chosen(page, chosen)

    def test_tabs_by_keyboard(self):
        page = self.open("three")
        page.focus_tab()
        for key, chosen in (("ArrowRight", 1), ("ArrowRight", 2),
                            ("ArrowRight", 0), ("ArrowLeft", 2), ("Home", 0),
                            ("End", 2)):
            page.press(key)
            self.check_chosen(page, chosen)

    def check_chosen(self, page, chosen):
        expected = [number == chosen for number in range(3)]
        self.assertEqual(page.shown_panels(), expected)
        self.assertEqual([tab.get_attribute("aria-selected") == "true"
                          for tab in page.tabs()], expected)

    def test_every_tab_has_contrast_and_names(self):
        for dark in (False, True):
            page = self.open("three", PHONE, dark)
            for tab in page.tabs():
                tab.click()
                self.expect_none(
                    page_checks.contrast_faults(shared.browser)
                    + page_checks.name_faults(shared.browser)
                    + page_checks.width_faults(shared.browser, PHONE))

    def test_activation_maps(self):
        for name in ("one", "three"):
            self.open(name)
            rows = shared.browser.find_all("#activations .activation")
            self.assertEqual(len(rows), 6 * len(shared.runs[name]))
            # The image and what matters; of a map of 2 x 2 no channels.
            pictures = shared.browser.find_all("#activations .activation img")
            self.assertEqual(len(pictures), 2 * len(rows))
            self.assertIn("too few to say where",
                          shared.browser.find("#activations").text)

    def test_scatter_shows_the_picture_under_the_pointer(self):
        page = self.open("three")
        scatters = page.scatters()
        self.assertEqual([chart["id"] for chart in scatters], [
            "tsne-0", "scatter-0", "tsne-1", "scatter-1", "tsne-2",
            "scatter-2"])
        for chart in scatters:
            self.assertEqual(len(chart["items"]), RUN_IMAGES)
        classes = set()
        for item in scatters[1]["items"][::7]:
            page.point_at_item(1, item)
            tip, picture = page.tip(), page.tip_picture()
            self.assertTrue(tip)
            self.assertIn("data:image/", picture)
            classes.add(tip)
        self.assertGreater(len(classes), 2)
        page.point_nowhere()
        self.assertIsNone(page.tip())
        self.expect_none(page_checks.console_faults(shared.browser))

    def test_legend_chooses_a_class(self):
        page = self.open("one")
        entries = shared.browser.find_all("#scatter .key button")
        self.assertEqual(len(entries), 6)
        self.assertEqual(page.classes_of_strong_points(), set())
        entries[2].click()
        self.assertEqual(entries[2].get_attribute("aria-pressed"), "true")
        self.assertEqual(page.classes_of_strong_points(), {"2"})
        entries[4].click()
        self.assertEqual(entries[2].get_attribute("aria-pressed"), "false")
        self.assertEqual(page.classes_of_strong_points(), {"4"})
        page.point_at_item(0, page.scatters()[0]["items"][0])
        page.point_nowhere()
        self.assertEqual(page.classes_of_strong_points(), {"4"})
        entries[4].click()
        self.assertEqual(page.classes_of_strong_points(), set())

    def test_scatter_by_keyboard(self):
        page = self.open("one")
        page.focus_chart(page.scatters()[0]["id"])
        page.press("ArrowRight")
        first = page.tip()
        self.assertTrue(first)
        self.assertIn("data:image/", page.tip_picture())
        for _ in range(10):
            page.press("ArrowRight")
        self.assertNotEqual(page.tip(), first)
        page.press("Escape")
        self.assertIsNone(page.tip())
