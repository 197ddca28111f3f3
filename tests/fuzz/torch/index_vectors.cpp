#include <torch/torch.h>

#include "kith/core/file.h"
#include "kith/index/faiss_file.h"
#include "kith/index/kinds.h"
#include "kith/index/vector_index.h"
#include "kith/ops/pairwise.h"
#include "tests/fuzz/harness.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

constexpr int64_t kDim = 4;

std::string saved(VectorIndex& index) {
  torch::manual_seed(1);
  const Tensor rows = normalize_rows(torch::randn({5, kDim}));
  if (index.training_rows() > 0) index.train(rows);
  index.add(rows);
  const TempDir dir;
  index.save(dir.file("index"));
  return read_file(dir.file("index"), 1 << 20);
}

std::vector<std::string> seeds() {
  std::vector<std::string> files;
  for (const std::string kind : {"exact", "float16", "int8"}) {
    const auto index = index_kind(parse_config("{name: " + kind + "}", "seed"))
                           .make({kDim, 0, 5});
    files.push_back(saved(*index));
  }
  return files;
}

/// The kinds that kith reads by itself: what the others hold is faiss's.
bool is_own(std::string_view bytes) {
  return bytes.starts_with("IxF") || bytes.starts_with("IxSQ");
}

void read(std::string_view bytes) {
  const std::string& path = as_file(bytes);
  if (!is_own(bytes)) return check_faiss_file(path);
  // All in memory, and a block at a time.
  for (const int64_t memory_mb : {4096, 0}) {
    const auto index = load_vector_index(path, memory_mb);
    const int64_t dim = index->dim();
    if (dim < 1 || dim > 64 || index->count() > 1000) continue;
    index->search(normalize_rows(torch::ones({2, dim})), 3);
    const Rows rows = index->rows();
    if (rows.defined() && rows.count() > 0) rows.read(0, 1);
  }
}

const AddHarness kAdd({.name = "index_vectors",
                       .read = read,
                       .seeds = seeds,
                       .words = {"IxFI", "IxF2", "IxSQ", "IHNf", "IwPQ", "IxMp",
                                 std::string(8, '\0'), std::string(8, '\xff'),
                                 std::string("\1\0\0\0\0\0\0\0", 8)}});

}  // namespace
}  // namespace kith
