#include "kith/core/safetensors.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/quote.h"
#include "kith/core/safetensors_header.h"

namespace kith {
namespace {

constexpr uint64_t kPrefix = sizeof(uint64_t);

std::string read_header_text(const FileReader& file) {
  uint64_t length = 0;
  if (file.size() < kPrefix) {
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
  if (length > file.size() - kPrefix) {
    throw DataError(file.path() +
                    ": truncated safetensors file: the header claims " +
                    std::to_string(length) + " bytes, the file has " +
                    std::to_string(file.size()));
  }
  std::string text(static_cast<size_t>(length), '\0');
  file.read_at(kPrefix, text.data(), text.size());
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
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) {
    header[std::string(detail::kSafetensorsMetadata)] = metadata;
  }
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
  data_offset_ = kPrefix + text.size();
  auto header =
      detail::parse_safetensors_header(text, file_.size() - data_offset_, path);
  entries_ = std::move(header.entries);
  metadata_ = std::move(header.metadata);
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
