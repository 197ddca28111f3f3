// One of several processes that compute together; tests start it as a user
// starts kith.
//
// usage: kith_rank_check [--ranks N] [--engine E] CHECK...
//
// With --ranks it starts itself as N ranks. Exit status 77: this build lacks
// the engine.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <thread>

#include <sys/resource.h>
#include <torch/torch.h>
#include <unistd.h>

#include "kith/core/with_parent.h"
#include "kith/distributed/join.h"
#include "kith/distributed/lanes.h"
#include "kith/distributed/launch.h"
#include "kith/distributed/local_ranks.h"
#include "kith/models/backbones.h"
#include "kith/models/shared_norm.h"
#include "tests/support/torch/loss_on_ranks.h"

namespace kith {
namespace {

void expect(bool is_true, const std::string& what) {
  if (!is_true) throw std::logic_error("wrong: " + what);
}

void expect_equal(const Tensor& got, const Tensor& wanted,
                  const std::string& what) {
  expect(got.scalar_type() == wanted.scalar_type() && torch::equal(got, wanted),
         what);
}

/// Row i of a rank: [100 r + i, 100 r + i].
Tensor rows_of(int64_t rank, int64_t count, torch::ScalarType type) {
  return (torch::arange(count) + 100 * rank)
      .view({-1, 1})
      .expand({-1, 2})
      .to(type);
}

void check_gather(Communicator& ranks) {
  for (const auto type : {torch::kFloat, torch::kDouble, torch::kHalf,
                          torch::kBFloat16, torch::kLong, torch::kBool}) {
    // Equal, the same of many, nearly equal, only the last has any, none has,
    // many.
    const std::vector<std::function<int64_t(int64_t)>> cases = {
        [](int64_t) { return 3; },
        [](int64_t) { return 40'000; },
        [](int64_t r) { return 5 + r; },
        [&](int64_t r) { return r + 1 == ranks.size() ? 4 : 0; },
        [](int64_t) { return 0; },
        [](int64_t r) { return r == 0 ? 200'000 : 7; }};
    for (const auto& count : cases) {
      std::vector<Tensor> parts;
      for (int64_t r = 0; r < ranks.size(); ++r) {
        parts.push_back(rows_of(r, count(r), type));
      }
      const Tensor& mine = parts[static_cast<size_t>(ranks.rank())];
      expect_equal(ranks.all_gather(mine), torch::cat(parts), "all_gather");
    }
  }
}

void check_exchange(Communicator& ranks) {
  for (const int64_t scale : {0, 1, 30'000}) {
    const auto count = [&](int64_t r, int64_t s) {
      return r == 0 && s == 1 ? 0 : scale * (r + 2 * s);
    };
    std::vector<Tensor> sent;
    std::vector<Tensor> wanted;
    std::vector<int64_t> counts;
    const int64_t me = ranks.rank();
    for (int64_t other = 0; other < ranks.size(); ++other) {
      counts.push_back(count(me, other));
      sent.push_back(torch::full({counts.back(), 3}, 10 * me + other));
      wanted.push_back(torch::full({count(other, me), 3}, 10 * other + me));
    }
    expect_equal(ranks.exchange(torch::cat(sent), counts), torch::cat(wanted),
                 "exchange");
  }
}

void check_broadcast(Communicator& ranks) {
  for (int64_t root = 0; root < ranks.size(); ++root) {
    for (const int64_t count : {1, 400'000}) {
      Tensor tensor = torch::full({count}, static_cast<double>(ranks.rank()));
      ranks.broadcast(tensor, root);
      expect_equal(tensor, torch::full({count}, static_cast<double>(root)),
                   "broadcast");
    }
    const std::string text(20, static_cast<char>('a' + ranks.rank()));
    expect(ranks.broadcast(text, root) ==
               std::string(20, static_cast<char>('a' + root)),
           "broadcast of a text");
  }
}

Tensor lane_tensor(int64_t lane, int64_t count) {
  auto random = torch::make_generator<torch::CPUGeneratorImpl>(
      static_cast<uint64_t>(lane) + 1);
  return torch::randn({count}, random) *
         torch::exp(3 * torch::randn({count}, random));
}

Tensor lane_sum(int64_t begin, int64_t end, int64_t count) {
  if (end - begin == 1) return lane_tensor(begin, count);
  const int64_t m = (begin + end + 1) / 2;
  return lane_sum(begin, m, count) + lane_sum(m, end, count);
}

void check_sums(Communicator& ranks) {
  for (const int64_t count : {3, 100'003}) {
    for (const int64_t lanes : {12, 24}) {
      const Lanes mine(lanes, ranks);
      LaneSum sum(mine, ranks);
      for (int64_t lane = mine.first; lane < mine.last; ++lane) {
        sum.add(lane_tensor(lane, count));
      }
      expect_equal(sum.total(), lane_sum(0, lanes, count), "sum of lanes");
    }
    expect_equal(ranks.all_reduce(lane_tensor(ranks.rank(), count)),
                 lane_sum(0, ranks.size(), count), "all_reduce");
  }
}

template <class Error>
void expect_error(const std::function<void()>& work, const std::string& text) {
  try {
    work();
  } catch (const Error& error) {
    if (std::string(error.what()).find(text) != std::string::npos) return;
    throw std::logic_error(std::string("other words: ") + error.what());
  }
  throw std::logic_error("no error: " + text);
}

void check_mismatch(Communicator& ranks) {
  expect_error<RankError>(
      [&] {
        if (ranks.is_first()) {
          ranks.barrier();
        } else {
          ranks.all_gather(torch::zeros({2, 3}));
        }
      },
      "rank 1 is in all_gather of float32 [*, 3] (call");
  ranks.barrier();
}

void check_memory(Communicator& ranks) {
  if (ranks.rank() == 1) {
    ranks.tell_no_memory();
  } else {
    expect_error<RankOutOfMemory>([&] { ranks.barrier(); },
                                  "rank 1 ran out of memory");
  }
  // A result that does not fit at one rank.
  ranks.barrier();
  rlimit before = {};
  ::getrlimit(RLIMIT_AS, &before);
  if (ranks.rank() == 1) {
    const rlimit small = {1, before.rlim_max};
    ::setrlimit(RLIMIT_AS, &small);
  }
  const int64_t count = ranks.is_first() ? 64 << 20 : 0;
  expect_error<RankOutOfMemory>(
      [&] { ranks.all_gather(torch::empty({count}, torch::kByte)); },
      "rank 1 ran out of memory in all_gather");
  ::setrlimit(RLIMIT_AS, &before);
  ranks.barrier();
}

void expect_near(const Tensor& got, const Tensor& wanted,
                 const std::string& what) {
  constexpr double kMost = 1e-12;
  const double difference = relative_difference(got, wanted);
  expect(difference <= kMost, what + ": differs by " +
                                  std::to_string(difference / kMost) +
                                  " times of what is allowed");
}

void check_loss(const LossSubject& subject, const std::string& options,
                Communicator& ranks) {
  const Tensor x = embeddings_for_ranks(torch::kDouble);
  const FoundLoss one = find_alone(subject, x, options);
  const FoundLoss mine = find_as_rank(subject, x, ranks, /*lanes=*/0, options);
  const std::string name = subject.test_name() + options;
  expect_near(torch::tensor(mine.value, torch::kDouble),
              torch::tensor(one.value, torch::kDouble), name);
  expect(mine.begin < mine.end && mine.gradient.defined(),
         name + ": no rows of the gradient");
  // Compared with the greatest of all rows.
  Tensor gradient = one.gradient.clone();
  gradient.slice(0, mine.begin, mine.end)
      .copy_(mine.gradient.slice(0, mine.begin, mine.end));
  expect_near(gradient, one.gradient, "gradient of " + name);
  expect(mine.learnt.size() == one.learnt.size(), "parameters of " + name);
  for (size_t i = 0; i < one.learnt.size(); ++i) {
    expect_near(mine.learnt[i], one.learnt[i],
                "gradient of a parameter of " + name);
  }
}

/// Every registered loss is that of one rank.
void check_losses(Communicator& ranks) {
  const std::vector<LossSubject> subjects = loss_subjects();
  expect(subjects.size() > 10, "number of losses");
  int64_t mixed = 0;
  for (const LossSubject& subject : subjects) {
    check_loss(subject, "", ranks);
    if (!takes_simix(subject)) continue;
    check_loss(subject, ", simix: true", ranks);
    ++mixed;
  }
  expect(mixed > 0, "number of losses with SiMix");
  if (ranks.is_first()) {
    std::printf("%zu losses, %lld with SiMix\n", subjects.size(),
                static_cast<long long>(mixed));
  }
}

/// MobileNetV2 whose ranks share the statistics of batch norm has the features
/// and the gradients of one batch. On a GPU where there is one.
void check_network(Communicator& ranks) {
  const c10::Device device(torch::cuda::is_available() ? torch::kCUDA
                                                       : torch::kCPU);
  torch::manual_seed(1);
  BackboneInput input;
  input.size = 64;
  input.batch_norm = "sync";
  MobilenetV2 net({}, input);
  net.to(device, torch::kDouble);
  net.train();
  const int64_t count = 13;
  const Tensor pictures =
      torch::randn({count, 3, input.size, input.size}, torch::kDouble);
  const Tensor slopes = torch::randn({count, net.features()}, torch::kDouble);

  struct Pass {
    Tensor features;  ///< [N, F]
    Tensor gradient;  ///< Of all weights.
  };
  const auto run = [&](int64_t begin, int64_t end, Communicator& with) {
    share_statistics(net, with);
    net.zero_grad();
    const Tensor features =
        net.forward(pictures.slice(0, begin, end).to(device)).map.mean({2, 3});
    features.backward(slopes.slice(0, begin, end).to(device));
    std::vector<Tensor> gradients;
    for (const Tensor& weight : net.parameters()) {
      gradients.push_back(weight.grad().flatten());
    }
    return Pass{features.detach().cpu(), torch::cat(gradients).cpu()};
  };
  const Pass one = run(0, count, alone());
  const int64_t begin = count * ranks.rank() / ranks.size();
  const int64_t end = count * (ranks.rank() + 1) / ranks.size();
  const Pass mine = run(begin, end, ranks);
  // Compared with the greatest gradient of all: where batch norm follows a
  // bias, that of the bias is zero.
  expect_near(mine.features, one.features.slice(0, begin, end), "features");
  expect_near(ranks.all_gather(mine.gradient.unsqueeze(0)).sum(0), one.gradient,
              "gradient");
}

/// Rank 1 says why it cannot go on.
void check_failure(Communicator& ranks) {
  if (ranks.rank() == 1) throw DataError("no space left on the disk");
  ranks.barrier();
}

/// A rank is gone without a word.
template <int64_t who>
void check_killed(Communicator& ranks) {
  ranks.barrier();
  if (ranks.rank() == who) ::raise(SIGKILL);
  for (;;) ranks.all_gather(torch::zeros({1000}));
}

/// Rank 1 does not come.
void check_silent(Communicator& ranks) {
  ranks.barrier();
  if (ranks.rank() == 1) std::this_thread::sleep_for(std::chrono::minutes(1));
  ranks.barrier();
}

/// Waits for a signal, as a training does that stops after a step.
void check_signal(Communicator& ranks) {
  static volatile std::sig_atomic_t seen = 0;
  std::signal(SIGINT, [](int) { seen = seen + 1; });
  ranks.barrier();
  if (ranks.is_first()) {
    std::printf("waits\n");
    std::fflush(stdout);
  }
  while (seen == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  // Longer than those wait that see a rank fail; a second signal would show.
  std::this_thread::sleep_for(
      std::chrono::milliseconds(ranks.is_first() ? 3'000 : 100));
  if (ranks.is_first()) std::printf("%d signal\n", static_cast<int>(seen));
  std::fflush(stdout);
  std::_Exit(128 + SIGINT);
}

void check_time(Communicator& ranks) {
  using Clock = std::chrono::steady_clock;
  for (const int64_t count : {1, 10'000, 10'000'000}) {
    const Tensor tensor = torch::ones({count});
    const int64_t times = count > 1'000'000 ? 5 : 100;
    const auto begin = Clock::now();
    for (int64_t i = 0; i < times; ++i) ranks.all_reduce(tensor);
    const double seconds =
        std::chrono::duration<double>(Clock::now() - begin).count();
    if (ranks.is_first()) {
      std::printf("all_reduce of %9lld floats: %8.3f ms\n",
                  static_cast<long long>(count),
                  1000 * seconds / static_cast<double>(times));
    }
  }
}

const std::map<std::string, void (*)(Communicator&)>& checks() {
  static const std::map<std::string, void (*)(Communicator&)> all = {
      {"gather", check_gather},          {"exchange", check_exchange},
      {"broadcast", check_broadcast},    {"sums", check_sums},
      {"losses", check_losses},          {"network", check_network},
      {"mismatch", check_mismatch},      {"memory", check_memory},
      {"failure", check_failure},        {"killed", check_killed<1>},
      {"first_killed", check_killed<0>}, {"silent", check_silent},
      {"signal", check_signal},          {"time", check_time},
  };
  return all;
}

struct Arguments {
  int64_t ranks = 0;
  JoinOptions join;
  std::vector<std::string> checks;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--ranks") {
      arguments.ranks = std::atoi(argv[++i]);
    } else if (word == "--engine") {
      arguments.join.engine = argv[++i];
    } else if (word == "--device") {
      arguments.join.device = c10::Device(argv[++i]);
    } else {
      arguments.checks.push_back(word);
    }
  }
  return arguments;
}

int start(const Arguments& arguments, int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  words[0] = program_file();
  const RanksEnd end = run_ranks(arguments.ranks, words, arguments.join.engine);
  if (!end.message.empty()) {
    std::fprintf(stderr, "starter: %s\n", end.message.c_str());
  }
  return end.status;
}

/// As a rank of kith ends that fails: what still waits is not waited for.
[[noreturn]] void end_badly(std::unique_ptr<Communicator> ranks,
                            const RankPlace& place, int status,
                            const std::string& message) {
  if (ranks) ranks->tell_failure(message);
  ranks.reset();
  std::fprintf(stderr, "rank %lld: %s\n", static_cast<long long>(place.rank),
               message.c_str());
  std::_Exit(status);
}

int run(const Arguments& arguments) {
  const RankPlace place = find_ranks();
  std::unique_ptr<Communicator> ranks;
  try {
    ranks = join_ranks(place, arguments.join);
    expect(ranks->rank() == place.rank && ranks->size() == place.size,
           "place of the rank");
    for (const std::string& check : arguments.checks) {
      checks().at(check)(*ranks);
      if (ranks->is_first()) std::printf("%s: good\n", check.c_str());
    }
    ranks->barrier();
  } catch (const RankError& error) {
    // As a rank of kith does: mpirun takes the status of the first to end.
    const bool by_run_ranks = !place.store_file.empty();
    if (!by_run_ranks) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    end_badly(std::move(ranks), place, by_run_ranks ? kFollowerStatus : 1,
              error.what());
  } catch (const std::exception& error) {
    end_badly(std::move(ranks), place, 3, error.what());
  }
  if (ranks->is_first()) {
    std::printf("%lld ranks on %s: all good\n",
                static_cast<long long>(ranks->size()), ranks->engine().c_str());
  }
  return 0;
}

}  // namespace
}  // namespace kith

int main(int argc, char** argv) try {
  kith::end_with_parent();
  torch::set_num_threads(1);
  const kith::Arguments arguments = kith::parse(argc, argv);
  const auto built = kith::built_engines();
  const std::string& engine = arguments.join.engine;
  if (engine != "auto" &&
      std::find(built.begin(), built.end(), engine) == built.end()) {
    std::printf("skipped: this build has no engine %s\n", engine.c_str());
    return 77;
  }
  if (arguments.ranks > 1 && kith::find_ranks().size == 1) {
    return kith::start(arguments, argc, argv);
  }
  return kith::run(arguments);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
