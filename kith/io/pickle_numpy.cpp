#include "kith/io/pickle_numpy.h"

#include <algorithm>
#include <string_view>

#include "kith/core/error.h"
#include "kith/core/quote.h"

namespace kith {
namespace {

using Kind = PickleNode::Kind;

constexpr size_t kMaxNumpyRank = 64;

enum class Form { kNone, kArray, kBuffer, kNumber };

// numpy.core was renamed to numpy._core in NumPy 2.0.
Form form_of(const Pickle& pickle, const PickleNode& node) {
  if (node.kind != Kind::kObject) return Form::kNone;
  std::string_view name = pickle.at(node.items[0]).text;
  for (const std::string_view core : {"numpy.core.", "numpy._core."}) {
    if (!name.starts_with(core)) continue;
    name.remove_prefix(core.size());
    if (name == "multiarray._reconstruct") return Form::kArray;
    if (name == "numeric._frombuffer") return Form::kBuffer;
    if (name == "multiarray.scalar") return Form::kNumber;
  }
  return Form::kNone;
}

class NumpyReader {
 public:
  NumpyReader(const Pickle& pickle, const std::string& where)
      : pickle_(pickle), where_(where) {}

  ArrayView read(const PickleNode& node) const {
    const PickleNode& arguments = pickle_.at(node.items[1]);
    switch (form_of(pickle_, node)) {
      case Form::kArray:
        return array(node);
      case Form::kBuffer:
        return buffer(arguments);
      case Form::kNumber:
        need(arguments, 2, "a NumPy number");
        return view(item(arguments, 0), {}, item(arguments, 1));
      case Form::kNone:
        break;
    }
    fail("is not a NumPy array");
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw DataError(where_ + ": " + why);
  }
  const PickleNode& item(const PickleNode& node, size_t i) const {
    return pickle_.at(node.items[i]);
  }
  void need(const PickleNode& tuple, size_t count, const char* what) const {
    if (tuple.kind != Kind::kTuple || tuple.items.size() < count) {
      fail(std::string(what) + " is not described as NumPy does");
    }
  }

  // _reconstruct(class, (0,), b'b'), then the state (version, shape, dtype,
  // whether in Fortran order, data).
  ArrayView array(const PickleNode& node) const {
    if (node.items.size() != 3) fail("a NumPy array has no contents");
    const PickleNode& state = item(node, 2);
    need(state, 5, "a NumPy array");
    const PickleNode& fortran = item(state, 3);
    if (fortran.kind != Kind::kBool && fortran.kind != Kind::kInt) {
      fail("a NumPy array is not described as NumPy does");
    }
    if (fortran.integer != 0) refuse_order();
    return view(item(state, 2), shape(item(state, 1)), item(state, 4));
  }

  // _frombuffer(data, dtype, shape, order), since protocol 5.
  ArrayView buffer(const PickleNode& arguments) const {
    need(arguments, 4, "a NumPy array");
    if (item(arguments, 3).text != "C") refuse_order();
    return view(item(arguments, 1), shape(item(arguments, 2)),
                item(arguments, 0));
  }

  [[noreturn]] void refuse_order() const {
    fail("a NumPy array in Fortran order; save np.ascontiguousarray of it");
  }

  std::vector<int64_t> shape(const PickleNode& node) const {
    need(node, 0, "the shape of a NumPy array");
    if (node.items.size() > kMaxNumpyRank)
      fail("a NumPy array of over 64 axes");
    std::vector<int64_t> sizes;
    for (size_t i = 0; i < node.items.size(); ++i) {
      if (item(node, i).kind != Kind::kInt) {
        fail("the shape of a NumPy array is not of integers");
      }
      sizes.push_back(item(node, i).integer);
    }
    return sizes;
  }

  // dtype('i8', False, True), then the state (version, byte order, ...).
  DType dtype(const PickleNode& node) const {
    if (node.kind != Kind::kObject || item(node, 0).text != "numpy.dtype") {
      fail("the type of a NumPy array is not a dtype");
    }
    need(item(node, 1), 1, "a dtype");
    const std::string& code = item(item(node, 1), 0).text;
    if (node.items.size() > 2) {
      need(item(node, 2), 2, "a dtype");
      if (item(item(node, 2), 1).text == ">") {
        fail("big-endian NumPy numbers; save array.astype('=" + code + "')");
      }
    }
    if (code == "i4") return DType::kI32;
    if (code == "i8") return DType::kI64;
    if (code == "f4") return DType::kF32;
    if (code == "f8") return DType::kF64;
    fail("a NumPy array of type " + quote(code) +
         "; expected int32, int64, float32 or float64 (i4, i8, f4, f8)");
  }

  ArrayView view(const PickleNode& type, std::vector<int64_t> sizes,
                 const PickleNode& data) const {
    const DType element = dtype(type);
    // Python 2 has its bytes in a str.
    if (data.kind != Kind::kBytes && data.kind != Kind::kString) {
      fail("the contents of a NumPy array are not bytes");
    }
    const std::optional<int64_t> bytes = checked_byte_size(element, sizes);
    if (!bytes || static_cast<uint64_t>(*bytes) != data.text.size()) {
      fail("a NumPy array whose contents (" + std::to_string(data.text.size()) +
           " bytes) do not fit its shape");
    }
    return {element, std::move(sizes), data.text.data()};
  }

  const Pickle& pickle_;
  const std::string& where_;
};

}  // namespace

bool is_numpy(const Pickle& pickle, const PickleNode& node) {
  return form_of(pickle, node) != Form::kNone;
}

ArrayView numpy_view(const Pickle& pickle, const PickleNode& node,
                     const std::string& where) {
  return NumpyReader(pickle, where).read(node);
}

}  // namespace kith
