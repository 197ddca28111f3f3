#pragma once

#include "kith/core/tensor.h"

namespace kith {

/// Similarities that only filter, and how far they can be off: what is within
/// this slack of a decision is summed again, exactly.
///
/// They are products in float32, or where that is faster the rows are split:
/// x = high + low + rest, high and low in bfloat16, and
///   x . y  is about  low . high' + high . low' + high . high',
/// one product [low high high] [high low high]^T of 3 D bfloat16 with sums in
/// float32.
class FilterProduct {
 public:
  /// Of these queries [Q, D], whose lengths longest_row() has checked.
  explicit FilterProduct(const Tensor& queries);
  FilterProduct(const Tensor& queries, bool is_split);

  /// With these items [N, D] from now on, the longest of this length.
  void set_items(const Tensor& items, double longest);

  /// [Q] float32: how far a similarity with one of the items can be from the
  /// exact one.
  const Tensor& slack() const { return slack_; }

  /// What stands for the queries [first, last) in multiply().
  Tensor operand(int64_t first, int64_t last) const;

  /// to = the similarities of an operand's queries with the items
  /// [first, last). Several threads may do so at once.
  void multiply(Tensor& to, const Tensor& operand, int64_t first,
                int64_t last) const;

 private:
  bool is_split_;
  Tensor queries_;
  Tensor errors_;   ///< [Q] product_errors(); or, of rows that are split,
  Tensor lengths_;  ///< [Q] lengths of the rows
  Tensor left_;     ///< [Q, 2] and of low and rest, all in double.
  Tensor items_;    ///< [N, D] as given, or [N, split_width(D)]
  Tensor slack_;
};

/// Whether products of so many queries of `dim` numbers are faster with split
/// rows.
bool split_is_faster(c10::Device device, int64_t queries, int64_t dim);

/// Numbers in bfloat16 that stand for a split row: 3 D, filled up with zeros to
/// whole 16 bytes.
constexpr int64_t split_width(int64_t dim) { return (3 * dim + 7) / 8 * 8; }

}  // namespace kith
