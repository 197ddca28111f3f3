// Vectors of fewer numbers.

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/compressions.h"
#include "kith/eval/principal_directions.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

int64_t fewer(const char* name, int64_t numbers, int64_t before) {
  if (numbers <= before) return numbers;
  throw ConfigError(std::string("option 'compress': ") + name + ":" +
                    std::to_string(numbers) + " of vectors of " +
                    std::to_string(before) + " numbers: take at most that");
}

void describe_numbers(OptionSet& set, int64_t& numbers) {
  set.add("numbers", numbers, "How many numbers are left.").range(1, 1 << 20);
}

}  // namespace

void DimCompressionOptions::describe(OptionSet& set) {
  describe_numbers(set, numbers);
}

DimCompression::DimCompression(const Options& options)
    : numbers_(checked(options, "dim").numbers) {}

int64_t DimCompression::dim(int64_t before) const {
  return fewer("dim", numbers_, before);
}

Tensor DimCompression::queries(const Tensor& rows) const {
  return normalize_rows(rows.narrow(1, 0, numbers_));
}

KITH_REGISTER(compression_registry(), "dim", DimCompression);

void PcaCompressionOptions::describe(OptionSet& set) {
  describe_numbers(set, numbers);
}

PcaCompression::PcaCompression(const Options& options)
    : numbers_(checked(options, "pca").numbers) {}

int64_t PcaCompression::dim(int64_t before) const {
  return fewer("pca", numbers_, before);
}

void PcaCompression::learn(const Tensor& rows, uint64_t) {
  const PrincipalDirections found = principal_directions(rows, numbers_, "PCA");
  mean_ = found.mean;
  directions_ = found.directions;
}

Tensor PcaCompression::queries(const Tensor& rows) const {
  return normalize_rows(
      torch::mm(rows.to(torch::kDouble) - mean_, directions_.t())
          .to(torch::kFloat));
}

KITH_REGISTER(compression_registry(), "pca", PcaCompression);

}  // namespace kith
