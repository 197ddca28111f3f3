"""Pictures of all kinds that are given to the page of `kith serve`."""

import struct

import page_checks
from serve_case import PHONE, USUAL_COUNT, ServeTest, shared


def tiff(side):
    """A grey square."""
    entries = [(256, side), (257, side), (258, 8), (259, 1), (262, 1),
               (273, 8), (277, 1), (278, side), (279, side * side)]
    return (b"II*\0" + struct.pack("<I", 8 + side * side)
            + bytes([128]) * (side * side) + struct.pack("<H", len(entries))
            + b"".join(struct.pack("<HHII", tag, 4, 1, value)
                       for tag, value in entries) + bytes(4))


class Pictures(ServeTest):
    def test_drop_and_paste(self):
        page = self.open()
        picture = shared.server.url + "api/items/7/image"
        for event in ("drop", "paste"):
            page.give(event, picture, f"{event}.jpg", "image/jpeg")
            page.wait_for_query(f"{event}.jpg")
            self.assertEqual(page.hits()[0]["label"],
                             shared.tiny.items[7][1])
        self.expect_quiet(page)

    def test_camera_where_there_are_fingers(self):
        page = self.open(width=PHONE)
        browser = shared.browser
        self.assertFalse(page.shows("label[for=camera]"))
        browser.cdp("Emulation.setTouchEmulationEnabled", enabled=True)
        self.addCleanup(browser.cdp, "Emulation.setTouchEmulationEnabled",
                        enabled=False)
        page.open()
        self.assertTrue(page.shows("label[for=camera]"))
        self.expect_none(page_checks.name_faults(browser))
        self.expect_none(page_checks.width_faults(browser, PHONE))

    def test_small_ones_are_sent_as_they_are(self):
        page = self.open()
        for kind in ("image/png", "image/jpeg"):
            sent = page.drop_drawing(200, 100, kind, "small", kind)
            self.assertEqual(sent, {"kind": kind, "size": [200, 100],
                                    "same": True})
            page.wait_for_query("small")

    def test_large_photographs_are_scaled_down(self):
        page = self.open()
        sent = page.drop_drawing(3000, 1500, "image/png", "large.png",
                                 "image/png")
        self.assertEqual(sent, {"kind": "image/jpeg", "size": [1024, 512],
                                "same": False})
        page.wait_for_query("large.png")
        self.assertEqual(len(page.hits()), USUAL_COUNT)

    def test_no_more_pixels_than_the_server_takes(self):
        page = self.open(self.serve(options=["--max-pixels", "10000"]))
        sent = page.drop_drawing(200, 100, "image/png", "wide.png",
                                 "image/png")
        self.assertEqual(sent["size"], [141, 70])
        page.wait_for_query("wide.png")
        self.assertEqual(page.trouble(), "")
        self.expect_quiet(page)

    def test_wrong_name_of_a_kind(self):
        page = self.open()
        sent = page.drop_drawing(200, 100, "image/webp", "web.jpg",
                                 "image/jpeg")
        self.assertTrue(sent["same"])  # by its contents the server knows it
        page.wait_for_query("web.jpg")
        self.assertEqual(page.trouble(), "")
        self.expect_quiet(page)

    def test_one_that_only_the_server_reads(self):
        page = self.open()
        path = shared.tiny.index.with_name("scan.tif")
        path.write_bytes(tiff(64))
        page.upload(path)
        self.assertEqual(len(page.hits()), USUAL_COUNT)
        self.assertEqual(page.trouble(), "")
        self.assertIn("image missing", page.text_after("#query .frame"))
        # Its beginning alone: the server tells what is wrong.
        page.give("drop", "II*\0 and so on", "broken.tif", "image/tiff")
        page.wait("error", page.trouble)
        self.assertIn("the picture", page.trouble().lower())

    def test_no_size(self):
        page = self.open()
        page.give("drop", '<svg xmlns="http://www.w3.org/2000/svg" width="0" '
                  'height="0"><circle r="9"/></svg>', "none.svg",
                  "image/svg+xml")
        page.wait("error", page.trouble)
        self.assertIn("none.svg is not a picture", page.trouble())
        self.expect_quiet(page)
