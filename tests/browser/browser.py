"""A headless Chromium for tests of pages in files."""

import base64
import json
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python"))
from find_python import SKIPPED, need  # noqa: E402


def need_browser():
    """Returns if a browser can be driven; otherwise as find_python.need()."""
    need("selenium")
    missing = [name for name in ("chromium", "chromedriver")
               if not shutil.which(name)]
    if missing:
        print("skipped: no " + " and no ".join(missing))
        sys.exit(1 if os.environ.get("CI") == "true" else SKIPPED)


class Browser:
    """One page at a time, with what it logged and asked for since it was
    opened."""

    def __init__(self):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        # No sandbox: in containers there are no namespaces for it. Shared
        # memory of a container is too small for large pages.
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu",
                     "--disable-dev-shm-usage", "--window-size=1200,900",
                     "--force-device-scale-factor=1"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs",
                               {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(
            options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_script_timeout(60)
        self.url = None
        self._console = []
        self._events = []

    def close(self):
        self.driver.quit()

    def open(self, path):
        """Loads a file, at its top, and forgets what was logged before."""
        self.driver.get("about:blank")
        self._read_logs()
        self._console, self._events = [], []
        self.url = pathlib.Path(path).resolve().as_uri()
        self.driver.get(self.url)

    def run(self, script, *arguments):
        """What the body of a function returns in the page; a promise is
        waited for."""
        return self.driver.execute_script(script, *arguments)

    def cdp(self, command, **parameters):
        """A command of the Chrome DevTools protocol."""
        return self.driver.execute_cdp_cmd(command, parameters)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def find_all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def show_as(self, width=1200, height=900, dark=False):
        """The size of the window in CSS pixels, and the user's theme."""
        self.cdp("Emulation.setDeviceMetricsOverride", width=width,
                 height=height, deviceScaleFactor=1, mobile=width < 600)
        scheme = "dark" if dark else "light"
        self.cdp("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def allow_scripts(self, allowed):
        """Of pages that are opened from now on."""
        self.cdp("Emulation.setScriptExecutionDisabled", value=not allowed)

    def console(self):
        """[(level, message)] since the page was opened."""
        self._read_logs()
        return self._console

    def requests(self):
        """URLs that were asked for since the page was opened."""
        self._read_logs()
        return [event["params"]["request"]["url"] for event in self._events
                if event["method"] == "Network.requestWillBeSent"]

    def load_seconds(self):
        """From the start of the navigation to the end of the load event."""
        return self.run("""
            const timing = performance.getEntriesByType("navigation")[0];
            return (timing.loadEventEnd - timing.startTime) / 1000;""")

    def save_picture(self, path):
        """The whole page as PNG."""
        size = self.cdp("Page.getLayoutMetrics")["cssContentSize"]
        # Chromium draws no more than 16384 pixels in a row or a column.
        clip = {"x": 0, "y": 0, "width": size["width"],
                "height": min(size["height"], 16000), "scale": 1}
        shot = self.cdp("Page.captureScreenshot", captureBeyondViewport=True,
                        clip=clip)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def _read_logs(self):
        # Reading a log empties it.
        self._console += [(entry["level"], entry["message"])
                          for entry in self.driver.get_log("browser")]
        self._events += [json.loads(entry["message"])["message"]
                         for entry in self.driver.get_log("performance")]
