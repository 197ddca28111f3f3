#include "kith/train/gradient_sum.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/torch.h>

#include "kith/core/device.h"
#include "kith/distributed/communicator.h"
#include "kith/ops/stream.h"
#include "kith/train/gradient_bucket.h"

namespace kith {
namespace {

/// A bucket is full with this. Smaller ones are sooner on their way, but each
/// takes a few rounds between the ranks.
constexpr int64_t kBucketBytes = 8 << 20;

/// The last bucket has at most this, or one parameter: all wait for it when the
/// pass is over.
constexpr int64_t kLastBucketBytes = 1 << 20;

int64_t bytes_of_gradient(const Tensor& parameter) {
  return parameter.numel() * static_cast<int64_t>(parameter.element_size());
}

/// How many of the parameters, the first ones, are in the last bucket.
size_t count_last(const std::vector<Tensor>& parameters) {
  size_t count = 0;
  int64_t bytes = 0;
  for (; count < parameters.size(); ++count) {
    bytes += bytes_of_gradient(parameters[count]);
    if (bytes > kLastBucketBytes) break;
  }
  return count;
}

/// The parameters of each bucket, from the last ones to the first.
std::vector<std::vector<Tensor>> cut_into_buckets(
    const std::vector<Tensor>& parameters) {
  const size_t last = count_last(parameters);
  std::vector<std::vector<Tensor>> buckets;
  int64_t bytes = 0;
  for (size_t i = parameters.size(); i-- > 0;) {
    if (bytes == 0) buckets.emplace_back();
    buckets.back().push_back(parameters[i]);
    bytes += std::max<int64_t>(1, bytes_of_gradient(parameters[i]));
    const bool is_end =
        i == 0 || i == std::max<size_t>(last, 1) ||
        parameters[i - 1].scalar_type() != parameters[i].scalar_type();
    if (bytes >= kBucketBytes || is_end) bytes = 0;
  }
  return buckets;
}

}  // namespace

/// Sends buckets, one after another, while a backward pass fills them. Its
/// thread and what listens to the passes are there from the first step on.
class GradientSum::Sender : public std::enable_shared_from_this<Sender> {
 public:
  explicit Sender(const std::vector<std::shared_ptr<GradientBucket>>& buckets)
      : device_(buckets.front()->parameters().front().device()) {
    for (const auto& bucket : buckets) {
      entries_.push_back({bucket, 0, {}, {}, false, false});
    }
  }

  ~Sender() { stop(); }

  /// After an error of this rank. Throws what other ranks said meanwhile.
  void give_up() {
    stop();
    if (!error_) return;
    try {
      std::rethrow_exception(error_);
    } catch (const RankError&) {
      throw;
    } catch (...) {  // its own, beside the one that is known
    }
  }

  /// Hears of each gradient that is complete.
  void start() {
    for (size_t i = 0; i < entries_.size(); ++i) {
      for (const Tensor& parameter : entries_[i].bucket->parameters()) {
        auto node = torch::autograd::impl::grad_accumulator(parameter);
        node->add_post_hook(std::make_unique<Hook>(weak_from_this(), i));
        nodes_.push_back(std::move(node));
      }
    }
    thread_ = std::thread([this] { send(); });
  }

  /// From now on gradients count.
  void begin_pass() {
    for (Entry& entry : entries_) {
      entry.missing = entry.bucket->parameters().size();
      entry.is_taken = false;
    }
    sent_ = 0;
    is_listening_ = true;
  }

