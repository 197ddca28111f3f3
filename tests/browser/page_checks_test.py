"""The checks of page_checks.py find what is planted in small pages, and nothing
in a good one."""

import pathlib
import tempfile
import unittest

from browser import Browser, need_browser

need_browser()

import page_checks  # noqa: E402

# A square of one colour, eight pixels wide.
SQUARE = ("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' "
          "width='8' height='8'%3E%3Crect width='8' height='8' fill='red'/%3E"
          "%3C/svg%3E")

POLICY = ("<meta http-equiv='Content-Security-Policy' content=\"default-src "
          "'none'; img-src data:; style-src 'unsafe-inline'; script-src "
          "'unsafe-inline'\">")

STYLE = """
:root { color-scheme: light dark; }
body { background: #fff; color: #222; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden;
  color: #fff; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee; }
  text { fill: #eee; } a { color: #9cf; } }
"""

GOOD = f"""
<h1>Page</h1><h2>Part</h2><h3>Part of it</h3><h2>Part</h2>
<p id="p">Text, <a href="#p">a link</a> and <button>a button</button>
<span class="unseen">for screen readers</span></p>
<details><summary>More</summary><p>Text</p></details>
<label>Name <input></label>
<img src="{SQUARE}" alt="A square">
<div role="img" aria-label="A square" style="width:8px;height:8px;
  background-image:url(&quot;{SQUARE}&quot;)"></div>
<figure tabindex="0" aria-label="A chart"><svg viewBox="0 0 90 20" width="90"
  role="img" aria-label="A line"><text y="15">9</text>
  <image href="{SQUARE}" width="8" height="8"/></svg></figure>
<table><tr><th>Head</th></tr><tr><td>1</td></tr></table>
<div style="overflow-x:auto"><div style="width:3000px">wide</div></div>
"""


def page(body, style="", policy=POLICY, html="<html lang='en'>"):
    return (f"<!doctype html>{html}<head><meta charset='utf-8'>{policy}"
            "<meta name='viewport' content='width=device-width'>"
            f"<title>Page</title><link rel='icon' href='data:,'>"
            f"<style>{STYLE}{style}</style></head><body>{body}</body></html>")


