#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kith {

/// Zip archives, pickles and files of torch.save, written byte by byte.

template <typename T>
std::string little_endian(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

struct RawZipEntry {
  std::string name;
  std::string data;          ///< As it lies in the archive.
  uint16_t method = 0;       ///< 8: deflated
  uint32_t size = 0;         ///< Unpacked, where method is not 0.
  std::string padding = {};  ///< Extra field of the local header.
  uint32_t crc = 0;          ///< Of what is unpacked; 0: left out.
};

/// With `zip64`, sizes and offsets all stand in 64-bit fields.
inline std::string raw_zip(const std::vector<RawZipEntry>& entries,
                           bool zip64 = false) {
  std::string file;
  std::string directory;
  const std::string saturated(4, '\xff');
  for (const RawZipEntry& entry : entries) {
    const auto offset = static_cast<uint32_t>(file.size());
    const auto packed = static_cast<uint32_t>(entry.data.size());
    const uint32_t size = entry.method == 0 ? packed : entry.size;
    const std::string sizes = zip64
                                  ? saturated + saturated
                                  : little_endian(packed) + little_endian(size);
    const std::string extra = zip64 ? little_endian<uint16_t>(1) +
                                          little_endian<uint16_t>(24) +
                                          little_endian<uint64_t>(size) +
                                          little_endian<uint64_t>(packed) +
                                          little_endian<uint64_t>(offset)
                                    : "";
    const std::string common =
        std::string(4, '\0') +  // versions, flags
        little_endian(entry.method) + std::string(4, '\0') +
        little_endian(entry.crc) + sizes +
        little_endian<uint16_t>(static_cast<uint16_t>(entry.name.size()));
    file += "PK\3\4" + common +
            little_endian(static_cast<uint16_t>(entry.padding.size())) +
            entry.name + entry.padding + entry.data;
    directory += "PK\1\2" + std::string(2, '\0') + common +
                 little_endian(static_cast<uint16_t>(extra.size())) +
                 std::string(10, '\0') +
                 (zip64 ? saturated : little_endian(offset)) + entry.name +
                 extra;
  }
  const uint64_t start = file.size();
  const uint64_t count = entries.size();
  file += directory;
  if (zip64) {
    const uint64_t end = file.size();
    file += "PK\6\6" + little_endian<uint64_t>(44) + std::string(12, '\0') +
            little_endian(count) + little_endian(count) +
            little_endian<uint64_t>(directory.size()) + little_endian(start);
    file += "PK\6\7" + std::string(4, '\0') + little_endian(end) +
            little_endian<uint32_t>(1);
  }
  const auto short_count = static_cast<uint16_t>(count);
  const std::string place =
      zip64 ? saturated + saturated
            : little_endian(static_cast<uint32_t>(directory.size())) +
                  little_endian(static_cast<uint32_t>(start));
  return file + "PK\5\6" + std::string(4, '\0') + little_endian(short_count) +
         little_endian(short_count) + place + std::string(2, '\0');
}

/// Deflated data of less than 64 KiB, as one block that is not packed.
inline std::string raw_deflated(const std::string& data) {
  const auto size = static_cast<uint16_t>(data.size());
  return "\1" + little_endian(size) +
         little_endian(static_cast<uint16_t>(~size)) + data;
}

/// Instructions of pickles.
inline std::string p_str(std::string_view text) {
  return "X" + little_endian(static_cast<uint32_t>(text.size())) +
         std::string(text);
}
inline std::string p_int(int64_t value) {
  return "\x8a\x08" + little_endian(value);
}
inline std::string p_global(const std::string& module,
                            const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string p_tuple(const std::vector<std::string>& items) {
  std::string bytes = "(";
  for (const std::string& item : items) bytes += item;
  return bytes + "t";
}
inline std::string p_ints(const std::vector<int64_t>& values) {
  std::vector<std::string> items;
  for (const int64_t value : values) items.push_back(p_int(value));
  return p_tuple(items);
}
inline std::string p_dict(
    const std::vector<std::pair<std::string, std::string>>& items) {
  std::string bytes = "}(";
  for (const auto& [key, value] : items) bytes += p_str(key) + value;
  return bytes + "u";
}
inline std::string p_pickle(const std::string& object) {
  return "\x80\x02" + object + ".";
}

struct RawTensor {
  std::string storage_key = "0";
  int64_t storage_numel = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  int64_t offset = 0;
  std::string type = "FloatStorage";
  bool legacy = false;  ///< Ids of the older format have one more part.
};

inline std::string p_tensor(const RawTensor& tensor) {
  std::vector<std::string> id = {
      p_str("storage"), p_global("torch", tensor.type),
      p_str(tensor.storage_key), p_str("cpu"), p_int(tensor.storage_numel)};
  if (tensor.legacy) id.emplace_back("N");
  return p_global("torch._utils", "_rebuild_tensor_v2") +
         p_tuple({p_tuple(id) + "Q", p_int(tensor.offset), p_ints(tensor.shape),
                  p_ints(tensor.strides), "\x89",
                  p_global("collections", "OrderedDict") + ")R"}) +
         "R";
}

/// Storages by key, as raw data.
using RawStorages = std::vector<std::pair<std::string, std::string>>;

inline std::string raw_pth(const std::string& object,
                           const RawStorages& storages) {
  std::vector<RawZipEntry> entries = {{"archive/data.pkl", p_pickle(object)},
                                      {"archive/byteorder", "little"}};
  for (const auto& [key, data] : storages) {
    entries.push_back({"archive/data/" + key, data});
  }
  entries.push_back({"archive/version", "3\n"});
  return raw_zip(entries);
}

inline std::string raw_legacy_pth(const std::string& object,
                                  const RawStorages& storages,
                                  size_t element_size) {
  const std::string magic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
  std::string keys = "](";
  std::string data;
  for (const auto& [key, bytes] : storages) {
    keys += p_str(key);
    data += little_endian<uint64_t>(bytes.size() / element_size) + bytes;
  }
  return p_pickle(magic) + p_pickle(p_int(1001)) +
         p_pickle(p_dict({{"little_endian", "\x88"}})) + p_pickle(object) +
         p_pickle(keys + "e") + data;
}

/// float32 data of a storage.
inline std::string raw_floats(std::initializer_list<float> values) {
  std::string bytes;
  for (const float value : values) bytes += little_endian(value);
  return bytes;
}

}  // namespace kith
