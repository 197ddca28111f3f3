#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kith/core/tensor.h"

namespace kith {

enum class CallKind : int64_t {
  kNone,  ///< In place of a call: this rank has something to tell.
  kAllGather,
  kExchange,
  kSum,
  kBroadcast,
  kBroadcastText,
  kBarrier,
};

enum class CallStatus : int64_t { kOk, kNoMemory, kFailed };

/// What a rank is about to do. All ranks compare theirs before anything else is
/// sent.
struct CallHeader {
  static constexpr int64_t kMostDims = 8;

  int64_t call = 0;
  CallKind kind = CallKind::kNone;
  CallStatus status = CallStatus::kOk;
  int64_t root = -1;  ///< Of a broadcast.
  int64_t type = -1;  ///< at::ScalarType; -1: no tensor.
  int64_t dims = 0;
  /// Rows first; or the bytes of a text.
  std::array<int64_t, kMostDims> sizes = {};
  std::vector<int64_t> counts;  ///< Of an exchange: rows to each rank.

  CallHeader() = default;
  explicit CallHeader(CallKind what) : kind(what) {}
  CallHeader(CallKind what, const Tensor& tensor);

  int64_t rows() const { return sizes[0]; }

  /// Whether ranks with these headers are doing the same.
  bool goes_with(const CallHeader& other) const;

  /// "all_gather".
  std::string name() const;

  /// "all_gather of float32 [*, 3] (call 17)"; the star: ranks may differ.
  std::string text() const;

  /// int64 on the CPU, the same number for `ranks` ranks whatever the call.
  Tensor encode(int64_t ranks) const;
  static CallHeader decode(const Tensor& encoded);
};

/// "rank 2".
std::string rank_name(size_t rank);

/// The first rank with this status; none: headers.size().
size_t first_rank_with(const std::vector<CallHeader>& headers,
                       CallStatus status);

}  // namespace kith
