"""The journeys of docs/journeys.md and the README, walked as printed.

usage: KITH_PROGRAM=kith python3 journeys_test.py [NAME of a test]...
"""

import json
import os
import pathlib
import re
import tempfile
import time
import unittest
import urllib.request

import photographs
from walk import Walk

PROGRAM = pathlib.Path(os.environ["KITH_PROGRAM"]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGE = ROOT / "docs" / "journeys.md"
BIRDS = ["blackbird", "crow", "dunnock", "finch", "magpie", "owl", "robin",
         "wren"]


class Journeys(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def walk(self, page, heading, after=lambda walk, command: None):
        with Walk(self.folder, PROGRAM) as walk:
            walk.go(page, heading, after)
            return walk

    def have_birds(self):
        """What the README's reader has when the other journeys begin."""
        photographs.draw_folder(self.folder / "birds", BIRDS, 8)
        photographs.draw(self.folder / "wren.jpg", "wren", 100)

    def have_configuration(self):
        text = README.read_text(encoding="utf-8")
        printed = re.search(r"^\$ cat birds\.yaml\n((?:[^$].*\n)+)", text, re.M)
        (self.folder / "birds.yaml").write_text(printed[1])

    def metrics(self, run):
        text = (self.folder / run / "metrics.json").read_text()
        return json.loads(text)

    def test_photographs_to_search_page(self):
        self.have_birds()

        def after(walk, command):
            if "kith serve" not in command:
                return
            address = f"http://127.0.0.1:{walk.port}"
            with urllib.request.urlopen(f"{address}/", timeout=30) as page:
                self.assertIn(b"<html", page.read())
            picture = (self.folder / "wren.jpg").read_bytes()
            search = urllib.request.Request(f"{address}/api/search?k=3", picture,
                                            {"Content-Type": "image/jpeg"})
            with urllib.request.urlopen(search, timeout=30) as answer:
                found = json.load(answer)["results"]
            self.assertEqual(found[0]["label"], "wren")

        walk = self.walk(README, "Your own images", after)
        page = (self.folder / "runs/birds/report.html").read_text()
        self.assertIn("What is found", page)
        self.assertIn("data:image/", (self.folder / "found.html").read_text())
        self.assertIn("checked 64 images, 0 broken",
                      walk.output["build/release/kith data check birds"])
        self.assertTrue(any((self.folder / "birds-model").iterdir()))

    def test_three_losses(self):
        self.have_birds()
        self.have_configuration()
        self.walk(PAGE, "Three losses compared")
        page = (self.folder / "three.html").read_text()
        for run in ("rsk", "ms", "margin"):
            self.assertIn(run, page)
        losses = {re.search(r"^loss:\n  name: (\w+)", (
            self.folder / "runs" / run / "config.yaml").read_text(), re.M)[1]
            for run in ("rsk", "ms", "margin")}
        self.assertEqual(losses, {"recall_at_k", "multi_similarity", "margin"})

    def test_kill_resume_extend(self):
        self.have_birds()
        self.have_configuration()
        walk = self.walk(PAGE, "Killed, resumed, extended")
        self.assertEqual(self.metrics("runs/long")["last"]["epoch"], 30)
        changes = json.loads((self.folder / "runs/long/changes.json").read_text())
        self.assertIn("train.epochs", json.dumps(changes))
        # As if nothing had happened.
        walk.type("kith train birds.yaml --set train.epochs=30 --out runs/whole",
                  [])
        self.assertEqual(self.metrics("runs/long")["last"],
                         self.metrics("runs/whole")["last"])

    def test_list_with_queries_and_gallery(self):
        rows = ["path,label,split,is_query,is_gallery"]
        for kind in range(12):
            name = f"bag_{kind}"
            photographs.draw_folder(self.folder / "shop", [name], 6)
            split = ("train", "train", "validation", "test")[kind // 3]
            for number in range(6):
                marks = ["", ""]
                if split != "train":
                    marks = [str(number < 2), str(number >= 2)]
                rows.append(",".join([f"{name}/{number}.jpg", name, split]
                                     + marks))
        (self.folder / "shop" / "dataset.csv").write_text("\n".join(rows) + "\n")
        self.walk(PAGE, "A list with validation, queries and a gallery")
        metrics = self.metrics("runs/shop")
        self.assertEqual(metrics["protocol"], "query_gallery")
        self.assertEqual(metrics["best"]["chosen_on"], "validation")
        # The run has said what `kith eval` finds.
        found = next((self.folder / "runs/shop/eval").glob(
            "best-epoch-*-test-query_gallery/metrics.json"))
        self.assertEqual(
            json.loads(found.read_text())["recall_any@1"],
            metrics["test"]["metrics"]["recall_any@1"])

    def test_serve_add_remove_search(self):
        self.have_birds()
        self.have_configuration()
        photographs.draw_folder(self.folder / "new_photos", ["swift", "tit"], 4)
        gone = self.folder / "birds" / "wren" / "3.jpg"
        (self.folder / "gone.txt").write_text(f"{gone.resolve()}\n")

        def wait_for_items(walk, count):
            """The server follows within about a second."""
            token = (self.folder / "token").read_text().strip()
            info = urllib.request.Request(
                f"http://127.0.0.1:{walk.port}/api/info",
                headers={"Authorization": f"Bearer {token}"})
            end, served = time.monotonic() + 30, None
            while served != count:
                self.assertLess(time.monotonic(), end, (served, count))
                with urllib.request.urlopen(info, timeout=30) as answer:
                    served = json.load(answer)["items"]
                time.sleep(0.1)

        def after(walk, command):
            if "kith index add" in command:
                wait_for_items(walk, 72)
            if "kith index remove" in command:
                wait_for_items(walk, 71)

        walk = self.walk(PAGE, "Serve, add, remove, search", after)
        found = walk.output[
            "kith search --index birds.faiss --image wren.jpg -k 3"]
        self.assertIn("wren/", found)
        self.assertNotIn("wren/3.jpg", found)


if __name__ == "__main__":
    unittest.main()
