"""Actions that follow each other quickly: the last one counts."""

from serve_case import ServeTest, shared


class Wishes(ServeTest):
    def drop(self, page, name):
        page.give("drop", shared.server.url + "api/items/7/image", name,
                  "image/jpeg")

    def test_a_slow_picture_then_a_quick_one(self):
        page = self.open()
        page.hold_next("decode")
        self.drop(page, "slow.jpg")
        self.drop(page, "quick.jpg")
        page.wait_for_query("quick.jpg")
        page.release()
        page.wait_for_query("quick.jpg")
        self.expect_quiet(page)

    def test_an_error_that_comes_too_late(self):
        page = self.open()
        page.hold_next("decode")
        page.give("drop", "some words", "words.txt", "text/plain")
        self.drop(page, "quick.jpg")
        page.wait_for_query("quick.jpg")
        page.release()
        self.assertEqual(page.trouble(), "")
        page.wait_for_query("quick.jpg")

    def test_a_slow_picture_then_a_click(self):
        page = self.open(hash="#item=5")
        page.wait_for_item(shared.tiny.items[5][0])
        wanted = page.hits()[0]["path"]
        page.hold_next("decode")
        self.drop(page, "slow.jpg")
        page.hit(0).click()
        page.wait_for_item(wanted)
        page.release()
        page.wait_for_item(wanted)

    def test_surprise_then_a_click(self):
        page = self.open(hash="#item=5")
        page.wait_for_item(shared.tiny.items[5][0])
        wanted = page.hits()[0]["path"]
        page.hold_next("fetch")
        shared.browser.find("#surprise").click()
        page.hit(0).click()
        page.wait_for_item(wanted)
        page.release()
        page.wait_for_item(wanted)
        self.expect_quiet(page)

    def test_many_quick_clicks(self):
        page = self.open()
        shared.browser.run("""
            window.addresses = [];
            navigation.addEventListener("navigate", (event) => {
              window.addresses.push(event.destination.url);
            });
            const button = document.getElementById("surprise");
            for (let i = 0; i < 5; ++i) button.click();""")
        page.wait("an item", lambda: page.query()["kind"] == "From the index"
                  and not page.is_busy())
        page.rest()
        self.assertEqual(
            len(shared.browser.run("return window.addresses")), 1)
        self.expect_quiet(page)

    def test_nothing_before_the_page_is_ready(self):
        self.run_before_pages("""
            const send = window.fetch;
            const gate = new Promise((done) => { window.release = done; });
            window.searches = 0;
            window.fetch = async (path, options) => {
              if (path.startsWith("/api/search")) ++window.searches;
              if (path === "/api/classes") await gate;
              return send(path, options);
            };""")
        shared.browser.driver.get("about:blank")
        shared.browser.driver.get(shared.server.url)
        page = self.page(shared.server)
        page.wait("the request of classes", lambda: shared.browser.run("""
            return performance.getEntriesByType("resource").some(
                (entry) => entry.name.endsWith("/api/info"));"""))
        self.drop(page, "early.jpg")
        page.rest()
        self.assertEqual(shared.browser.run("return window.searches"), 0)
        shared.browser.run("window.release()")
        page.wait("the page", lambda: page.shows("#ask"))
        self.drop(page, "now.jpg")
        page.wait_for_query("now.jpg")
