// What miners and samplers choose: kith::mine, kith::_sampler and kith::_plan.
#include <torch/library.h>
#include <torch/torch.h>

#include "kith/core/log.h"
#include "kith/miners/miner.h"
#include "kith/ops/pairwise.h"
#include "kith/samplers/sampler.h"
#include "python/ops/errors.h"
#include "python/ops/run_loss.h"

namespace kith::ops {
namespace {

using MaybePool = decltype(std::declval<c10::IValue>().toOptional<Tensor>());

Tensor mine(const std::string& name, const std::string& options,
            const Tensor& embeddings, const Tensor& labels, bool normalize,
            int64_t seed) {
  const torch::NoGradGuard no_grad;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(
      c10::autocast_dispatch_keyset);
  return for_python([&] {
    const auto miner = miner_registry().make(part_options(name, options), name);
    Tensor x = embeddings;
    if (x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16) {
      x = x.to(at::kFloat);
    }
    if (normalize && x.dim() == 2 && x.is_floating_point()) {
      x = normalize_rows(x);
    }
    return (*miner)(x, labels, static_cast<uint64_t>(seed));
  });
}

std::vector<int64_t> numbers_of(const Tensor& labels) {
  TORCH_CHECK_VALUE(labels.dim() == 1 && labels.scalar_type() == at::kLong,
                    "labels must be int64 [N], got ", labels.scalar_type(), " ",
                    labels.sizes());
  const Tensor here = labels.cpu().contiguous();
  const int64_t* first = here.data_ptr<int64_t>();
  return {first, first + here.numel()};
}

std::unique_ptr<Sampler> make_sampler(const std::string& name,
                                      const std::string& options,
                                      const Tensor& labels,
                                      const c10::List<std::string>& categories,
                                      int64_t seed) {
  SamplerInput input;
  input.labels = numbers_of(labels);
  for (size_t i = 0; i < input.labels.size(); ++i) {
    input.indices.push_back(static_cast<int64_t>(i));
  }
  TORCH_CHECK_VALUE(
      categories.empty() || categories.size() == input.labels.size(),
      "categories must be one for each of the ", input.labels.size(),
      " labels, got ", categories.size());
  input.categories.assign(categories.begin(), categories.end());
  input.seed = static_cast<uint64_t>(seed);
  return sampler_registry().make(part_options(name, options), name, input);
}

/// Keeps what is logged while it lives.
class KeptMessages {
 public:
  KeptMessages() {
    set_log_sink([this](LogLevel, const std::string& message) {
      messages_.push_back(message);
    });
  }
  ~KeptMessages() { set_log_sink({}); }
  KeptMessages(const KeptMessages&) = delete;
  KeptMessages& operator=(const KeptMessages&) = delete;

  const std::vector<std::string>& get() const { return messages_; }

 private:
  std::vector<std::string> messages_;
};

/// Whether a sampler chooses by embeddings, and what it says of these options
/// and labels.
std::tuple<bool, std::vector<std::string>> check_sampler(
    const std::string& name, const std::string& options, const Tensor& labels,
    const c10::List<std::string>& categories, int64_t seed) {
  const KeptMessages messages;
  return for_python([&]() -> std::tuple<bool, std::vector<std::string>> {
    const auto sampler = make_sampler(name, options, labels, categories, seed);
    TORCH_CHECK_VALUE(!sampler->rebuilds_pool(), "'", name,
                      ".rebuild' is for kith train: here each set_epoch() is "
                      "given embeddings");
    return {sampler->wants_pool(), messages.get()};
  });
}

/// An epoch's batches behind each other, and their sizes.
std::tuple<Tensor, Tensor> plan(const std::string& name,
                                const std::string& options,
                                const Tensor& labels,
                                const c10::List<std::string>& categories,
                                int64_t seed, int64_t epoch,
                                const MaybePool& embeddings) {
  const auto batches = for_python([&] {
    const auto sampler = make_sampler(name, options, labels, categories, seed);
    EpochInput input(epoch);
    Tensor pool;
    if (embeddings) {
      TORCH_CHECK_VALUE(sampler->wants_pool(),
                        "this sampler chooses by labels alone: leave out the "
                        "embeddings");
      TORCH_CHECK_VALUE(
          embeddings->dim() == 2 && embeddings->is_floating_point() &&
              embeddings->size(0) == labels.size(0),
          "the embeddings must be floating point [", labels.size(0),
          ", D], got ", embeddings->scalar_type(), " ", embeddings->sizes());
      pool = embeddings->detach().to(at::kCPU, at::kFloat).contiguous();
      input.pool = {pool.size(1), pool.data_ptr<float>()};
    }
    return sampler->epoch(input);
  });
  std::vector<int64_t> places;
  std::vector<int64_t> sizes;
  for (const std::vector<int64_t>& batch : batches) {
    places.insert(places.end(), batch.begin(), batch.end());
    sizes.push_back(static_cast<int64_t>(batch.size()));
  }
  return {torch::tensor(places, at::kLong), torch::tensor(sizes, at::kLong)};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(kith, m) {
  m.def(
      "mine(str name, str options, Tensor embeddings, Tensor labels, *, "
      "bool normalize=True, int seed=0) -> Tensor");
  m.def(
      "_sampler(str name, str options, Tensor labels, str[] categories, "
      "int seed) -> (bool, str[])",
      check_sampler);
  m.def(
      "_plan(str name, str options, Tensor labels, str[] categories, "
      "int seed, int epoch, Tensor? embeddings) -> (Tensor, Tensor)",
      plan);
}

TORCH_LIBRARY_IMPL(kith, CPU, m) { m.impl("mine", mine); }

TORCH_LIBRARY_IMPL(kith, CUDA, m) { m.impl("mine", mine); }

}  // namespace kith::ops
