#include "kith/io/safetensors.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/quote.h"
#include "kith/io/crc32c.h"
#include "kith/io/file_sums.h"
#include "kith/io/safetensors_header.h"

namespace kith {
namespace {

constexpr uint64_t kLengthBytes = sizeof(uint64_t);

// Keys of the metadata: the CRC-32C of the header, in which its own digits
// stand as zeros, and those of the tensors in the order of the data.
constexpr const char* kHeaderSum = "kith.crc32c.header";
constexpr const char* kTensorSums = "kith.crc32c.tensors";
constexpr std::string_view kHeaderMark = R"("kith.crc32c.header":")";

[[noreturn]] void throw_damaged(const std::string& path,
                                const std::string& what) {
  throw DataError(path + ": damaged: " + what +
                  " is not what was written: its checksum differs. Take "
                  "another copy of the file (if another program has changed "
                  "it on purpose: without 'kith.crc32c.*' in its metadata)");
}

// The checksums of all tensors, taken out of the metadata; none if it has none.
std::vector<uint32_t> take_tensor_sums(
    std::map<std::string, std::string>& metadata, size_t tensors,
    const std::string& path) {
  metadata.erase(kHeaderSum);
  const auto found = metadata.find(kTensorSums);
  if (found == metadata.end()) return {};
  const std::string text = std::move(found->second);
  metadata.erase(found);
  std::vector<uint32_t> sums;
  for (size_t at = 0; at + kSumDigits <= text.size(); at += kSumDigits) {
    uint32_t sum = 0;
    std::from_chars(text.data() + at, text.data() + at + kSumDigits, sum, 16);
    sums.push_back(sum);
  }
  if (sums.size() != tensors) throw_damaged(path, "the list of its checksums");
  return sums;
}

std::string read_header_text(const FileReader& file) {
  uint64_t length = 0;
  if (file.size() < kLengthBytes) {
    throw DataError(file.path() + ": not a safetensors file: only " +
                    std::to_string(file.size()) + " bytes");
  }
  file.read_at(0, &length, sizeof length);
  if (length > detail::kMaxSafetensorsHeader) {
    throw DataError(file.path() + ": not a safetensors file: a header of " +
                    std::to_string(length) + " bytes, at most " +
                    std::to_string(detail::kMaxSafetensorsHeader) +
                    " are accepted");
  }
  if (length > file.size() - kLengthBytes) {
    throw DataError(file.path() +
                    ": truncated safetensors file: the header claims " +
                    std::to_string(length) + " bytes, the file has " +
                    std::to_string(file.size()));
  }
  std::string text(static_cast<size_t>(length), '\0');
  file.read_at(kLengthBytes, text.data(), text.size());
  return text;
}

using NamedView = std::pair<std::string, ArrayView>;

// Descending element size: then every offset is a multiple of it.
std::vector<const NamedView*> data_order(
    const std::vector<NamedView>& tensors) {
  std::vector<const NamedView*> order;
  order.reserve(tensors.size());
  for (const NamedView& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(),
                   [](const NamedView* a, const NamedView* b) {
                     return size_of(a->second.dtype) > size_of(b->second.dtype);
                   });
  return order;
}

std::string make_header(const std::vector<const NamedView*>& order,
                        std::map<std::string, std::string> metadata) {
  std::string& sums = metadata[kTensorSums];
  for (const NamedView* tensor : order) {
    const ArrayView& view = tensor->second;
    sums += sum_text(crc32c({static_cast<const char*>(view.data),
                             static_cast<size_t>(view.byte_size())}));
  }
  metadata[kHeaderSum] = kNoSum;
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  header[std::string(detail::kSafetensorsMetadata)] = metadata;
  int64_t begin = 0;
  std::string text = header.dump();
  text.pop_back();
  // Appended piece by piece: ordered_json looks a key up in linear time.
  for (const NamedView* tensor : order) {
    const auto& [name, view] = *tensor;
    nlohmann::ordered_json entry;
    entry["dtype"] = detail::safetensors_dtype(view.dtype);
    entry["shape"] = view.shape;
    entry["data_offsets"] = {begin, begin + view.byte_size()};
    text += text.size() > 1 ? "," : "";
    text += nlohmann::ordered_json(name).dump() + ":" + entry.dump();
    begin += view.byte_size();
  }
  text += '}';
  constexpr size_t kAlignment = 8;
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  put_own_sum(text, kHeaderMark);
  return text;
}

void check_names(const std::string& path,
                 const std::vector<NamedView>& tensors) {
  std::set<std::string_view> names{detail::kSafetensorsMetadata};
  for (const auto& [name, view] : tensors) {
    if (!names.insert(name).second) {
      throw DataError(path + ": cannot write: tensor name " + quote(name) +
                      " is repeated or reserved");
    }
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path) {
  const std::string text = read_header_text(file_);
  // Before it is parsed: damage is told as such.
  if (!own_sum_fits(text, kHeaderMark)) throw_damaged(path, "its header");
  data_offset_ = kLengthBytes + text.size();
  auto header =
      detail::parse_safetensors_header(text, file_.size() - data_offset_, path);
  entries_ = std::move(header.entries);
  metadata_ = std::move(header.metadata);
  sums_ = take_tensor_sums(metadata_, entries_.size(), path);
  index_.reserve(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) index_[entries_[i].name] = i;
}

const SafetensorsEntry* SafetensorsFile::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

const SafetensorsEntry& SafetensorsFile::at(const std::string& name) const {
  const SafetensorsEntry* entry = find(name);
  if (entry != nullptr) return *entry;
  constexpr size_t kShown = 3;
  std::string shown;
  for (size_t i = 0; i < std::min(kShown, entries_.size()); ++i) {
    shown += (i == 0 ? ": " : ", ") + quote(entries_[i].name);
  }
  throw DataError(path() + ": no tensor " + quote(name) + "; the file holds " +
                  std::to_string(entries_.size()) + shown +
                  (entries_.size() > kShown ? ", ..." : ""));
}

Array SafetensorsFile::read(const std::string& name) const {
  const SafetensorsEntry& entry = at(name);
  Array array = make_array(entry.dtype, entry.shape);
  read_into(entry, array.bytes.data());
  return array;
}

void SafetensorsFile::read_into(const SafetensorsEntry& entry,
                                void* out) const {
  KITH_ASSERT(entry.begin <= entry.end);
  file_.read_at(data_offset_ + entry.begin, out,
                static_cast<size_t>(entry.end - entry.begin));
  if (sums_.empty()) return;
  const std::string_view bytes(static_cast<const char*>(out),
                               static_cast<size_t>(entry.end - entry.begin));
  if (crc32c(bytes) != sums_[index_.at(entry.name)]) {
    throw_damaged(path(), "tensor " + quote(entry.name));
  }
}

bool is_whole_safetensors(const std::string& path) {
  try {
    const SafetensorsFile file(path);
    for (const SafetensorsEntry& entry : file.entries()) file.read(entry.name);
  } catch (const DataError&) {
    return false;
  }
  return true;
}

void write_safetensors(const std::string& path,
                       const std::vector<NamedView>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  check_names(path, tensors);
  const auto order = data_order(tensors);
  std::string header;
  try {
    header = make_header(order, metadata);
  } catch (const nlohmann::json::exception&) {
    throw DataError(path +
                    ": cannot write: a tensor name or metadata is not UTF-8");
  }
  if (header.size() > detail::kMaxSafetensorsHeader) {
    throw DataError(path + ": cannot write: the header would be too long");
  }
  write_file_atomically(path, [&](FileWriter& writer) {
    const uint64_t length = header.size();
    writer.write(&length, sizeof length);
    writer.write(header);
    for (const NamedView* tensor : order) {
      writer.write(tensor->second.data,
                   static_cast<size_t>(tensor->second.byte_size()));
    }
  });
}

}  // namespace kith
