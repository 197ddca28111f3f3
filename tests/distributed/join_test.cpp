#include "kith/distributed/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace kith {
namespace {

using Names = std::vector<std::string>;

const c10::Device kGpu(c10::kCUDA, 0);

RankPlace two_ranks(Launcher launcher, const std::string& address) {
  RankPlace place;
  place.launcher = launcher;
  place.size = 2;
  place.local_size = 2;
  place.address = address;
  return place;
}

std::string automatic(const RankPlace& place, c10::Device device,
                      const Names& built, int64_t gpus = 0) {
  return choose_engine(place, {.device = device}, built, gpus);
}

TEST(ChooseEngine, Automatically) {
  const c10::Device cpu(c10::kCPU);
  const RankPlace torchrun = two_ranks(Launcher::kEnvironment, "a");
  const RankPlace mpirun = two_ranks(Launcher::kMpi, "");
  const Names all = {"gloo", "nccl", "mpi"};
  EXPECT_EQ(automatic(torchrun, cpu, all), "gloo");
  EXPECT_EQ(automatic(torchrun, kGpu, all, 2), "nccl");
  EXPECT_EQ(automatic(torchrun, kGpu, all, 1), "gloo");  // they share a GPU
  EXPECT_EQ(automatic(torchrun, kGpu, {"gloo", "mpi"}, 2), "gloo");
  EXPECT_EQ(automatic(torchrun, cpu, {"nccl", "mpi"}), "mpi");
  EXPECT_EQ(automatic(mpirun, cpu, all), "mpi");
  EXPECT_EQ(automatic(mpirun, kGpu, all, 2), "mpi");  // NCCL has no address
  EXPECT_EQ(automatic(two_ranks(Launcher::kMpi, "a"), cpu, all), "gloo");
  EXPECT_EQ(automatic(two_ranks(Launcher::kMpi, "a"), kGpu, all, 2), "nccl");
  RankPlace local = two_ranks(Launcher::kEnvironment, "");
  local.store_file = "/proc/self/fd/3";
  EXPECT_EQ(automatic(local, cpu, all), "gloo");
}

TEST(ChooseEngine, SaysWhatIsMissing) {
  const c10::Device cpu(c10::kCPU);
  const RankPlace place = two_ranks(Launcher::kEnvironment, "a");
  expect_error<ConfigError>([&] { automatic(place, cpu, {}); },
                            "engines of this build: none built in",
                            "libgloo-dev");
  expect_error<ConfigError>([&] { automatic(place, cpu, {"nccl"}); },
                            "nothing to send with",
                            "engines of this build: nccl");
  expect_error<ConfigError>(
      [&] { choose_engine(place, {.engine = "mpi"}, {"gloo"}, 0); },
      "there is no engine mpi", "gloo");
  expect_error<ConfigError>(
      [&] { choose_engine(place, {.engine = "tcp"}, {"gloo"}, 0); }, "'tcp'",
      "auto, gloo, nccl or mpi");
  expect_error<ConfigError>(
      [&] { choose_engine(place, {.engine = "nccl"}, {"nccl"}, 2); },
      "needs the device cuda");
  expect_error<ConfigError>(
      [&] { automatic(two_ranks(Launcher::kEnvironment, ""), cpu, {"gloo"}); },
      "needs MASTER_ADDR and MASTER_PORT");
}

TEST(JoinRanks, OneRankNeedsNoEngine) {
  const auto one = join_ranks(RankPlace(), {.engine = "auto"});
  EXPECT_EQ(one->size(), 1);
  EXPECT_EQ(one->engine(), "none");
}

}  // namespace
}  // namespace kith
