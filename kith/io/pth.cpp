#include "kith/io/pth.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kith/core/error.h"
#include "kith/core/quote.h"
#include "kith/io/byte_stream.h"
#include "kith/io/pickle.h"
#include "kith/io/pth_objects.h"

namespace kith {
namespace {

using Kind = PickleNode::Kind;

constexpr uint64_t kMaxPickle = uint64_t{256} << 20;
/// Of a pickle, however small it is when packed.
constexpr uint64_t kAlways = uint64_t{64} << 10;
// 0x1950a86a20f9469cfc6c as a pickle stores it, and the version that follows.
constexpr std::string_view kLegacyMagic =
    "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr int64_t kLegacyProtocol = 1001;

// "archive/" of "archive/data.pkl"; the name is that of the file as it was
// saved.
std::string archive_folder(const ZipFile& zip) {
  constexpr std::string_view kPickle = "data.pkl";
  std::optional<std::string> folder;
  for (const ZipEntry& entry : zip.entries()) {
    if (!entry.name.ends_with(kPickle)) continue;
    const std::string prefix =
        entry.name.substr(0, entry.name.size() - kPickle.size());
    const size_t slash = prefix.find('/');
    const bool is_folder = prefix.empty() || slash + 1 == prefix.size();
    if (!is_folder) continue;
    if (folder) {
      throw DataError(zip.path() + ": holds two files data.pkl");
    }
    folder = prefix;
  }
  if (!folder) {
    throw DataError(zip.path() +
                    ": a zip archive, but not one of torch.save: it holds no "
                    "data.pkl");
  }
  return *folder;
}

// The last element of a view, counted in elements of the storage; nothing if
// the number does not fit. The view must have elements.
std::optional<int64_t> last_element(const PthTensor& tensor) {
  int64_t last = tensor.offset;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    int64_t span = 0;
    if (__builtin_mul_overflow(tensor.shape[i] - 1, tensor.strides[i], &span) ||
        __builtin_add_overflow(last, span, &last)) {
      return std::nullopt;
    }
  }
  return last;
}

/// From the first byte of a view to its last; the view must have elements.
uint64_t span_bytes(const PthTensor& tensor) {
  return static_cast<uint64_t>(*last_element(tensor) - tensor.offset + 1) *
         static_cast<uint64_t>(size_of(tensor.dtype));
}

bool is_contiguous(const PthTensor& tensor) {
  int64_t expected = 1;
  for (size_t i = tensor.shape.size(); i > 0; --i) {
    if (tensor.shape[i - 1] == 1) continue;
    if (tensor.strides[i - 1] != expected) return false;
    expected *= tensor.shape[i - 1];
  }
  return true;
}

// Elements in C order out of `from`, which starts with the view's first.
void gather(const PthTensor& tensor, const std::string& from, Array& to) {
  const auto width = static_cast<size_t>(size_of(tensor.dtype));
  // The stride of a dimension of one element can be anything.
  std::vector<int64_t> strides = tensor.strides;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (tensor.shape[i] == 1) strides[i] = 0;
  }
  std::vector<int64_t> index(strides.size(), 0);
  int64_t at = 0;
  for (size_t done = 0; done < to.bytes.size(); done += width) {
    std::memcpy(to.bytes.data() + done,
                from.data() + static_cast<size_t>(at) * width, width);
    for (size_t i = index.size(); i > 0; --i) {
      at += strides[i - 1];
      if (++index[i - 1] < tensor.shape[i - 1]) break;
      at -= strides[i - 1] * tensor.shape[i - 1];
      index[i - 1] = 0;
    }
  }
}

}  // namespace

PthFile::PthFile(const std::string& path) : file_(path) {
  char start[2] = {};
  file_.read_at(0, start, std::min<uint64_t>(sizeof start, file_.size()));
  if (start[0] == 'P' && start[1] == 'K') {
    open_zip();
  } else {
    open_legacy();
  }
  index_tensors();
}

