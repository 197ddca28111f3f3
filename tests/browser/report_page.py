"""What a report's page shows, as its HTML says: see kith/report/report.h."""

import re


class ReportPage:
    def __init__(self, browser):
        self.browser = browser

    def sections(self):
        """Their ids, in order."""
        return self.browser.run("""
            return [...document.querySelectorAll("main section[id]")]
                .map((section) => section.id);""")

    def hidden_in_sections(self):
        """Elements of sections that are not shown, but for folded details and
        the list that a script reads."""
        return self.browser.run("""
            return [...document.querySelectorAll("main section *")].filter(
                (e) => !e.closest("details, svg, [id^=scatter-items]") &&
                    !e.checkVisibility())
                .map((e) => e.outerHTML.slice(0, 120));""")

    def unfold(self):
        """Opens all details."""
        self.browser.run("""
            for (const each of document.querySelectorAll("details")) {
              each.open = true;
            }""")

    def charts(self, inside=""):
        """[{id, title, texts, x, y, box, series: [{name, points}]}]."""
        return self.browser.run(r"""
            const pairs = (text) => text.split(" ").map(
                (point) => point.split(",").map(Number));
            return [...document.querySelectorAll(
                arguments[0] + "figure[data-chart]")].map((figure) => {
              const axes = figure.querySelector("svg g.axes");
              return {
                id: figure.dataset.chart,
                title: figure.querySelector("svg").ariaLabel ||
                    figure.querySelector("svg title").textContent,
                texts: figure.querySelectorAll("svg text").length,
                x: axes && axes.dataset.x, y: axes && axes.dataset.y,
                box: axes && axes.dataset.box.split(" ").map(Number),
                series: [...figure.querySelectorAll("svg g.series")].map(
                    (g) => ({name: g.dataset.name,
                             points: pairs(g.dataset.points)}))};
            });""", inside)

    def chart(self, name):
        (chart,) = [one for one in self.charts() if one["id"] == name]
        return chart

    def point_at(self, chart, left, top):
        """Moves the pointer to a place in the view box of a chart."""
        place = self.browser.run("""
            const svg = document.querySelector(
                `figure[data-chart="${arguments[0]}"] svg`);
            svg.scrollIntoView({block: "center"});
            const place = new DOMPoint(arguments[1], arguments[2])
                .matrixTransform(svg.getScreenCTM());
            return [place.x, place.y];""", chart, left, top)
        self._move(*place)

    def point_nowhere(self):
        self._move(1, 1)

    def _move(self, x, y):
        self.browser.cdp("Input.dispatchMouseEvent", type="mouseMoved", x=x,
                         y=y)
        self._wait_for_a_frame()

    def _wait_for_a_frame(self):
        self.browser.run("""return new Promise((done) =>
            requestAnimationFrame(() => requestAnimationFrame(done)));""")

    def tip(self):
        """What is told under the pointer; None if nothing is."""
        return self.browser.run("""
            const tip = document.getElementById("tip");
            if (!tip || !tip.checkVisibility({visibilityProperty: true,
                                              opacityProperty: true})) {
              return null;
            }
            return tip.innerText.trim() || null;""")

    def tip_picture(self):
        """The source of the picture in the tip; empty without one."""
        return self.browser.run("""
            for (const e of document.querySelectorAll("#tip, #tip *")) {
              const source = e.tagName === "IMG" ? e.src
                  : getComputedStyle(e).backgroundImage;
              if (source.includes("data:") &&
                  e.getBoundingClientRect().width > 0) {
                return source;
              }
            }
            return "";""")

    def focus_chart(self, name):
        self.browser.run("""
            const figure = document.querySelector(
                `figure[data-chart="${arguments[0]}"]`);
            (figure.matches("[tabindex]") ? figure
                : figure.querySelector("[tabindex]")).focus();""", name)

    def press(self, key):
        """A key, to whatever has the focus."""
        for kind in ("keyDown", "keyUp"):
            self.browser.cdp("Input.dispatchKeyEvent", type=kind, key=key,
                             code=key)
        self._wait_for_a_frame()

    def tabs(self):
        return self.browser.find_all('#examples [role="tab"]')

    def focus_tab(self):
        """The only one that the tab key reaches."""
        self.browser.run("""document.querySelector(
            '#examples [role="tab"]:not([tabindex="-1"])').focus();""")

    def shown_panels(self):
        return self.browser.run("""
            return [...document.querySelectorAll("#examples .panel")].map(
                (panel) => panel.checkVisibility());""")

    def examples(self):
        """[[{label, lists: [[{label, right, marked_right, similarity}]]}]]:
        lists of queries with what each run finds."""
        lists = self.browser.run("""
            const label = (e) => e.querySelector('[role="img"], img')
                .getAttribute("aria-label");
            const all = (e, selector) => [...e.querySelectorAll(selector)];
            return all(document, "#examples .panel").map((panel) =>
                all(panel, ".query").map((query) => ({
                  label: label(query),
                  lists: all(query, "ol").map((list) =>
                      all(list, "li").map((item) => ({
                        text: label(item),
                        right: item.classList.contains("right"),
                        mark: item.querySelector("use").getAttribute("href"),
                      })))})));""")
        for examples in lists:
            for query in examples:
                query["label"] = query["label"].removeprefix("Query: ")
                query["lists"] = [[_item(item) for item in found]
                                  for found in query["lists"]]
        return lists

    def scatters(self):
        """[{id, items}]: the numbers of the pictures of its points."""
        return self.browser.run("""
            return [...document.querySelectorAll(
                "#scatter figure[data-chart]")].map((figure) => ({
                  id: figure.dataset.chart,
                  items: [...figure.querySelectorAll("circle[data-item]")].map(
                      (point) => Number(point.dataset.item))}));""")

    def classes_of_strong_points(self):
        """The classes whose points are not faded, if others are."""
        return set(self.browser.run("""
            return [...document.querySelectorAll(
                "#scatter .faded .dots.same")].map((g) => g.dataset.class);"""))

    def point_at_item(self, number, item):
        """Moves the pointer to a point of the scatter of that number."""
        place = self.browser.run("""
            const figure = document.querySelectorAll(
                "#scatter figure[data-chart]")[arguments[0]];
            const point = figure.querySelector(
                `circle[data-item="${arguments[1]}"]`);
            figure.scrollIntoView({block: "center"});
            const box = point.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];""",
                                 number, item)
        self._move(*place)


def _item(item):
    found = re.fullmatch(r"Found \d+: (.*), (right|wrong), similarity (.*)",
                         item["text"])
    assert found, item["text"]
    return {"label": found[1], "right": found[2] == "right",
            "marked_right": item["right"] and item["mark"].endswith("right"),
            "similarity": float(found[3].replace("\N{MINUS SIGN}", "-"))}
