"""Which of a run's networks `kith serve` answers with."""

import json
import unittest

from serve_client import Server, kith, shared

ON_CPU = ["--device", "cpu", "--threads", 1]


class Checkpoints(unittest.TestCase):
    """A run of two epochs, and an index that the first one made."""

    @classmethod
    def setUpClass(cls):
        cls.run_folder = shared.folder / "two_epochs"
        cls.index = shared.folder / "first.faiss"
        for words in (
                ["train", shared.folder / "tiny.yaml", "--out", cls.run_folder,
                 "--set", "train.epochs=2", "--set", "train.keep_every=1"],
                ["index", cls.run_folder, "--checkpoint", 1, "--images",
                 shared.folder / "data" / "dataset.csv", "--out", cls.index]):
            done = kith(*words, *ON_CPU)
            assert done.returncode == 0, done.stderr

    def serve(self, *options, model=None):
        server = Server(*options, model=model or self.run_folder,
                        index=self.index)
        self.addCleanup(server.end)
        return server

    def expect_found(self, server, index=""):
        """Each picture by itself, which only the index's own network does."""
        for position in (0, 41, 95):
            status, _, body = server.ask(
                "POST", f"/api{index}/search?k=1", shared.pictures[position],
                Content_Type="image/png")
            self.assertEqual(status, 200, body)
            nearest = json.loads(body)["results"][0]
            self.assertEqual(nearest["position"], position)
            self.assertAlmostEqual(nearest["similarity"], 1, places=4)

    def refused(self, code, *options):
        done = kith("serve", "--index", self.index, "--port", 0, *ON_CPU,
                    *options)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_that_of_the_index(self):
        for options in (["--checkpoint", "1"], []):
            server = self.serve(*options)
            self.expect_found(server)
            status, said = server.stop()
            self.assertEqual(status, 0)
            self.assertIn("checkpoint of epoch 1", said)

    def test_another_is_refused(self):
        for name in ("last", "2"):
            for model in ([], ["--model", self.run_folder]):
                said = self.refused(1, "--checkpoint", name, *model)
                self.assertIn("(epoch 2)" if name == "last" else "epoch 2",
                              said)
                self.assertIn("not the weights that", said)
                self.assertIn("checkpoint of epoch 1", said)
                self.assertIn("--checkpoint", said)
                # It was asked for; nothing was trained.
                self.assertNotIn("trained on since", said)

    def test_best_is_one_of_them(self):
        metrics = json.loads((self.run_folder / "metrics.json").read_text(
            encoding="utf-8"))
        if metrics["best"]["epoch"] == 1:
            self.expect_found(self.serve("--checkpoint", "best"))
        else:
            said = self.refused(1, "--checkpoint", "best")
            self.assertIn(f"best checkpoint (epoch "
                          f"{metrics['best']['epoch']}", said)

    def test_one_that_was_not_kept(self):
        said = self.refused(1, "--checkpoint", 99)
        self.assertIn("the weights of epoch 99 were not kept", said)
        self.assertIn("there are: last (epoch 2)", said)
        for name in ("first", "-1", "1.5"):
            said = self.refused(2, f"--checkpoint={name}")
            self.assertIn("--checkpoint", said)
            self.assertIn("last, best or", said)

    def test_only_of_a_run(self):
        weights = self.run_folder / "checkpoints" / "epoch-1.safetensors"
        self.expect_found(self.serve(model=weights))
        said = self.refused(2, "--model", weights, "--checkpoint", 1)
        self.assertIn("is not a run", said)

    def test_each_index_has_its_own(self):
        last = shared.folder / "last.faiss"
        done = kith("index", self.run_folder, "--images",
                    shared.folder / "data" / "dataset.csv", "--out", last,
                    *ON_CPU)
        self.assertEqual(done.returncode, 0, done.stderr)
        server = self.serve("--index", str(last))
        self.expect_found(server)
        self.expect_found(server, "/indexes/last")
        # One checkpoint is not that of both.
        said = self.refused(1, "--checkpoint", 1, "--index", last)
        self.assertIn("last.faiss", said)
