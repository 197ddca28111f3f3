#pragma once

#include <cstdint>
#include <vector>

#include "kith/eval/compression.h"

namespace kith {

/// The ways to make vectors smaller, as typed parts; see compression.h.

struct DimCompressionOptions {
  int64_t numbers = 64;

  void describe(OptionSet& set);
};

/// The first numbers, made a unit vector.
class DimCompression final : public Compression {
 public:
  static constexpr const char* kSummary =
      "the first numbers of a vector, made a unit vector; for networks that "
      "are trained with model.head.nested";
  static constexpr PartFacts kFacts = {
      .formula = "x' = x[1..d] / |x[1..d]|",
      .source = "Kusupati et al., NeurIPS 2022 (Matryoshka)"};
  using Options = DimCompressionOptions;

  explicit DimCompression(const Options& options = {});

  int64_t dim(int64_t before) const override;
  int64_t bits(int64_t before) const override { return 32 * dim(before); }
  bool is_code() const override { return false; }
  Tensor queries(const Tensor& rows) const override;
  Tensor items(const Tensor& rows) const override { return queries(rows); }

 private:
  int64_t numbers_;
};

struct PcaCompressionOptions {
  int64_t numbers = 64;

  void describe(OptionSet& set);
};

/// Coordinates along the directions in which training vectors vary most.
class PcaCompression final : public Compression {
 public:
  static constexpr const char* kSummary =
      "the widest directions of the training vectors (PCA), made a unit vector";
  static constexpr PartFacts kFacts = {
      .formula = "x' = V (x - m) / |V (x - m)|, V the d widest directions"};
  using Options = PcaCompressionOptions;

  explicit PcaCompression(const Options& options = {});

  int64_t dim(int64_t before) const override;
  int64_t bits(int64_t before) const override { return 32 * dim(before); }
  bool is_code() const override { return false; }
  bool learns() const override { return true; }
  void learn(const Tensor& rows, uint64_t seed) override;
  std::vector<Tensor> learnt() const override { return {mean_, directions_}; }
  Tensor queries(const Tensor& rows) const override;
  Tensor items(const Tensor& rows) const override { return queries(rows); }

 private:
  int64_t numbers_;
  Tensor mean_;        ///< [D] double
  Tensor directions_;  ///< [numbers, D] double
};

/// Numbers in half precision.
class Float16Compression final : public Compression {
 public:
  static constexpr const char* kSummary =
      "16 bits a number; queries stay float32";
  using Options = NoOptions;

  explicit Float16Compression(const Options& = {}) {}

  int64_t bits(int64_t before) const override { return 16 * before; }
  Tensor items(const Tensor& rows) const override;
};

/// Each number as one of 256 steps of its range among the training vectors.
class Int8Compression final : public Compression {
 public:
  static constexpr const char* kSummary =
      "8 bits a number, steps of its range among training vectors; queries "
      "stay float32";
  static constexpr PartFacts kFacts = {
      .formula =
          "c = floor(255 (x - low) / width) in 0 .. 255\n"
          "x' = low + width (c + 1/2) / 255"};
  using Options = NoOptions;

  explicit Int8Compression(const Options& = {}) {}

  int64_t bits(int64_t before) const override { return 8 * before; }
  bool learns() const override { return true; }
  void learn(const Tensor& rows, uint64_t seed) override;
  std::vector<Tensor> learnt() const override { return {low_, width_}; }
  Tensor items(const Tensor& rows) const override;

 private:
  Tensor low_;  ///< [D]
  Tensor width_;
};

/// One bit a number: whether it is above its median among the training
/// vectors. Bits are compared with bits, of which the nearest agree most.
class BinaryCompression final : public Compression {
 public:
  static constexpr const char* kSummary =
      "1 bit a number, above its median among training vectors or not; "
      "queries are bits too, and agree by Hamming distance";
  static constexpr PartFacts kFacts = {
      .formula = "s(q, x) = 1 - 2 hamming(bits of q, bits of x) / D"};
  using Options = NoOptions;

  explicit BinaryCompression(const Options& = {}) {}

  int64_t bits(int64_t before) const override { return before; }
  bool learns() const override { return true; }
  void learn(const Tensor& rows, uint64_t seed) override;
  std::vector<Tensor> learnt() const override { return {medians_}; }
  Tensor queries(const Tensor& rows) const override;
  Tensor items(const Tensor& rows) const override { return queries(rows); }

 private:
  Tensor medians_;  ///< [D]
};

struct PqCompressionOptions {
  int64_t subvectors = 16;
  int64_t bits = 8;

  void describe(OptionSet& set);
};

/// Product quantisation: each piece of a vector is the nearest of 2^bits
/// centres, which k-means finds among the pieces of the training vectors.
class PqCompression final : public Compression {
 public:
  static constexpr const char* kSummary =
      "product quantisation: each piece of a vector is the number of the "
      "nearest of 2^bits centres; queries stay float32";
  static constexpr PartFacts kFacts = {
      .source =
          "Jegou, Douze and Schmid, Product quantization for nearest "
          "neighbor search, TPAMI 2011"};
  using Options = PqCompressionOptions;

  explicit PqCompression(const Options& options = {});

  int64_t dim(int64_t before) const override;
  int64_t bits(int64_t) const override {
    return options_.subvectors * options_.bits;
  }
  bool learns() const override { return true; }
  void learn(const Tensor& rows, uint64_t seed) override;
  std::vector<Tensor> learnt() const override { return {centres_}; }
  Tensor items(const Tensor& rows) const override;

 private:
  Options options_;
  Tensor centres_;  ///< [subvectors, 2^bits, D / subvectors] float32
};

}  // namespace kith