void PthFile::open_zip() {
  zip_.emplace(path());
  const std::string folder = archive_folder(*zip_);
  constexpr uint64_t kMaxWord = 64;
  const ZipEntry* order = zip_->find(folder + "byteorder");
  if (order != nullptr && zip_->read(*order, kMaxWord) != "little") {
    throw DataError(path() +
                    ": saved on a big-endian machine, whose numbers "
                    "kith does not read");
  }
  // torch.save packs nothing, and who packs its files again gains little: one
  // that unpacks to much more is made to fill the memory.
  constexpr uint64_t kTimes = 100;
  const ZipEntry* packed = zip_->find(folder + "data.pkl");
  const std::string bytes = zip_->read(
      *packed, std::min(kMaxPickle, kAlways + kTimes * packed->packed_size));
  ByteStream in(bytes, path());
  const Pickle pickle = read_pickle(in);
  for (const auto& storage : detail::pth_storages(pickle, path())) {
    const std::string key(storage.key);
    const std::string name = folder + "data/" + key;
    const ZipEntry* entry = zip_->find(name);
    if (entry == nullptr || entry->size != storage.size) {
      throw DataError(path() + ": " + quote(name) + " should have " +
                      std::to_string(storage.size) + " bytes, " +
                      (entry == nullptr
                           ? "but is missing"
                           : "has " + std::to_string(entry->size)));
    }
    storages_[key] = {storage.size, 0, entry};
  }
  tensors_ = detail::pth_tensors(pickle, path());
}

// Five pickles (a magic number, a version, sizes of C types, the object, keys
// of storages), then each storage: int64 number of elements, data.
void PthFile::open_legacy() {
  ByteStream in(file_, 0, std::min(file_.size(), kMaxPickle));
  constexpr uint8_t kProtocolCode = 0x80;
  uint8_t first = 0;
  if (file_.size() > 0) file_.read_at(0, &first, sizeof first);
  if (first != kProtocolCode || read_pickle(in).root().text != kLegacyMagic) {
    throw DataError(path() +
                    ": not a file of torch.save, or one from before 2017 (load "
                    "such a file in Python and save it again)");
  }
  if (read_pickle(in).root().integer != kLegacyProtocol) {
    throw DataError(path() + ": an unknown version of torch.save's format");
  }
  const Pickle system = read_pickle(in);
  const PickleNode* little = system.find(system.root(), "little_endian");
  if (little == nullptr || little->integer != 1) {
    throw DataError(path() +
                    ": saved on a big-endian machine, whose numbers "
                    "kith does not read");
  }
  const Pickle pickle = read_pickle(in);
  const Pickle keys = read_pickle(in);
  std::unordered_map<std::string_view, detail::PthStorage> named;
  for (const auto& storage : detail::pth_storages(pickle, path())) {
    const auto& known = named.emplace(storage.key, storage).first->second;
    if (known.size != storage.size) {
      throw DataError(path() + ": storage " + quote(storage.key) +
                      " has two different sizes");
    }
  }
  uint64_t at = in.position();
  for (const uint32_t number : keys.root().items) {
    const std::string& key = keys.at(number).text;
    const auto found = named.find(key);
    if (found == named.end()) {
      throw DataError(path() + ": no tensor uses storage " + quote(key));
    }
    const auto [unused, size, element_size] = found->second;
    int64_t numel = 0;
    file_.read_at(at, &numel, sizeof numel);
    at += sizeof numel;
    if (numel < 0 || static_cast<uint64_t>(numel) != size / element_size ||
        size > file_.size() - at) {
      throw DataError(path() + ": storage " + quote(key) + " should have " +
                      std::to_string(size / element_size) + " elements, has " +
                      std::to_string(numel) + ", and the file ends " +
                      std::to_string(file_.size() - at) + " bytes later");
    }
    storages_[key] = {size, at, nullptr};
    at += size;
  }
  tensors_ = detail::pth_tensors(pickle, path());
}

