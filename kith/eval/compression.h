#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kith/core/registry.h"
#include "kith/core/tensor.h"
#include "kith/eval/evaluate.h"

namespace kith {

class Communicator;
struct EmbeddedSplit;

/// A step that makes vectors smaller: it gives them other numbers, fewer of
/// them, or it keeps the items of a gallery as codes. Vectors are [N, D]
/// float32 on the CPU. A query is compared by inner product with the vectors
/// that codes stand for, as an index of faiss does it.
class Compression {
 public:
  virtual ~Compression() = default;

  /// Numbers of a vector behind the step. ConfigError if it cannot take vectors
  /// of `before` numbers.
  virtual int64_t dim(int64_t before) const { return before; }

  /// Bits of an item of `before` numbers.
  virtual int64_t bits(int64_t before) const = 0;

  /// Whether items are codes, behind which there is no other step.
  virtual bool is_code() const { return true; }

  /// Whether learn() must come first, with unit vectors that are no queries.
  /// DataError if there are too few.
  virtual bool learns() const { return false; }
  virtual void learn(const Tensor& /*rows*/, uint64_t /*seed*/) {}
  /// What it has learnt: ranks take it from the first.
  virtual std::vector<Tensor> learnt() const { return {}; }

  /// What is compared with items.
  virtual Tensor queries(const Tensor& rows) const { return rows; }
  /// The vectors that items stand for.
  virtual Tensor items(const Tensor& rows) const = 0;
};

using CompressionRegistry = Registry<Compression>;
CompressionRegistry& compression_registry();

/// Steps one behind the other, as a text says: "pca:64+int8". The numbers
/// behind a name are its options in their order, "pq:16:6".
class CompressedForm {
 public:
  /// ConfigError for an unknown step or option, or a step behind a code.
  explicit CompressedForm(const std::string& text);

  const std::string& name() const { return name_; }
  bool learns() const;

  /// Of an item whose embedding has `dim` numbers. ConfigError if a step cannot
  /// take them.
  int64_t bytes(int64_t dim) const;

  /// From unit vectors [N, D]; all ranks know what the first has learnt.
  void learn(const Tensor& rows, uint64_t seed, Communicator& ranks);

  /// [N, D] on any device -> the same there.
  Tensor queries(const Tensor& rows) const;
  Tensor items(const Tensor& rows) const;

  /// The same with their galleries in this form.
  EmbeddedSplit apply(const EmbeddedSplit& split) const;
  Scored apply(Scored scored) const;

 private:
  std::string name_;
  std::vector<std::shared_ptr<Compression>> steps_;
};

/// What a split scores whose items are kept in a form.
struct CompressedResult {
  std::string form;   ///< "float32": as they are.
  int64_t bytes = 0;  ///< Of an item.
  EvalResult result;  ///< Metrics of rankings only.
};

}  // namespace kith
