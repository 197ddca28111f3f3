#include "kith/distributed/call_header.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "kith/core/error.h"

namespace kith {
namespace {

constexpr int64_t kFixedNumbers = 6 + CallHeader::kMostDims;

/// As Python calls it.
std::string type_text(int64_t type) {
  switch (static_cast<at::ScalarType>(type)) {
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kHalf:
      return "float16";
    case at::kBFloat16:
      return "bfloat16";
    case at::kLong:
      return "int64";
    case at::kInt:
      return "int32";
    case at::kShort:
      return "int16";
    case at::kChar:
      return "int8";
    case at::kByte:
      return "uint8";
    case at::kBool:
      return "bool";
    default:
      return at::toString(static_cast<at::ScalarType>(type));
  }
}

/// Whether every rank has its own number of rows.
bool rows_may_differ(CallKind kind) {
  return kind == CallKind::kAllGather || kind == CallKind::kExchange ||
         kind == CallKind::kBroadcastText;
}

}  // namespace

CallHeader::CallHeader(CallKind what, const Tensor& tensor)
    : kind(what),
      type(static_cast<int64_t>(tensor.scalar_type())),
      dims(tensor.dim()) {
  TORCH_CHECK_VALUE(dims <= kMostDims, "ranks send tensors of at most ",
                    kMostDims, " dimensions, not ", dims);
  std::copy_n(tensor.sizes().begin(), dims, sizes.begin());
}

bool CallHeader::goes_with(const CallHeader& other) const {
  const int64_t first = rows_may_differ(kind) ? 1 : 0;
  return call == other.call && kind == other.kind && root == other.root &&
         type == other.type && dims == other.dims &&
         std::equal(sizes.begin() + first, sizes.end(),
                    other.sizes.begin() + first);
}

std::string CallHeader::name() const {
  switch (kind) {
    case CallKind::kAllGather:
      return "all_gather";
    case CallKind::kExchange:
      return "exchange";
    case CallKind::kSum:
      return "sum";
    case CallKind::kBroadcast:
    case CallKind::kBroadcastText:
      return "broadcast";
    case CallKind::kBarrier:
      return "barrier";
    case CallKind::kNone:
      break;
  }
  return "a message";
}

std::string CallHeader::text() const {
  std::string text = name();
  if (kind == CallKind::kBroadcastText) text += " of a text";
  if (type >= 0) {
    text += " of " + type_text(type) + " [";
    for (int64_t i = 0; i < dims; ++i) {
      if (i > 0) text += ", ";
      const bool differs = i == 0 && rows_may_differ(kind);
      text += differs ? "*" : std::to_string(sizes[static_cast<size_t>(i)]);
    }
    text += "]";
  }
  if (root > 0) text += " from rank " + std::to_string(root);
  return text + " (call " + std::to_string(call) + ")";
}

Tensor CallHeader::encode(int64_t ranks) const {
  Tensor encoded = at::zeros({kFixedNumbers + ranks}, at::kLong);
  int64_t* to = encoded.data_ptr<int64_t>();
  *to++ = call;
  *to++ = static_cast<int64_t>(kind);
  *to++ = static_cast<int64_t>(status);
  *to++ = root;
  *to++ = type;
  *to++ = dims;
  to = std::copy(sizes.begin(), sizes.end(), to);
  KITH_ASSERT(counts.empty() || static_cast<int64_t>(counts.size()) == ranks);
  std::copy(counts.begin(), counts.end(), to);
  return encoded;
}

CallHeader CallHeader::decode(const Tensor& encoded) {
  const int64_t* from = encoded.data_ptr<int64_t>();
  CallHeader header;
  header.call = from[0];
  header.kind = static_cast<CallKind>(from[1]);
  header.status = static_cast<CallStatus>(from[2]);
  header.root = from[3];
  header.type = from[4];
  header.dims = from[5];
  std::copy_n(from + 6, kMostDims, header.sizes.begin());
  header.counts.assign(from + kFixedNumbers, from + encoded.numel());
  return header;
}

std::string rank_name(size_t rank) { return "rank " + std::to_string(rank); }

size_t first_rank_with(const std::vector<CallHeader>& headers,
                       CallStatus status) {
  size_t rank = 0;
  while (rank < headers.size() && headers[rank].status != status) ++rank;
  return rank;
}

}  // namespace kith
