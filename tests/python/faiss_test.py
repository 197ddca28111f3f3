"""The files of kith's indexes, read and searched by faiss, and the reverse.

usage: KITH_TEST_PROGRAM=PROGRAM faiss_test.py
"""

import os
import subprocess
import tempfile
import unittest

import find_python

find_python.need("numpy", "faiss")

import faiss
import numpy as np

PROGRAM = [os.environ["KITH_TEST_PROGRAM"], "faiss"]
K = 10


def units(rows, seed):
    x = np.random.default_rng(seed).standard_normal((rows, 32))
    x = x.astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.rows = units(2000, 1)
        self.queries = units(50, 2)
        np.save(self.path("rows.npy"), self.rows)
        np.save(self.path("queries.npy"), self.queries)

    def path(self, name):
        return os.path.join(self.folder, name)

    def kith(self, *arguments):
        return subprocess.run([*PROGRAM, *arguments], text=True,
                              capture_output=True)

    def make(self, config):
        """The path of an index that kith wrote."""
        path = self.path("made.faiss")
        result = self.kith("make", config, self.path("rows.npy"), path)
        if "built without faiss" in result.stderr:
            self.skipTest("kith is built without faiss")
        self.assertEqual(result.returncode, 0, result.stderr)
        return path

    def search(self, path):
        """What kith finds in an index: positions and similarities."""
        result = self.kith("search", path, self.path("queries.npy"),
                           self.path("found"))
        if "built without faiss" in result.stderr:
            self.skipTest("kith is built without faiss")
        self.assertEqual(result.returncode, 0, result.stderr)
        return (np.load(self.path("found.positions.npy")),
                np.load(self.path("found.similarities.npy")))

    def check_same(self, path):
        """kith and faiss find the same in a file."""
        index = faiss.read_index(path)
        self.assertEqual(index.d, 32)
        self.assertEqual(index.ntotal, 2000)
        self.assertEqual(index.metric_type, faiss.METRIC_INNER_PRODUCT)
        similarities, positions = index.search(self.queries, K)
        found_positions, found_similarities = self.search(path)
        np.testing.assert_array_equal(found_positions, positions)
        np.testing.assert_allclose(found_similarities, similarities, atol=1e-5)
        return index


class KithWrites(Case):
    def test_exact(self):
        index = self.check_same(self.make("{name: exact}"))
        self.assertIsInstance(faiss.downcast_index(index), faiss.IndexFlat)
        np.testing.assert_array_equal(index.reconstruct_n(0, 2000), self.rows)

    def test_scalar(self):
        for kind, bits in (("float16", faiss.ScalarQuantizer.QT_fp16),
                           ("int8", faiss.ScalarQuantizer.QT_8bit)):
            path = self.make(f"{{name: {kind}}}")
            read = self.check_same(path)
            index = faiss.downcast_index(read)  # which owns nothing
            self.assertIsInstance(index, faiss.IndexScalarQuantizer)
            self.assertEqual(index.sq.qtype, bits)
            np.testing.assert_allclose(index.reconstruct_n(0, 2000), self.rows,
                                       atol=0.005)

    def test_hnsw(self):
        path = self.make("{name: hnsw, links: 16, ef_search: 50}")
        index = faiss.downcast_index(self.check_same(path))
        self.assertIsInstance(index, faiss.IndexHNSWFlat)
        self.assertEqual(index.hnsw.efSearch, 50)

    def test_ivf_pq(self):
        path = self.make("{name: ivf_pq, probes: 7}")
        index = faiss.downcast_index(self.check_same(path))
        self.assertIsInstance(index, faiss.IndexIVFPQ)
        self.assertEqual((index.nlist, index.nprobe, index.pq.M), (51, 7, 4))


class FaissWrites(Case):
    def written(self, index):
        path = self.path("written.faiss")
        if not index.is_trained:
            index.train(self.rows)
        index.add(self.rows)
        faiss.write_index(index, path)
        return path

    def test_flat(self):
        self.check_same(self.written(faiss.IndexFlatIP(32)))

    def test_scalar(self):
        for bits in (faiss.ScalarQuantizer.QT_fp16,
                     faiss.ScalarQuantizer.QT_8bit):
            self.check_same(self.written(faiss.IndexScalarQuantizer(
                32, bits, faiss.METRIC_INNER_PRODUCT)))

    def test_factory(self):
        for name in ("HNSW16", "IVF5,PQ4x4"):
            index = faiss.index_factory(32, name, faiss.METRIC_INNER_PRODUCT)
            self.check_same(self.written(index))

    def test_others_are_refused(self):
        for index in (faiss.IndexFlatL2(32), faiss.IndexHNSWFlat(32, 8),
                      faiss.index_factory(32, "IVF20,Flat")):
            path = self.written(index)
            result = self.kith("search", path, self.path("queries.npy"),
                               self.path("found"))
            if "built without faiss" in result.stderr:
                continue
            self.assertEqual(result.returncode, 1)
            self.assertIn(path, result.stderr)
            self.assertIn("inner product" if "IVF" not in str(type(index))
                          else "not an index that kith reads", result.stderr)


if __name__ == "__main__":
    unittest.main()
