#include "kith/distributed/communicator.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include "kith/distributed/call_header.h"
#include "kith/distributed/detail/bytes.h"

namespace kith {
namespace {

constexpr std::chrono::seconds kFarewell{5};
constexpr size_t kMostReasonBytes = 4000;

/// The first line of an engine's words, without the place in its source that
/// gloo begins with.
std::string first_line(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  const size_t end = line.find("] ");
  const bool has_place = line.starts_with("[") && end != std::string::npos &&
                         line.substr(0, end).find(".cc:") != std::string::npos;
  return has_place ? line.substr(end + 2) : line;
}

/// An engine's words without LibTorch's list of functions.
std::string words_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::Error& caught) {
    return first_line(caught.what_without_backtrace());
  } catch (const std::exception& caught) {
    return first_line(caught.what());
  } catch (...) {
    return "unknown error";
  }
}

}  // namespace

Communicator::Communicator(int64_t rank, int64_t size)
    : rank_(rank), size_(size) {
  KITH_ASSERT(size > 0 && rank >= 0 && rank < size);
}

Communicator::~Communicator() = default;

std::string Communicator::me() const {
  return "rank " + std::to_string(rank_) + " of " + std::to_string(size_);
}

Tensor Communicator::staged(const Tensor& tensor) const {
  return tensor.detach().to(device()).contiguous();
}

void Communicator::run(const CallHeader& call,
                       const std::function<void()>& work) {
  if (is_lost()) {
    throw RankError(me() + " cannot do " + call.name() + " any more: " + lost_);
  }
  try {
    work();
  } catch (...) {
    const std::string words = words_of(std::current_exception());
    lost_ = "lost contact in " + call.name() + " (call " +
            std::to_string(calls_) + "): " + words;
    const std::string missing = who_is_missing();
    if (!missing.empty()) lost_ += ". " + missing;
    throw RankError(me() + ": " + lost_);
  }
}

std::vector<CallHeader> Communicator::gather_headers(const CallHeader& mine) {
  // One rank agrees with itself; asking would wait for the GPU.
  if (size_ == 1) return {mine};
  std::vector<CallHeader> headers;
  run(mine, [&] {
    const Tensor encoded = bytes_of(mine.encode(size_)).to(device());
    Tensor all = at::empty({size_, encoded.numel()}, encoded.options());
    gather_equal(encoded, all);
    all = all.cpu().view({-1}).view(at::kLong).view({size_, -1});
    for (int64_t r = 0; r < size_; ++r) {
      headers.push_back(CallHeader::decode(all[r]));
    }
  });
  return headers;
}

void Communicator::heed_failure(const std::vector<CallHeader>& headers,
                                const std::string& why) {
  const size_t failed = first_rank_with(headers, CallStatus::kFailed);
  if (failed == headers.size()) return;
  Tensor text = at::zeros({headers[failed].rows()}, at::kByte);
  if (static_cast<int64_t>(failed) == rank_) {
    std::copy(why.begin(), why.end(), text.data_ptr<uint8_t>());
  }
  if (text.numel() > 0) {
    text = text.to(device());
    run(headers[failed],
        [&] { broadcast_from(text, static_cast<int64_t>(failed)); });
    text = text.cpu();
  }
  lost_ = rank_name(failed) + " failed";
  if (text.numel() > 0) {
    lost_ += ": " + std::string(text.data_ptr<uint8_t>(),
                                text.data_ptr<uint8_t>() + text.numel());
  }
  throw RankFailed(lost_);
}

std::vector<CallHeader> Communicator::agree(CallHeader mine,
                                            const std::string& why) {
  mine.call = ++calls_;
  std::vector<CallHeader> headers = gather_headers(mine);
  heed_failure(headers, why);
  if (mine.status != CallStatus::kOk) return headers;
  const size_t poor = first_rank_with(headers, CallStatus::kNoMemory);
  if (poor < headers.size()) {
    throw RankOutOfMemory(rank_name(poor) + " ran out of memory; " + me() +
                          " was in " + mine.text());
  }
  for (size_t r = 1; r < headers.size(); ++r) {
    if (headers[r].goes_with(headers[0])) continue;
    throw RankError(rank_name(r) + " is in " + headers[r].text() +
                    " while rank 0 is in " + headers[0].text() +
                    ": ranks must do the same things in the same order");
  }
  return headers;
}

void Communicator::tell_no_memory() {
  if (is_alone()) return;
  CallHeader call(CallKind::kNone);
  call.status = CallStatus::kNoMemory;
  agree(call);
}

void Communicator::tell_failure(const std::string& reason) noexcept {
  if (is_alone() || is_lost()) return;
  try {
    const std::string why = reason.substr(0, kMostReasonBytes);
    leave_word(why);
    set_timeout(kFarewell);
    CallHeader call(CallKind::kNone);
    call.status = CallStatus::kFailed;
    call.sizes[0] = static_cast<int64_t>(why.size());
    agree(call, why);
  } catch (...) {
    // The others have an error of their own then.
  }
  if (!is_lost()) lost_ = "it failed before";
}

}  // namespace kith
