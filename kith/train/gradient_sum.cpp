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

#include "kith/ops/stream.h"

namespace kith {
namespace {

/// A bucket is full with this. Smaller ones are sooner on their way, but each
/// takes a few rounds between the ranks.
constexpr int64_t kBucketBytes = 8 << 20;

int64_t bytes_of_gradient(const Tensor& parameter) {
  return parameter.numel() * static_cast<int64_t>(parameter.element_size());
}

/// Of the parameter's gradient, which is where the numbers of `part` are. The
/// optimiser is quick if it lies as the parameter does, channels last or not.
Tensor as_gradient(const Tensor& part, const Tensor& parameter) {
  if (!parameter.is_non_overlapping_and_dense()) return part.view_as(parameter);
  return part.as_strided(parameter.sizes(), parameter.strides(),
                         part.storage_offset());
}

/// The numbers that as_gradient() takes.
Tensor numbers_of(const Tensor& gradient, const Tensor& parameter) {
  if (!parameter.is_non_overlapping_and_dense()) return gradient.reshape({-1});
  const Tensor same = gradient.strides() == parameter.strides()
                          ? gradient
                          : torch::empty_like(parameter).copy_(gradient);
  return same.as_strided({same.numel()}, {1});
}

}  // namespace

/// Some of the parameters, whose gradients are sent behind each other.
class GradientSum::Bucket {
 public:
  Bucket(std::vector<Tensor> parameters, const Lanes& lanes,
         Communicator& ranks)
      : parameters_(std::move(parameters)),
        is_one_(ranks.size() == 1),
        has_(parameters_.size()),
        sum_(lanes, ranks) {
    for (const Tensor& parameter : parameters_) numbers_ += parameter.numel();
  }

  const std::vector<Tensor>& parameters() const { return parameters_; }

  /// A copy of the gradients, which are gone then: all behind each other, and
  /// for each whether there is one.
  Tensor take() {
    const torch::NoGradGuard no_grad;
    std::vector<Tensor> parts;
    std::vector<float> has;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      Tensor& parameter = parameters_[i];
      Tensor& grad = parameter.mutable_grad();
      has.push_back(grad.defined() ? 1 : 0);
      if (grad.defined()) has_[i] = 1;
      parts.push_back(grad.defined() ? numbers_of(grad, parameter)
                                     : torch::zeros({parameter.numel()},
                                                    parameter.options()));
      grad.reset();
    }
    const auto options = parameters_.front().options();
    const auto count = static_cast<int64_t>(has.size());
    const bool all = std::find(has.begin(), has.end(), 0.0F) == has.end();
    // A copy from the host would wait for the GPU.
    parts.push_back(all ? torch::ones({count}, options)
                        : torch::tensor(has).to(options));
    return torch::cat(parts);
  }

  void add(Tensor lane) { sum_.add(std::move(lane)); }

  /// Between the ranks.
  void add_up() { total_ = sum_.total(); }

  void put_back() {
    const torch::NoGradGuard no_grad;
    if (!is_one_) {
      const auto count = static_cast<int64_t>(parameters_.size());
      const Tensor all = total_.narrow(0, numbers_, count).cpu().to(at::kFloat);
      has_.assign(all.data_ptr<float>(), all.data_ptr<float>() + count);
    }
    int64_t begin = 0;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      Tensor& parameter = parameters_[i];
      if (has_[i] > 0) {
        parameter.mutable_grad() =
            as_gradient(total_.narrow(0, begin, parameter.numel()), parameter);
      }
      begin += parameter.numel();
    }
  }

  const Tensor& total() const { return total_; }

 private:
  std::vector<Tensor> parameters_;
  int64_t numbers_ = 0;  ///< Of all gradients.
  /// A single rank knows what has a gradient without waiting for the GPU.
  bool is_one_;
  std::vector<float> has_;  ///< Of each parameter: more than zero if so.
  LaneSum sum_;
  Tensor total_;
};

/// Sends buckets, one after another, while a backward pass fills them.
class GradientSum::Sender : public std::enable_shared_from_this<Sender> {
 public:
  explicit Sender(const std::vector<std::shared_ptr<Bucket>>& buckets)
      : device_(buckets.front()->parameters().front().device()) {
    for (const auto& bucket : buckets) {
      entries_.push_back(
          {bucket, bucket->parameters().size(), {}, {}, {}, false});
    }
  }

  ~Sender() { stop(); }

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

  /// The pass is over: what it did not come to is sent too.
  void finish() {
    nodes_.clear();
    for (Entry& entry : entries_) {
      if (!entry.is_taken) take(entry);
    }
    thread_.join();
    if (error_) std::rethrow_exception(error_);
    for (const Entry& entry : entries_) {
      entry.sent.wait();
      use_on_this_stream(entry.bucket->total());
    }
  }

 private:
  struct Entry {
    std::shared_ptr<Bucket> bucket;
    size_t missing;  ///< Gradients.
    Tensor gradients;
    StreamPoint taken;
    StreamPoint sent;
    bool is_taken;
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
    if (--entry.missing == 0) take(entry);
  }

  void take(Entry& entry) {
    Tensor gradients = entry.bucket->take();
    StreamPoint taken(device_);
    const std::lock_guard lock(mutex_);
    entry.gradients = std::move(gradients);
    entry.taken = taken;
    entry.is_taken = true;
    changed_.notify_one();
  }

  void send() {
    try {
      const OwnStream beside(device_);
      for (Entry& entry : entries_) {
        Tensor gradients;
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&] { return entry.is_taken || is_stopped_; });
          if (is_stopped_) return;
          gradients = std::exchange(entry.gradients, Tensor());
        }
        entry.taken.wait();
        use_on_this_stream(gradients);
        entry.bucket->add(std::move(gradients));
        entry.bucket->add_up();
        entry.sent = StreamPoint(device_);
      }
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  /// After an error: what is on its way comes to its end, for the others come
  /// to it too.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_stopped_ = true;
      changed_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

  c10::Device device_;
  std::vector<Entry> entries_;
  std::vector<std::shared_ptr<torch::autograd::Node>> nodes_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stopped_ = false;
  std::exception_ptr error_;
};

GradientSum::GradientSum(const std::vector<Tensor>& parameters,
                         const Lanes& lanes, Communicator& ranks) {
  std::vector<Tensor> some;
  int64_t bytes = 0;
  for (size_t i = parameters.size(); i-- > 0;) {
    some.push_back(parameters[i]);
    bytes += bytes_of_gradient(parameters[i]);
    const bool is_last = i == 0 || parameters[i - 1].scalar_type() !=
                                       parameters[i].scalar_type();
    if (bytes < kBucketBytes && !is_last) continue;
    buckets_.push_back(
        std::make_shared<Bucket>(std::exchange(some, {}), lanes, ranks));
    bytes = 0;
  }
}

GradientSum::~GradientSum() = default;

void GradientSum::add_lane() {
  for (const auto& bucket : buckets_) bucket->add(bucket->take());
}

void GradientSum::begin_last_pass() {
  if (buckets_.empty()) return;
  sender_ = std::make_shared<Sender>(buckets_);
  sender_->start();
}

void GradientSum::finish() {
  if (sender_) {
    sender_->finish();
  } else {
    for (const auto& bucket : buckets_) bucket->add_up();
  }
  for (const auto& bucket : buckets_) bucket->put_back();
}

}  // namespace kith