void PthFile::check_tensor(const PthTensor& tensor) const {
  const std::string where = path() + ": tensor " + quote(tensor.name);
  const auto storage = storages_.find(tensor.storage);
  if (storage == storages_.end()) {
    throw DataError(where + ": its data is missing");
  }
  const auto bytes = checked_byte_size(tensor.dtype, tensor.shape);
  if (!bytes) throw DataError(where + " is too large");
  if (*bytes == 0) return;
  const auto last = last_element(tensor);
  const uint64_t available =
      storage->second.size / static_cast<uint64_t>(size_of(tensor.dtype));
  if (!last || static_cast<uint64_t>(*last) >= available) {
    throw DataError(where + " reaches beyond its storage of " +
                    std::to_string(available) + " elements");
  }
}

void PthFile::index_tensors() {
  // Views can repeat elements and share storages (tied weights do): not so
  // often that a small file fills the memory.
  constexpr uint64_t kTimes = 16;
  constexpr uint64_t kFree = uint64_t{64} << 20;
  uint64_t left = kFree + kTimes * file_.size();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const PthTensor& tensor = tensors_[i];
    if (!index_.emplace(tensor.name, i).second) {
      throw DataError(path() + ": tensor " + quote(tensor.name) +
                      " appears twice");
    }
    if (!tensor.problem.empty()) continue;
    check_tensor(tensor);
    const auto size =
        static_cast<uint64_t>(*checked_byte_size(tensor.dtype, tensor.shape));
    const Storage& storage = storages_.at(tensor.storage);
    // A view with gaps is read with them.
    uint64_t cost = size == 0 ? 0 : std::max(size, span_bytes(tensor));
    // A packed storage is unpacked as a whole for each of its tensors.
    if (storage.entry != nullptr && !storage.entry->stored()) {
      cost = std::max(cost, storage.size);
    }
    if (cost > left) {
      throw DataError(path() + ": tensor " + quote(tensor.name) +
                      ": the tensors together are more than " +
                      std::to_string(kTimes) + " times as large as the file");
    }
    left -= cost;
  }
}

const PthTensor* PthFile::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

Array PthFile::read(const std::string& name) const {
  const PthTensor* tensor = find(name);
  if (tensor == nullptr) {
    throw DataError(path() + ": no tensor " + quote(name) +
                    "; the file holds " + std::to_string(tensors_.size()));
  }
  return read(*tensor);
}

Array PthFile::read(const PthTensor& tensor) const {
  if (!tensor.problem.empty()) {
    throw DataError(path() + ": tensor " + quote(tensor.name) + " " +
                    tensor.problem);
  }
  Array array = make_array(tensor.dtype, tensor.shape);
  if (array.bytes.empty()) return array;
  const auto width = static_cast<uint64_t>(size_of(tensor.dtype));
  const auto begin = static_cast<uint64_t>(tensor.offset) * width;
  const Storage& storage = storages_.at(tensor.storage);
  if (is_contiguous(tensor)) {
    read_storage(storage, begin, array.bytes.size(), array.bytes.data());
    return array;
  }
  std::string bytes(static_cast<size_t>(span_bytes(tensor)), '\0');
  read_storage(storage, begin, bytes.size(), bytes.data());
  gather(tensor, bytes, array);
  return array;
}

void PthFile::read_storage(const Storage& storage, uint64_t begin, size_t size,
                           void* out) const {
  if (storage.entry == nullptr) {
    file_.read_at(storage.offset + begin, out, size);
  } else if (storage.entry->stored()) {
    zip_->read_range(*storage.entry, begin, out, size);
  } else {
    const std::string bytes = zip_->read(*storage.entry, storage.size);
    std::memcpy(out, bytes.data() + static_cast<size_t>(begin), size);
  }
}

}  // namespace kith
