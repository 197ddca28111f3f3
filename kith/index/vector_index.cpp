#include "kith/index/vector_index.h"

#include <array>
#include <string_view>

#include <torch/torch.h>

#include "kith/core/file.h"
#include "kith/index/faiss_index.h"
#include "kith/index/kinds.h"
#include "kith/index/products.h"
#include "kith/index/row_blocks.h"
#include "kith/ops/finite.h"

namespace kith {

VectorIndexRegistry& vector_index_registry() {
  static VectorIndexRegistry registry("index");
  return registry;
}

IndexKind index_kind(const ConfigNode& node) {
  const ConfigNode* name = node.find("name");
  if (name == nullptr) throw ConfigError("an index needs the name of its kind");
  vector_index_registry().at(name->scalar, name->where);
  return {name->scalar, [node](const VectorIndexInput& input) {
            return vector_index_registry().make(node, "index", input);
          }};
}

void VectorIndex::add_rows(const Rows& rows) {
  constexpr int64_t kBlock = 16384;
  for_each_block(rows, kBlock,
                 [this](int64_t, const Tensor& block) { add(block); });
}

Tensor check_index_rows(const Tensor& rows, int64_t dim) {
  TORCH_CHECK_VALUE(rows.dim() == 2 && rows.size(1) == dim,
                    "rows of this index must be [N, ", dim, "], got ",
                    rows.sizes());
  TORCH_CHECK_VALUE(rows.scalar_type() == at::kFloat && rows.is_cpu(),
                    "rows of an index must be float32 on the CPU");
  TORCH_CHECK_VALUE(all_finite(rows),
                    "rows of an index must not have NaN or infinite values");
  longest_row(rows, "row", 0);
  return rows.detach().contiguous();
}

std::unique_ptr<VectorIndex> load_vector_index(const std::string& path,
                                               int64_t memory_mb,
                                               c10::Device device,
                                               const FileSums& sums) {
  std::array<char, 4> mark{};
  const FileReader file(path);
  if (file.size() >= mark.size()) file.read_at(0, mark.data(), mark.size());
  const std::string_view kind(mark.data(), mark.size());
  if (kind == "IxSQ") {
    return std::make_unique<ScalarIndex>(path, memory_mb, device, sums);
  }
  if (kind != "IwPQ" && kind != "IHNf") {
    return std::make_unique<ExactIndex>(path, memory_mb, device, sums);
  }
  FileCheck(file, sums).check_all(file);
  return read_faiss_index(path);
}

}  // namespace kith
