#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kith/io/byte_stream.h"

namespace kith {

/// One object of a pickle. Others are named by their number in the Pickle.
struct PickleNode {
  enum class Kind : uint8_t {
    kNone,
    kBool,    ///< integer
    kInt,     ///< integer
    kBigInt,  ///< text: two's complement, little endian, over 64 bits
    kFloat,   ///< real
    kString,  ///< text; a str of Python 2 has its bytes as they stand
    kBytes,   ///< text; bytes and bytearray
    kTuple,   ///< items
    kList,    ///< items
    kSet,     ///< items
    kDict,    ///< items: key, value, key, value, ... (the last of a key counts)
    kGlobal,  ///< text: "torch.FloatStorage"; a name, nothing is looked up
    /// items: the class or function (kGlobal), its arguments (kTuple), then
    /// states and elements that were given to it. Nothing was called.
    kObject,
    kPersistent,  ///< items: the id; a thing that lies outside of the pickle
  };

  Kind kind = Kind::kNone;
  union {
    int64_t integer = 0;
    double real;
  };
  std::string text;
  std::vector<uint32_t> items;
};

/// What was pickled: a graph of objects without cycles, at most kMaxDepth deep,
/// so that walking it by recursion is safe. Objects can be shared: a walk over
/// all paths may be exponentially long and must count its steps.
class Pickle {
 public:
  static constexpr uint32_t kMaxDepth = 200;

  Pickle(std::vector<PickleNode> nodes, uint32_t root)
      : nodes_(std::move(nodes)), root_(root) {}

  const PickleNode& root() const { return nodes_[root_]; }
  const PickleNode& at(uint32_t number) const { return nodes_[number]; }

  /// Every object, even those that were dropped on the way.
  const std::vector<PickleNode>& nodes() const { return nodes_; }

  /// The value of a str key of a dict; nullptr if there is none, or no dict.
  const PickleNode* find(const PickleNode& dict, std::string_view key) const;

 private:
  std::vector<PickleNode> nodes_;
  uint32_t root_;
};

/// Reads one pickle of protocol 0 to 5 and leaves the stream behind it. Pickles
/// are programs that name functions to call; this reads them as data. Names of
/// containers, tensors and other plain data are known (see pickle_names.h) and
/// become objects above; any other name, such as os.system, is a DataError. No
/// code is looked up or run. Also DataError: damaged and truncated pickles,
/// cycles, nesting over kMaxDepth, and more than four million objects.
Pickle read_pickle(ByteStream& in);

}  // namespace kith
