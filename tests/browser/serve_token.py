"""The token that the page of `kith serve` asks for."""

import page_checks
from serve_case import ServeTest, shared

TOKEN = "a-token-of-this-test"


class Token(ServeTest):
    def test_is_asked_for(self):
        page = self.open(self.serve(token=TOKEN))
        self.assertTrue(page.shows("#entry"))
        self.assertFalse(page.shows("#ask"))
        self.expect_quiet(page)
        page.enter_token("another")
        page.wait("hint", lambda: page.text("#token-hint"))
        self.assertFalse(page.shows("#ask"))
        self.expect_focus("token")
        page.forget_messages()  # of the token that was refused
        page.enter_token(TOKEN)
        page.wait("the page", lambda: page.shows("#ask"))
        self.assertFalse(page.shows("#entry"))
        self.expect_focus("file")
        page.upload(shared.tiny.queries[0][0])
        page.wait("pictures", lambda: shared.browser.run("""
            return [...document.querySelectorAll("#hits img")].every(
                (image) => image.src.startsWith("blob:"));"""))
        self.expect_none(page_checks.picture_faults(shared.browser))
        shared.browser.driver.refresh()
        page.wait("the page", lambda: page.shows("#ask"))
        self.assertFalse(page.shows("#entry"))
        self.expect_quiet(page)

    def test_refusal_that_comes_too_late(self):
        page = self.open(self.serve(token=TOKEN))
        page.hold_next("fetch")
        page.enter_token("another")
        page.enter_token(TOKEN)
        page.wait("the page", lambda: page.shows("#ask"))
        page.release()
        self.assertFalse(page.shows("#entry"))
        page.upload(shared.tiny.queries[0][0])
