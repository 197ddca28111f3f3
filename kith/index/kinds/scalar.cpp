#include <algorithm>

#include <torch/torch.h>

#include "kith/index/kinds.h"

namespace kith {
namespace {

/// Vectors that show the range of each number.
constexpr int64_t kRangeRows = 65536;

}  // namespace

Float16Index::Float16Index(const Options&, const VectorIndexInput& input)
    : ScalarIndex(input.dim) {
  set_code(ScalarCode::float16(input.dim));
}

KITH_REGISTER(vector_index_registry(), "float16", Float16Index);

Int8Index::Int8Index(const Options&, const VectorIndexInput& input)
    : ScalarIndex(input.dim), expected_(input.expected) {}

int64_t Int8Index::training_rows() const {
  return expected_ > 0 ? std::min(kRangeRows, expected_) : kRangeRows;
}

void Int8Index::train(const Tensor& rows) {
  TORCH_CHECK_VALUE(rows.size(0) > 0,
                    "an index of kind int8 needs vectors to train with");
  set_code(ScalarCode::int8_of(check_index_rows(rows, dim())));
}

KITH_REGISTER(vector_index_registry(), "int8", Int8Index);

}  // namespace kith
