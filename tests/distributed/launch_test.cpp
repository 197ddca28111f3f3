#include "kith/distributed/launch.h"

#include <map>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/distributed/host_list.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

RankPlace place_in(const std::map<std::string, std::string>& environment) {
  return find_ranks([&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end()) return {};
    return found->second;
  });
}

TEST(FindRanks, IsAloneWithoutVariables) {
  const RankPlace place = place_in({});
  EXPECT_EQ(place.launcher, Launcher::kNone);
  EXPECT_EQ(place.size, 1);
  // A shell within an allocation is no rank.
  EXPECT_EQ(place_in({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}).size, 1);
  EXPECT_EQ(place_in({{"RANK", ""}, {"WORLD_SIZE", ""}}).launcher,
            Launcher::kNone);
}

TEST(FindRanks, ReadsTorchrun) {
  const RankPlace place = place_in({{"RANK", "5"},
                                    {"WORLD_SIZE", "8"},
                                    {"LOCAL_RANK", "1"},
                                    {"LOCAL_WORLD_SIZE", "4"},
                                    {"MASTER_ADDR", "10.0.0.1"},
                                    {"MASTER_PORT", "1234"},
                                    {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                    {"TORCHELASTIC_RESTART_COUNT", "2"},
                                    // Of what started torchrun.
                                    {"OMPI_COMM_WORLD_SIZE", "2"},
                                    {"OMPI_COMM_WORLD_RANK", "0"},
                                    {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_EQ(place.launcher, Launcher::kEnvironment);
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.size, 8);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_size, 4);
  EXPECT_EQ(place.address, "10.0.0.1");
  EXPECT_EQ(place.port, 1234);
  EXPECT_TRUE(place.store_is_kept);
  EXPECT_EQ(place.store_prefix, "/worker/attempt_2");
}

TEST(FindRanks, TakesRanksByHandToBeOnOneMachine) {
  const RankPlace place =
      place_in({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}});
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_size, 2);
  EXPECT_EQ(place.port, 29500);
  EXPECT_FALSE(place.store_is_kept);
}

TEST(FindRanks, ReadsOpenMpi) {
  const RankPlace place = place_in({{"OMPI_COMM_WORLD_RANK", "3"},
                                    {"OMPI_COMM_WORLD_SIZE", "6"},
                                    {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                    {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                                    {"SLURM_PROCID", "0"},
                                    {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_EQ(place.launcher, Launcher::kMpi);
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.size, 6);
  EXPECT_EQ(place.local_rank, 0);
  EXPECT_EQ(place.local_size, 3);
  EXPECT_EQ(place.address, "");
}

TEST(FindRanks, ReadsAStepOfSlurm) {
  std::map<std::string, std::string> environment = {
      {"SLURM_PROCID", "5"},
      {"SLURM_LOCALID", "1"},
      {"SLURM_NODEID", "2"},
      {"SLURM_STEP_NUM_TASKS", "7"},
      {"SLURM_NTASKS", "9"},
      {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"},
      {"SLURM_STEP_NODELIST", "node[03-05,9]"},
      {"SLURM_JOB_ID", "1000"},
      {"SLURM_STEP_ID", "3"}};
  const RankPlace place = place_in(environment);
  EXPECT_EQ(place.launcher, Launcher::kSlurm);
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.size, 7);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_size, 2);
  EXPECT_EQ(place.address, "node03");
  EXPECT_GE(place.port, 20'000);
  EXPECT_LT(place.port, 32'768);
  environment["SLURM_STEP_ID"] = "4";
  EXPECT_NE(place_in(environment).port, place.port);
  environment["MASTER_ADDR"] = "login";
  environment["MASTER_PORT"] = "77";
  EXPECT_EQ(place_in(environment).address, "login");
  EXPECT_EQ(place_in(environment).port, 77);
}

TEST(FindRanks, NamesTheVariableThatIsWrong) {
  struct Case {
    std::map<std::string, std::string> environment;
    std::string text;
  };
  const std::vector<Case> cases = {
      {{{"RANK", "1"}}, "RANK but not WORLD_SIZE"},
      {{{"WORLD_SIZE", "1"}}, "WORLD_SIZE but not RANK"},
      {{{"RANK", "2"}, {"WORLD_SIZE", "2"}}, "RANK=2 and WORLD_SIZE=2"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "0"}}, "RANK=0 and WORLD_SIZE=0"},
      {{{"RANK", "-1"}, {"WORLD_SIZE", "2"}}, "RANK of the environment"},
      {{{"RANK", "1x"}, {"WORLD_SIZE", "2"}}, "RANK of the environment"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "99999999999999999999"}}, "WORLD_SIZE"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}}, "LOCAL_RANK"},
      {{{"RANK", "0"},
        {"WORLD_SIZE", "2"},
        {"MASTER_ADDR", "a"},
        {"MASTER_PORT", "70000"}},
       "MASTER_PORT=70000"},
      {{{"OMPI_COMM_WORLD_SIZE", "2"}}, "not OMPI_COMM_WORLD_RANK"},
      {{{"SLURM_STEP_NUM_TASKS", "2"}}, "not SLURM_PROCID"},
      {{{"SLURM_STEP_NUM_TASKS", "2"},
        {"SLURM_PROCID", "0"},
        {"SLURM_STEP_TASKS_PER_NODE", "2(y"}},
       "'2(y'"},
  };
  for (const Case& one : cases) {
    expect_error<ConfigError>([&] { place_in(one.environment); }, one.text);
  }
}

TEST(HostList, FirstHost) {
  EXPECT_EQ(first_host("a"), "a");
  EXPECT_EQ(first_host("a,b"), "a");
  EXPECT_EQ(first_host("node[03-07,9]"), "node03");
  EXPECT_EQ(first_host("node[9,03-07]"), "node9");
  EXPECT_EQ(first_host("node[12]-ib,other"), "node12-ib");
  EXPECT_EQ(first_host("rack[1-2]node[007-010],b"), "rack1node007");
  for (const char* wrong : {"", ",a", "node[", "node[]", "node[-3]"}) {
    EXPECT_THROW(first_host(wrong), ConfigError) << wrong;
  }
}

TEST(HostList, CountOfNode) {
  EXPECT_EQ(count_of_node("4", 0), 4);
  EXPECT_EQ(count_of_node("2(x3),1", 2), 2);
  EXPECT_EQ(count_of_node("2(x3),1", 3), 1);
  EXPECT_EQ(count_of_node("1,2,3", 1), 2);
  for (const char* wrong : {"", "x", "2(x3", "2(x)", "2;3", "2(x3),1"}) {
    EXPECT_THROW(count_of_node(wrong, 4), ConfigError) << wrong;
  }
}

}  // namespace
}  // namespace kith
