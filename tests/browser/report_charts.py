"""Charts of a report: their points are those of the log, and they answer."""

import re

import page_checks
import tiny_runs
from report_case import ReportTest, shared


def numbers(text):
    return [float(word.replace("\N{MINUS SIGN}", "-").replace(",", ""))
            for word in re.findall(r"[-\N{MINUS SIGN}]?\d[\d,]*(?:\.\d+)?"
                                   r"(?:e[-+]?\d+)?", text)]


def agree(shown, value):
    """Whether a number could be printed for a value: three digits are right,
    or two decimals."""
    return abs(shown - value) <= max(0.006 * abs(value), 0.0051)


class Charts(ReportTest):
    def test_have_axes_and_points_inside_them(self):
        for name in shared.pages:
            page = self.open(name)
            charts = page.charts()
            self.assertGreaterEqual(len(charts), 4)
            for chart in charts:
                with self.subTest(page=name, chart=chart["id"]):
                    self.assertTrue(chart["title"])
                    self.assertGreater(chart["texts"], 2)
                    self.check_places(chart)

    def check_places(self, chart):
        for series in chart["series"]:
            self.assertTrue(chart["x"])
            left, top, right, bottom = chart["box"]
            self.assertTrue(series["points"])
            for _, _, at_left, at_top in series["points"]:
                self.assertTrue(left - 1 <= at_left <= right + 1)
                self.assertTrue(top - 1 <= at_top <= bottom + 1)

    def test_loss_is_that_of_the_log(self):
        page = self.open("one")
        steps = tiny_runs.read_log(shared.runs["one"][0], "step")
        self.assertEqual(len(steps), 12)
        measured = page.chart("loss")["series"][0]["points"]
        self.assertEqual([point[0] for point in measured],
                         [step["step"] for step in steps])
        for point, step in zip(measured, steps):
            self.assertAlmostEqual(point[1], step["loss"], delta=1e-4)

    def test_loss_has_a_series_for_each_run(self):
        page = self.open("three")
        series = page.chart("loss")["series"]
        self.assertEqual(len(series), 3)
        for one, run in zip(series, shared.runs["three"]):
            self.assertIn(run.name, one["name"])
            self.assertEqual(len(one["points"]), 12)

    def test_metrics_have_a_point_for_each_evaluation(self):
        for name in ("one", "three"):
            page = self.open(name)
            charts = [chart for chart in page.charts("#curves ")
                      if chart["x"] == "epoch"]
            self.assertTrue(charts)
            for chart in charts:
                self.assertEqual(len(chart["series"]), len(shared.runs[name]))
                for series, run in zip(chart["series"], shared.runs[name]):
                    self.check_metric(chart["id"], series["points"], run)

    def check_metric(self, chart, points, run):
        evaluations = tiny_runs.read_log(run, "eval")
        self.assertEqual([point[0] for point in points], [0, 1, 2, 3, 4])
        values = [evaluation["metrics"]["metrics"]
                  for evaluation in evaluations]
        matching = [name for name in values[0] if all(
            abs(point[1] - 100 * value[name]) < 1e-3
            for point, value in zip(points, values))]
        self.assertTrue(matching, f"{chart} of {run.name}: {points}")

    def test_long_series_are_thinned_but_span_the_run(self):
        page = self.open("long")
        points = page.chart("loss")["series"][0]["points"]
        self.assertLess(len(points), 5000)
        self.assertLess(points[0][0], 200)
        self.assertGreater(points[-1][0], 19800)

    def test_tell_their_values_under_the_pointer(self):
        for name in ("one", "three"):
            page = self.open(name)
            page.unfold()
            for chart in page.charts():
                if chart["id"].startswith("scatter-") or not chart["series"]:
                    continue
                with self.subTest(page=name, chart=chart["id"]):
                    self.check_pointer(page, chart)
        self.expect_none(page_checks.console_faults(shared.browser))

    def check_pointer(self, page, chart):
        series = chart["series"][0]["points"]
        x, y, left, top = series[len(series) // 2]
        page.point_at(chart["id"], left, top)
        tip = page.tip()
        self.assertIsNotNone(tip, "no tip")
        shown = numbers(tip)
        for value in (x, y):
            self.assertTrue(any(agree(number, value) for number in shown),
                            f"{value} is not in: {tip}")
        page.point_nowhere()
        self.assertIsNone(page.tip())

    def test_tell_their_values_to_the_keyboard(self):
        page = self.open("three")
        chart = page.chart("loss")
        page.focus_chart("loss")
        tips = []
        for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "Home"):
            page.press(key)
            tips.append(page.tip())
        self.assertNotIn(None, tips)
        self.assertNotEqual(tips[0], tips[1])
        self.assertEqual(tips[0], tips[2])
        last = chart["series"][0]["points"][-1]
        self.assertTrue(any(agree(number, last[1])
                            for number in numbers(tips[3])), tips[3])
        page.press("Escape")
        self.assertIsNone(page.tip())
