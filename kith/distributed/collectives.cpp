// The calls of a Communicator: what is sent once all ranks agree.
#include <algorithm>
#include <numeric>

#include <ATen/ATen.h>

#include "kith/distributed/call_header.h"
#include "kith/distributed/communicator.h"
#include "kith/distributed/detail/bytes.h"
#include "kith/distributed/lanes.h"

namespace kith {
namespace {

/// Results from this size on are allocated before any rank begins to send, so
/// that a rank without memory for them does not leave the others waiting. An
/// exchange of headers takes much less time than sending that.
constexpr int64_t kLargeBytes = 1 << 20;

/// Ranks with different numbers of rows: all send as many as the one with the
/// most if that is at most this many times of what there is to send.
constexpr double kMostPadding = 1.5;

int64_t bytes_per_row(const Tensor& rows) {
  int64_t bytes = static_cast<int64_t>(rows.element_size());
  for (int64_t i = 1; i < rows.dim(); ++i) bytes *= rows.size(i);
  return bytes;
}

Tensor empty_rows(const Tensor& like, int64_t rows) {
  std::vector<int64_t> sizes = like.sizes().vec();
  sizes.at(0) = rows;
  return at::empty(sizes, like.options());
}

/// `rows`, in `into` if that is given.
Tensor put_into(const Tensor& into, const Tensor& rows) {
  if (!into.defined()) return rows;
  TORCH_CHECK_VALUE(
      into.sizes() == rows.sizes() && into.scalar_type() == rows.scalar_type(),
      "rows for ", rows.sizes(), " were given ", into.sizes());
  if (!into.is_same(rows)) into.detach().copy_(rows);
  return into;
}

int64_t sum_of(const std::vector<int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

std::vector<int64_t> row_counts(const std::vector<CallHeader>& headers) {
  std::vector<int64_t> counts;
  for (const CallHeader& header : headers) counts.push_back(header.rows());
  return counts;
}

}  // namespace

/// Whether an engine can put `rows` rows such as those of `like` there.
bool Communicator::can_receive(const Tensor& into, const Tensor& like,
                               int64_t rows) const {
  return into.defined() && into.is_contiguous() && into.device() == device() &&
         into.scalar_type() == like.scalar_type() && into.size(0) == rows &&
         into.sizes().slice(1) == like.sizes().slice(1);
}

Tensor Communicator::allocate_together(const CallHeader& call,
                                       const Tensor& like, int64_t rows,
                                       int64_t most_bytes, const Tensor& into) {
  const auto make = [&] {
    return can_receive(into, like, rows) ? into : empty_rows(like, rows);
  };
  Tensor tensor;
  if (most_bytes < kLargeBytes) {
    run(call, [&] { tensor = make(); });
    return tensor;
  }
  CallHeader mine = call;
  mine.call = calls_;
  try {
    tensor = make();
  } catch (const std::exception&) {
    mine.status = CallStatus::kNoMemory;
  }
  const std::vector<CallHeader> headers = gather_headers(mine);
  const size_t poor = first_rank_with(headers, CallStatus::kNoMemory);
  if (poor < headers.size()) {
    throw RankOutOfMemory(rank_name(poor) + " ran out of memory in " +
                          headers[poor].text());
  }
  return tensor;
}

Tensor Communicator::gather_padded(const CallHeader& call, const Tensor& mine,
                                   const std::vector<int64_t>& counts,
                                   const Tensor& into) {
  const int64_t most = *std::max_element(counts.begin(), counts.end());
  const bool is_equal = sum_of(counts) == most * size_;
  Tensor all = allocate_together(call, mine, size_ * most,
                                 size_ * most * bytes_per_row(mine),
                                 is_equal ? into : Tensor());
  run(call, [&] {
    Tensor padded = mine;
    if (mine.size(0) < most) {
      padded = empty_rows(mine, most);
      padded.narrow(0, 0, mine.size(0)).copy_(mine);
    }
    Tensor bytes = bytes_of(all).view({size_, -1});
    gather_equal(bytes_of(padded), bytes);
  });
  if (is_equal) return all;
  std::vector<Tensor> parts;
  for (int64_t r = 0; r < size_; ++r) {
    parts.push_back(all.narrow(0, r * most, counts[static_cast<size_t>(r)]));
  }
  return at::cat(parts);
}

Tensor Communicator::gather_one_by_one(const CallHeader& call,
                                       const Tensor& mine,
                                       const std::vector<int64_t>& counts) {
  const int64_t rows = sum_of(counts);
  Tensor all = allocate_together(call, mine, rows, rows * bytes_per_row(mine));
  int64_t begin = 0;
  for (int64_t r = 0; r < size_; ++r) {
    const int64_t count = counts[static_cast<size_t>(r)];
    if (count == 0) continue;
    run(call, [&] {
      const Tensor part = all.narrow(0, begin, count);
      if (r == rank_) part.copy_(mine);
      Tensor bytes = bytes_of(part);
      broadcast_from(bytes, r);
    });
    begin += count;
  }
  return all;
}

Tensor Communicator::all_gather(const Tensor& mine, const Tensor& into) {
  TORCH_CHECK_VALUE(mine.dim() > 0, "all_gather takes rows, not a scalar");
  const at::NoGradGuard no_grad;
  if (is_alone()) return put_into(into, mine);
  const Tensor rows = staged(mine);
  const CallHeader call(CallKind::kAllGather, rows);
  const std::vector<int64_t> counts = row_counts(agree(call));
  const int64_t total = sum_of(counts) * bytes_per_row(rows);
  if (total == 0) {
    return put_into(into, empty_rows(mine.detach(), sum_of(counts)));
  }
  bytes_sent_ += rows.size(0) * bytes_per_row(rows) * (size_ - 1);
  const int64_t most = *std::max_element(counts.begin(), counts.end());
  const bool pads = static_cast<double>(most * size_) <=
                    kMostPadding * static_cast<double>(sum_of(counts));
  const Tensor all = pads ? gather_padded(call, rows, counts, into)
                          : gather_one_by_one(call, rows, counts);
  return into.defined() ? put_into(into, all) : all.to(mine.device());
}

Tensor Communicator::exchange(const Tensor& rows,
                              const std::vector<int64_t>& counts,
                              const Tensor& into) {
  TORCH_CHECK_VALUE(rows.dim() > 0, "exchange takes rows, not a scalar");
  TORCH_CHECK_VALUE(static_cast<int64_t>(counts.size()) == size_,
                    "exchange takes one number of rows for each of ", size_,
                    " ranks, not ", counts.size());
  TORCH_CHECK_VALUE(std::all_of(counts.begin(), counts.end(),
                                [](int64_t count) { return count >= 0; }) &&
                        sum_of(counts) == rows.size(0),
                    "exchange: the numbers of rows for the ranks give ",
                    sum_of(counts), ", but there are ", rows.size(0));
  const at::NoGradGuard no_grad;
  if (is_alone()) return put_into(into, rows);
  Blocks blocks;
  const Tensor mine = staged(rows);
  CallHeader call(CallKind::kExchange, mine);
  call.counts = counts;
  const std::vector<CallHeader> headers = agree(call);
  const auto me = static_cast<size_t>(rank_);
  const int64_t width = bytes_per_row(mine);
  int64_t received = 0;
  int64_t most = 0;  // the same number on all ranks
  for (size_t r = 0; r < headers.size(); ++r) {
    blocks.send_bytes.push_back(counts[r] * width);
    blocks.receive_bytes.push_back(headers[r].counts[me] * width);
    received += headers[r].counts[me];
    most += headers[r].rows() * width;
  }
  if (most == 0) return put_into(into, empty_rows(rows.detach(), received));
  bytes_sent_ += mine.size(0) * width - blocks.send_bytes[me];
  const Tensor result = allocate_together(call, mine, received, most, into);
  run(call, [&] {
    blocks.send = bytes_of(mine);
    blocks.receive = bytes_of(result);
    exchange_blocks(blocks);
  });
  return into.defined() ? put_into(into, result) : result.to(rows.device());
}

Tensor Communicator::all_reduce(const Tensor& mine) {
  if (is_alone()) return mine;
  LaneSum sum(Lanes(size_, *this), *this);
  sum.add(mine);
  return sum.total();
}

void Communicator::agree_on_sum(const Tensor& mine) {
  if (!is_alone()) agree(CallHeader(CallKind::kSum, mine));
}

void Communicator::broadcast(Tensor& tensor, int64_t root) {
  TORCH_CHECK_VALUE(root >= 0 && root < size_, "broadcast from rank ", root,
                    " of ", size_, " ranks");
  if (is_alone()) return;
  const at::NoGradGuard no_grad;
  Tensor buffer = staged(tensor);
  CallHeader call(CallKind::kBroadcast, buffer);
  call.root = root;
  agree(call);
  if (buffer.numel() == 0) return;
  if (rank_ == root) bytes_sent_ += bytes_of(buffer).numel() * (size_ - 1);
  run(call, [&] {
    Tensor bytes = bytes_of(buffer);
    broadcast_from(bytes, root);
  });
  const Tensor to = tensor.detach();
  if (rank_ != root && !buffer.is_alias_of(to)) to.copy_(buffer);
}

std::string Communicator::broadcast(const std::string& text, int64_t root) {
  TORCH_CHECK_VALUE(root >= 0 && root < size_, "broadcast from rank ", root,
                    " of ", size_, " ranks");
  if (is_alone()) return text;
  CallHeader call(CallKind::kBroadcastText);
  call.root = root;
  call.sizes[0] = static_cast<int64_t>(text.size());
  const int64_t bytes = agree(call)[static_cast<size_t>(root)].rows();
  if (bytes == 0) return "";
  if (rank_ == root) bytes_sent_ += bytes * (size_ - 1);
  std::string result = rank_ == root ? text : std::string();
  run(call, [&] {
    result.resize(static_cast<size_t>(bytes));
    const Tensor here = at::from_blob(result.data(), {bytes}, at::kByte);
    Tensor sent = here.to(device());
    broadcast_from(sent, root);
    here.copy_(sent);
  });
  return result;
}

void Communicator::barrier() {
  // Headers come from all, so all are here.
  if (!is_alone()) agree(CallHeader(CallKind::kBarrier));
}

}  // namespace kith