  /// The pass is over: what it did not come to is sent too.
  void finish() {
    is_listening_ = false;
    for (Entry& entry : entries_) {
      if (!entry.is_taken) take(entry);
    }
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return sent_ == entries_.size() || error_; });
    }
    if (error_) std::rethrow_exception(error_);
    for (const Entry& entry : entries_) entry.sent.wait();
  }

 private:
  struct Entry {
    std::shared_ptr<GradientBucket> bucket;
    size_t missing;  ///< Gradients.
    StreamPoint taken;
    StreamPoint sent;
    bool is_taken;  ///< In this pass.
    bool is_ready;  ///< And not yet sent; with the lock.
  };

  struct Hook : torch::autograd::FunctionPostHook {
    Hook(std::weak_ptr<Sender> to, size_t number)
        : sender(std::move(to)), entry(number) {}

    torch::autograd::variable_list operator()(
        const torch::autograd::variable_list& outputs,
        const torch::autograd::variable_list& /*inputs*/) override {
      if (const auto here = sender.lock()) here->count(here->entries_[entry]);
      return outputs;
    }

    std::weak_ptr<Sender> sender;
    size_t entry;
  };

  void count(Entry& entry) {
    if (is_listening_ && --entry.missing == 0) take(entry);
  }

  void take(Entry& entry) {
    entry.bucket->take();
    entry.is_taken = true;
    StreamPoint taken(device_);
    const std::lock_guard lock(mutex_);
    entry.taken = taken;
    entry.is_ready = true;
    changed_.notify_all();
  }

  void send() {
    try {
      // Its own threads would make more than there are cores.
      if (device_.is_cpu()) compute_on_this_thread_alone();
      const OwnStream beside(device_);
      for (size_t next = 0;; next = (next + 1) % entries_.size()) {
        Entry& entry = entries_[next];
        StreamPoint taken;
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&] { return entry.is_ready || is_stopped_; });
          if (is_stopped_) return;
          entry.is_ready = false;
          taken = entry.taken;
        }
        taken.wait();
        entry.bucket->use_on_this_stream();
        entry.bucket->add();
        entry.bucket->add_up();
        StreamPoint sent(device_);
        const std::lock_guard lock(mutex_);
        entry.sent = sent;
        ++sent_;
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
      changed_.notify_all();
    }
  }

  /// After an error: what is on its way comes to its end, for the others come
  /// to it too.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_stopped_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

  c10::Device device_;
  std::vector<Entry> entries_;
  std::vector<std::shared_ptr<torch::autograd::Node>> nodes_;
  bool is_listening_ = false;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t sent_ = 0;  ///< Buckets, in this pass.
  bool is_stopped_ = false;
  std::exception_ptr error_;
};

GradientSum::GradientSum(const std::vector<Tensor>& parameters,
                         const Lanes& lanes, Communicator& ranks)
    : parameters_(parameters) {
  for (const Tensor& parameter : parameters) {
    strides_.push_back(parameter.strides().vec());
  }
  for (std::vector<Tensor>& some : cut_into_buckets(parameters)) {
    buckets_.push_back(
        std::make_shared<GradientBucket>(std::move(some), lanes, ranks));
  }
}

GradientSum::~GradientSum() = default;

bool GradientSum::is_of(const std::vector<Tensor>& parameters) const {
  if (parameters.size() != parameters_.size()) return false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].is_same(parameters_[i]) ||
        parameters[i].strides() != at::IntArrayRef(strides_[i])) {
      return false;
    }
  }
  return true;
}

void GradientSum::add_lane() {
  for (const auto& bucket : buckets_) {
    bucket->take();
    bucket->add();
  }
}

void GradientSum::begin_last_pass() {
  if (buckets_.empty()) return;
  if (!sender_) {
    sender_ = std::make_shared<Sender>(buckets_);
    sender_->start();
  }
  sends_early_ = true;
  sender_->begin_pass();
}

void GradientSum::give_up() {
  if (const auto sender = std::exchange(sender_, nullptr)) sender->give_up();
}

void GradientSum::finish() {
  if (std::exchange(sends_early_, false)) {
    sender_->finish();
  } else {
    for (const auto& bucket : buckets_) bucket->add_up();
  }
  put_back();
}

void GradientSum::put_back() {
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> flags;
  for (const auto& bucket : buckets_) {
    const Tensor own = bucket->flags();
    if (own.defined()) flags.push_back(own.to(at::kFloat));
  }
  // The host waits once, and a single rank never.
  const Tensor has = flags.empty() ? Tensor() : torch::cat(flags).cpu();
  const float* next = flags.empty() ? nullptr : has.data_ptr<float>();
  for (const auto& bucket : buckets_) {
    bucket->put_back(next);
    if (next != nullptr) next += bucket->parameters().size();
  }
}

}  // namespace kith
