#include "kith/io/pth.h"

#include "tests/fuzz/harness.h"
#include "tests/fuzz/pickle_words.h"
#include "tests/fuzz/zip_repair.h"
#include "tests/support/pth_files.h"

namespace kith {
namespace {

constexpr int64_t kMaxBytes = 1 << 20;

std::vector<std::string> seeds() {
  RawTensor a{.storage_numel = 6, .shape = {2, 3}, .strides = {3, 1}};
  RawTensor b{.storage_numel = 6, .shape = {2}, .strides = {2}, .offset = 1};
  const std::string object = p_dict(
      {{"a", p_tensor(a)}, {"state_dict", p_dict({{"b", p_tensor(b)}})}});
  const RawStorages storages = {{"0", raw_floats({1, 2, 3, 4, 5, 6})}};
  a.legacy = true;
  b.legacy = true;
  const std::string legacy = p_dict({{"a", p_tensor(a)}, {"b", p_tensor(b)}});
  return {repair_zip(raw_pth(object, storages)),
          raw_legacy_pth(legacy, storages, sizeof(float))};
}

void read(std::string_view bytes) {
  const PthFile file(as_file(bytes));
  for (const PthTensor& tensor : file.tensors()) {
    // A stride of 0 makes any tensor of one number, as PyTorch has it.
    const auto size = checked_byte_size(tensor.dtype, tensor.shape);
    if (tensor.problem.empty() && size && *size <= kMaxBytes) {
      file.read(tensor);
    }
  }
}

std::vector<std::string> words() {
  std::vector<std::string> all = pickle_words();
  for (std::string& word : zip_words()) all.push_back(std::move(word));
  return all;
}

const AddHarness kAdd({.name = "pth",
                       .read = read,
                       .seeds = seeds,
                       .words = words(),
                       .repair = repair_zip});

}  // namespace
}  // namespace kith
