"""The shards of `kith index --export`, read by NumPy and searched by faiss as
docs/scaling.md says.

usage: KITH_PROGRAM=kith python3 shards_test.py [OPTION of unittest]...
"""

import hashlib
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import find_python

find_python.need("numpy", "faiss")

import faiss
import numpy

PROGRAM = os.environ["KITH_PROGRAM"]
ROWS, DIM, SHARD = 2500, 24, 1000


def run(*arguments):
    result = subprocess.run([PROGRAM, *map(str, arguments)], text=True,
                            capture_output=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


class Shards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        rng = numpy.random.default_rng(3)
        rows = rng.standard_normal((ROWS, DIM)).astype("float32")
        cls.rows = rows / numpy.linalg.norm(rows, axis=1, keepdims=True)
        numpy.save(cls.folder / "rows.npy", 3 * cls.rows)  # of any length
        (cls.folder / "ids.txt").write_text(
            "".join(f"bird \"{i}\".jpg\n" for i in range(ROWS)), "utf-8")
        (cls.folder / "labels.txt").write_text(
            "".join(f"{i % 7:03}\n" for i in range(ROWS)), "utf-8")
        cls.index = cls.folder / "birds.faiss"
        run("index", cls.folder / "rows.npy", "--ids", cls.folder / "ids.txt",
            "--labels", cls.folder / "labels.txt", "--out", cls.index)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def export(self, dtype):
        shards = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        run("index", self.index, "--export", shards, "--dtype", dtype,
            "--shard-rows", SHARD)
        return shards

    def read(self, shards):
        """All vectors and items, by the manifest."""
        manifest = json.loads((shards / "manifest.json").read_text("utf-8"))
        self.assertEqual(manifest["count"], ROWS)
        self.assertEqual(manifest["dim"], DIM)
        self.assertEqual([shard["rows"] for shard in manifest["shards"]],
                         [1000, 1000, 500])
        vectors, items = [], []
        for shard in manifest["shards"]:
            for file in shard["files"]:
                contents = (shards / file["path"]).read_bytes()
                self.assertEqual(len(contents), file["bytes"])
                self.assertEqual(hashlib.sha256(contents).hexdigest(),
                                 file["sha256"])
            rows, metadata = (shards / file["path"]
                              for file in shard["files"])
            self.assertEqual(shard["first"], len(items))
            vectors.append(numpy.load(rows, mmap_mode="r"))
            items += [json.loads(line) for line in
                      metadata.read_text("utf-8").splitlines()]
        return numpy.concatenate(vectors), items

    def test_vectors_and_items(self):
        for dtype, error in (("float32", 1e-6), ("float16", 1e-3)):
            vectors, items = self.read(self.export(dtype))
            self.assertEqual(vectors.dtype, dtype)
            numpy.testing.assert_allclose(vectors.astype("float32"),
                                          self.rows, atol=error)
            self.assertEqual(items, [
                {"id": i, "image_path": f"bird \"{i}\".jpg",
                 "label": f"{i % 7:03}"} for i in range(ROWS)])

    def test_another_store_finds_the_same(self):
        shards = self.export("float32")
        index = faiss.IndexFlatIP(DIM)
        for file in sorted((shards / "img_emb").iterdir()):
            index.add(numpy.load(file).astype("float32"))
        queries = self.rows[::50]
        numpy.save(self.folder / "queries.npy", queries)
        answers = json.loads(run("search", "--index", self.index,
                                 "--embeddings", self.folder / "queries.npy",
                                 "-k", 10, "--json"))["queries"]
        similarities, positions = index.search(queries, 10)
        for answer, near, found in zip(answers, similarities, positions):
            self.assertEqual([hit["position"] for hit in answer["results"]],
                             found.tolist())
            numpy.testing.assert_allclose(
                [hit["similarity"] for hit in answer["results"]], near,
                atol=1e-6)


if __name__ == "__main__":
    unittest.main()