class PageChecks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def open(self, html, **how):
        path = pathlib.Path(self.folder.name) / "page.html"
        path.write_text(html, encoding="utf-8")
        self.browser.show_as(**how)
        self.browser.open(path)

    def faults(self, check, body, **how):
        self.open(page(body, **how))
        return check(self.browser)

    def expect(self, check, body, *words, **how):
        """Exactly as many faults as words, each with its word."""
        faults = self.faults(check, body, **how)
        self.assertEqual(len(faults), len(words), faults)
        for fault, word in zip(faults, words):
            self.assertIn(word, fault)

    def test_a_good_page_has_no_faults(self):
        for dark in (False, True):
            for width in (390, 1200):
                self.open(page(GOOD), width=width, dark=dark)
                for check in (page_checks.console_faults,
                              page_checks.request_faults,
                              page_checks.policy_faults,
                              page_checks.name_faults,
                              page_checks.structure_faults,
                              page_checks.contrast_faults,
                              page_checks.picture_faults):
                    self.assertEqual(check(self.browser), [], check.__name__)
                self.assertEqual(
                    page_checks.width_faults(self.browser, width), [])

    def test_messages(self):
        check = page_checks.console_faults
        self.expect(check, "<script>null.x</script>", "SEVERE")
        self.expect(check, "<script>console.warn('planted')</script>",
                    "planted")
        self.expect(check, "<script>console.log('no fault')</script>")

    def test_requests(self):
        check = page_checks.request_faults
        self.expect(check, "<img src='http://127.0.0.1:9/x.png' alt='x'>",
                    "x.png", policy="")
        self.expect(check, "<script src='other.js'></script>", "other.js",
                    policy="")
        self.expect(check, "<script>fetch('http://127.0.0.1:9/y').catch("
                    "() => 0)</script>", "/y", policy="")

    def test_policy(self):
        check = page_checks.policy_faults
        self.expect(check, "", "no content", policy="")
        start = "<meta http-equiv='content-security-policy' content=\""
        self.expect(check, "", "does not name",
                    policy=start + "img-src data:\">")
        self.expect(check, "", "example.org", policy=start + "default-src "
                    "'none'; img-src https://example.org\">")

    def test_names(self):
        check = page_checks.name_faults
        self.expect(check, "<button></button>", "<button>")
        self.expect(check, "<a href='#'><svg width='9' height='9'></svg></a>",
                    "<a ")
        self.expect(check, "<input>", "<input>")
        self.expect(check, "<details><summary></summary>x</details>",
                    "<summary>")
        self.expect(check, "<figure tabindex='0'>x</figure>", "<figure")
        self.expect(check, f"<img src=\"{SQUARE}\" title=''>", "<img")
        self.expect(check, "<div role='img' style='width:9px'>.</div>",
                    "role=\"img\"")

    def test_structure(self):
        check = page_checks.structure_faults
        self.expect(check, "<h1>a</h1>", "language", html="<html>")
        self.expect(check, "<h1>a</h1><h1>b</h1>", "2 headings h1")
        self.expect(check, "<h1>a</h1><h3>b</h3>", "skips from h1")
        self.expect(check, "<h1>a</h1><p id='i'></p><p id='i'></p>", "twice")
        self.expect(check, "<h1>a</h1><a href='#no'>b</a>", "nowhere")
        self.expect(check, "<h1>a</h1><p aria-labelledby='no'></p>",
                    "aria-labelledby of nothing")
        self.expect(check, "<h1>a</h1><table><tr><td>1</td></tr></table>",
                    "header cells")
        self.expect(check, f"<h1>a</h1><img src=\"{SQUARE}\">", "no alt")

    def test_contrast(self):
        check = page_checks.contrast_faults
        # 4.48 and 4.54 against white, by the published formula.
        self.expect(check, "<p style='color:#777'>x</p>", "4.48")
        self.expect(check, "<p style='color:#767676'>x</p>")
        self.expect(check, "<p style='color:#777;font-size:24px'>x</p>")
        self.expect(check, "<b style='color:#777;font-size:19px'>x</b>")
        self.expect(check, "<p style='opacity:.5'>x</p>", "contrast")
        self.expect(check, "<div style='background:#222'><p>x</p></div>",
                    "1.00")
        self.expect(check, "<div style='background:rgb(0 0 0/.6)'><p>x</p>"
                    "</div>", "contrast")
        self.expect(check, "<svg><text y='20' style='fill:#ccc'>x</text></svg>",
                    "1.61")
        self.expect(check, "<p style='color:#ccc;display:none'>x</p>"
                    "<p style='color:#ccc;visibility:hidden'>x</p>")

    def test_contrast_of_the_dark_theme(self):
        self.open(page("<p style='color:#222'>x</p>"), dark=True)
        faults = page_checks.contrast_faults(self.browser)
        self.assertEqual(len(faults), 1, faults)

    def test_pictures(self):
        check = page_checks.picture_faults
        broken = "data:image/png;base64,AAAA"
        self.expect(check, f"<img src='{broken}' alt='x'>", "not loaded")
        self.expect(check, "<div role='img' aria-label='x'></div>",
                    "no picture")
        self.expect(check, "<div role='img' aria-label='x' style='background-"
                    f"image:url({broken})'></div>", "not loaded")
        self.expect(check, f"<svg><image href='{broken}'/></svg>",
                    "not loaded")

    def test_width(self):
        self.open(page("<p style='width:500px'>x</p>"), width=390)
        faults = page_checks.width_faults(self.browser, 390)
        self.assertIn("390", faults[0])
        self.assertIn("width:500px", faults[1])

    def test_scripts_can_be_turned_off(self):
        body = "<p>x</p><script>document.title = 'ran'</script>"
        for allowed, title in ((False, "Page"), (True, "ran")):
            self.browser.allow_scripts(allowed)
            self.open(page(body))
            self.assertEqual(self.browser.driver.title, title)


if __name__ == "__main__":
    unittest.main()
