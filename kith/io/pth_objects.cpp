#include "kith/io/pth_objects.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "kith/core/error.h"
#include "kith/core/quote.h"

namespace kith::detail {
namespace {

using Kind = PickleNode::Kind;

constexpr size_t kMaxRank = 64;

struct StorageType {
  std::string_view name;
  uint64_t element_size;
  std::optional<DType> dtype;  ///< Nothing: kith has no such type.
};

constexpr std::array<StorageType, 16> kStorageTypes = {{
    {"DoubleStorage", 8, DType::kF64},
    {"FloatStorage", 4, DType::kF32},
    {"HalfStorage", 2, DType::kF16},
    {"BFloat16Storage", 2, DType::kBF16},
    {"LongStorage", 8, DType::kI64},
    {"IntStorage", 4, DType::kI32},
    {"ByteStorage", 1, DType::kU8},
    {"BoolStorage", 1, DType::kBool},
    {"ShortStorage", 2, std::nullopt},
    {"CharStorage", 1, std::nullopt},
    {"ComplexFloatStorage", 8, std::nullopt},
    {"ComplexDoubleStorage", 16, std::nullopt},
    {"QInt8Storage", 1, std::nullopt},
    {"QUInt8Storage", 1, std::nullopt},
    {"QInt32Storage", 4, std::nullopt},
    {"UntypedStorage", 1, std::nullopt},
}};

struct StorageId {
  PthStorage storage;
  StorageType type;
  int64_t view_offset = 0;  ///< In elements.
};

class Objects {
 public:
  Objects(const Pickle& pickle, const std::string& path)
      : pickle_(pickle), path_(path) {}

  std::vector<PthStorage> storages() {
    std::vector<PthStorage> storages;
    for (const PickleNode& node : pickle_.nodes()) {
      if (node.kind != Kind::kPersistent) continue;
      storages.push_back(storage_id(node).storage);
      count_steps(storages.back().key.size());
    }
    return storages;
  }

  std::vector<PthTensor> tensors() {
    walk(pickle_.root());
    return std::move(tensors_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw DataError(path_ + ": " + why);
  }
  const PickleNode& item(const PickleNode& node, size_t i) const {
    return pickle_.at(node.items[i]);
  }

  StorageId storage_id(const PickleNode& node) const;
  void walk(const PickleNode& node);
  void enter(std::string key, const PickleNode& value);
  std::string key_text(const PickleNode& key, size_t position) const;
  bool is_script_module(const PickleNode& node) const;
  bool add_tensor(const PickleNode& object);
  void fill(const PickleNode& arguments, PthTensor& tensor);
  std::vector<int64_t> integers(const PickleNode& node) const;
  void count_steps(size_t count);

  const Pickle& pickle_;
  const std::string& path_;
  std::vector<std::string> keys_;
  std::vector<PthTensor> tensors_;
  size_t steps_ = 0;
};

// ('storage', type, key, location, number of elements) and, in the older
// format, None or (key of the view, its offset, its length).
StorageId Objects::storage_id(const PickleNode& node) const {
  const PickleNode& id = item(node, 0);
  const size_t count = id.items.size();
  if (id.kind != Kind::kTuple || count < 5 || count > 6 ||
      item(id, 0).text != "storage" || item(id, 1).kind != Kind::kGlobal ||
      item(id, 2).kind != Kind::kString || item(id, 4).kind != Kind::kInt ||
      item(id, 4).integer < 0) {
    fail("refers to something outside of the pickle that is not a storage");
  }
  const std::string_view type = item(id, 1).text;
  const auto* const found = std::find_if(
      kStorageTypes.begin(), kStorageTypes.end(), [&](const StorageType& t) {
        return type == "torch." + std::string(t.name) ||
               type == "torch.cuda." + std::string(t.name) ||
               type == "torch.storage." + std::string(t.name);
      });
  if (found == kStorageTypes.end()) {
    fail(quote(type) + " is not a type of storage");
  }
  const auto numel = static_cast<uint64_t>(item(id, 4).integer);
  if (numel > uint64_t{std::numeric_limits<int64_t>::max()} / 16) {
    fail("storage " + quote(item(id, 2).text) + " is too large");
  }
  StorageId result{
      {item(id, 2).text, numel * found->element_size, found->element_size},
      *found};
  if (count == 6 && item(id, 5).kind == Kind::kTuple) {
    const PickleNode& view = item(id, 5);
    if (view.items.size() != 3 || item(view, 1).kind != Kind::kInt ||
        item(view, 1).integer < 0 ||
        static_cast<uint64_t>(item(view, 1).integer) > numel) {
      fail("a view of storage " + quote(result.storage.key) + " is broken");
    }
    result.view_offset = item(view, 1).integer;
  }
  return result;
}

// Paths and ids can be many and keys long without the file being so: time and
// memory are counted, about in bytes.
void Objects::count_steps(size_t count) {
  constexpr size_t kMaxSteps = 100'000'000;
  steps_ += count;
  if (steps_ > kMaxSteps) {
    fail("the same containers appear in too many places");
  }
}

void Objects::walk(const PickleNode& node) {
  if (node.kind == Kind::kDict) {
    for (size_t i = 0; i + 1 < node.items.size(); i += 2) {
      enter(key_text(item(node, i), i / 2), item(node, i + 1));
    }
  } else if (node.kind == Kind::kList || node.kind == Kind::kTuple) {
    for (size_t i = 0; i < node.items.size(); ++i) {
      enter(std::to_string(i), item(node, i));
    }
  } else if (is_script_module(node)) {
    // The class, its arguments (none), then its state: a dict of parameters,
    // buffers, other modules and plain data.
    for (size_t i = 2; i < node.items.size(); ++i) walk(item(node, i));
  } else if (node.kind == Kind::kObject) {
    add_tensor(node);
  }
}

bool Objects::is_script_module(const PickleNode& node) const {
  return node.kind == Kind::kObject &&
         item(node, 0).text.starts_with("__torch__.");
}

// Recursion is as deep as the pickle, at most Pickle::kMaxDepth.
void Objects::enter(std::string key, const PickleNode& value) {
  count_steps(1 + key.size());
  keys_.push_back(std::move(key));
  walk(value);
  keys_.pop_back();
}

std::string Objects::key_text(const PickleNode& key, size_t position) const {
  if (key.kind == Kind::kString) return key.text;
  if (key.kind == Kind::kInt) return std::to_string(key.integer);
  return "#" + std::to_string(position);
}

bool Objects::add_tensor(const PickleNode& object) {
  std::string_view function = item(object, 0).text;
  const PickleNode* arguments = &item(object, 1);
  const bool is_parameter =
      function.starts_with("torch._utils._rebuild_parameter") ||
      function.starts_with("torch.nn.parameter.");
  if (is_parameter && !arguments->items.empty()) {
    const PickleNode& data = item(*arguments, 0);
    return data.kind == Kind::kObject && add_tensor(data);
  }
  // A subclass of Tensor: (function, class, arguments, attributes).
  if (function == "torch._tensor._rebuild_from_type_v2" &&
      arguments->items.size() >= 3) {
    function = item(*arguments, 0).text;
    arguments = &item(*arguments, 2);
  }
  if (!function.starts_with("torch._utils._rebuild_")) return false;
  PthTensor tensor;
  tensor.path = keys_;
  for (const std::string& key : keys_) {
    tensor.name += (tensor.name.empty() ? "" : "/") + key;
  }
  count_steps(sizeof(PthTensor) + 2 * tensor.name.size() +
              keys_.size() * sizeof(std::string));
  if (function == "torch._utils._rebuild_tensor" ||
      function == "torch._utils._rebuild_tensor_v2") {
    fill(*arguments, tensor);
  } else {
    tensor.problem = "is made by " + std::string(function) +
                     "; only dense tensors of common types can be read";
  }
  tensors_.push_back(std::move(tensor));
  return true;
}

// (storage, offset, shape, strides, ...)
void Objects::fill(const PickleNode& arguments, PthTensor& tensor) {
  const std::string where = "tensor " + quote(tensor.name);
  if (arguments.items.size() < 4 ||
      item(arguments, 0).kind != Kind::kPersistent ||
      item(arguments, 1).kind != Kind::kInt) {
    fail(where + " is not described by storage, offset, shape and strides");
  }
  const StorageId id = storage_id(item(arguments, 0));
  tensor.storage = id.storage.key;
  tensor.offset = item(arguments, 1).integer;
  tensor.shape = integers(item(arguments, 2));
  tensor.strides = integers(item(arguments, 3));
  count_steps(tensor.storage.size() +
              (tensor.shape.size() + tensor.strides.size()) * sizeof(int64_t));
  if (tensor.shape.size() != tensor.strides.size() ||
      tensor.shape.size() > kMaxRank || tensor.offset < 0 ||
      __builtin_add_overflow(tensor.offset, id.view_offset, &tensor.offset)) {
    fail(where + " has a broken shape, strides or offset");
  }
  if (id.type.dtype) {
    tensor.dtype = *id.type.dtype;
  } else {
    tensor.problem = "has elements of " + std::string(id.type.name) +
                     ", a type that kith does not know";
  }
}

std::vector<int64_t> Objects::integers(const PickleNode& node) const {
  // torch.Size((2, 3))
  if (node.kind == Kind::kObject && item(node, 0).text == "torch.Size" &&
      !item(node, 1).items.empty() &&
      item(item(node, 1), 0).kind != Kind::kObject) {
    return integers(item(item(node, 1), 0));
  }
  if (node.kind != Kind::kTuple && node.kind != Kind::kList) {
    fail("a shape is not a tuple");
  }
  // One too many is enough to be refused.
  const size_t count = std::min(node.items.size(), kMaxRank + 1);
  std::vector<int64_t> values;
  for (size_t i = 0; i < count; ++i) {
    if (item(node, i).kind != Kind::kInt || item(node, i).integer < 0) {
      fail("a shape or stride is not an integer of at least 0");
    }
    values.push_back(item(node, i).integer);
  }
  return values;
}

}  // namespace

std::vector<PthStorage> pth_storages(const Pickle& pickle,
                                     const std::string& path) {
  return Objects(pickle, path).storages();
}

std::vector<PthTensor> pth_tensors(const Pickle& pickle,
                                   const std::string& path) {
  return Objects(pickle, path).tensors();
}

}  // namespace kith::detail
