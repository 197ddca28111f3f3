// What every registered miner must do. A new miner is tested here without any
// change.

#include <fstream>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "kith/core/memory.h"
#include "kith/ops/pairwise.h"
#include "tests/miners/miners.h"
#include "tests/support/torch/batches.h"
#include "tests/support/torch/tensors.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif

namespace kith {
namespace {

struct Subject {
  std::string yaml;
  bool signs_apart = false;       ///< Pairs of one sign without the other.
  bool pushes_positives = false;  ///< (a, a, p) is among its triplets.
};

void PrintTo(const Subject& subject, std::ostream* out) {
  *out << subject.yaml;
}

/// Every miner with its defaults, and what options change.
std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const std::string& name : miner_registry().names()) {
    all.push_back({"{name: " + name + "}", false, name == "rho_distance"});
  }
  const std::string easy_hard = "{name: batch_easy_hard, ";
  all.push_back({easy_hard + "positive: semihard, negative: hard}"});
  all.push_back({easy_hard + "positive: hard, negative: easy}"});
  all.push_back({easy_hard + "positive: all, negative: hard}", true});
  all.push_back({easy_hard + "positive: easy, negative: all}", true});
  for (const char* kind : {"hard", "semihard", "easy"}) {
    all.push_back({std::string("{name: triplet_margin, kind: ") + kind + "}"});
  }
  all.push_back({"{name: semihard, margin: 0}"});
  all.push_back({"{name: distance_weighted, cutoff: 0, upper_cutoff: 1.4}"});
  return all;
}

/// Shuffled classes of 7, 5, 4, 3, 2, 2 and 1 in 5 dimensions.
LabelledBatch mixed() { return make_batch({7, 5, 4, 3, 2, 2, 1}, 5, 3); }

class MinerConformance : public ::testing::TestWithParam<Subject> {
 protected:
  MinerConformance() : miner_(make_miner(GetParam().yaml)) {}

  Tensor run(const Tensor& x, const Tensor& labels, uint64_t seed = 1) const {
    return (*miner_)(x, labels, seed);
  }

  bool is_random() const {
    const LabelledBatch batch = mixed();
    return !torch::equal(run(batch.x, batch.labels, 1),
                         run(batch.x, batch.labels, 2));
  }

  void expect_valid(const Tensor& tuples, const Tensor& x,
                    const Tensor& labels) const {
    ASSERT_EQ(tuples.dim(), 2);
    ASSERT_EQ(tuples.size(1), miner_->width());
    EXPECT_EQ(tuples.scalar_type(), torch::kLong);
    EXPECT_EQ(tuples.device(), x.device());
    EXPECT_FALSE(tuples.requires_grad());
    const Tensor host = labels.cpu();
    const auto label = host.accessor<int64_t, 1>();
    for (const Row& row : rows_of(tuples)) {
      SCOPED_TRACE(::testing::PrintToString(row));
      for (const int64_t place : row) {
        ASSERT_GE(place, 0);
        ASSERT_LT(place, label.size(0));
      }
      if (row.size() == 2) {
        EXPECT_NE(row[0], row[1]);
      } else if (GetParam().pushes_positives && row[0] == row[1]) {
        EXPECT_NE(row[0], row[2]);
        EXPECT_EQ(label[row[0]], label[row[2]]);
      } else {
        EXPECT_NE(row[0], row[1]);
        EXPECT_EQ(label[row[0]], label[row[1]]);
        EXPECT_NE(label[row[0]], label[row[2]]);
      }
    }
  }

  void expect_valid(const Tensor& x, const Tensor& labels) const {
    for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
      expect_valid(run(x.to(type), labels), x, labels);
    }
  }

  std::unique_ptr<Miner> miner_;
};

TEST_P(MinerConformance, TuplesAreOfTheRightSigns) {
  const LabelledBatch batch = mixed();
  EXPECT_GT(run(batch.x, batch.labels).size(0), 0);
  for (const LabelledBatch& other : random_batches()) {
    SCOPED_TRACE(other.name);
    expect_valid(other.x, other.labels);
  }
  for (uint64_t seed = 0; seed < 20; ++seed) {
    expect_valid(run(batch.x, batch.labels, seed), batch.x, batch.labels);
  }
}

TEST_P(MinerConformance, TheSameKeyGivesTheSameTuples) {
  const LabelledBatch batch = mixed();
  for (uint64_t seed = 0; seed < 5; ++seed) {
    EXPECT_TRUE(torch::equal(run(batch.x, batch.labels, seed),
                             run(batch.x, batch.labels, seed)));
  }
}

TEST_P(MinerConformance, AGraphIsNotNeededAndNotBuilt) {
  const LabelledBatch batch = mixed();
  const Tensor x = batch.x.clone().requires_grad_();
  EXPECT_TRUE(torch::equal(run(x, batch.labels), run(batch.x, batch.labels)));
  EXPECT_TRUE(torch::equal(x.detach(), batch.x)) << "changed the embeddings";
}

TEST_P(MinerConformance, OrderOfTheBatchDoesNotMatter) {
  if (is_random()) GTEST_SKIP() << "chooses at random";
  const LabelledBatch batch = mixed();
  const Tensor order = random_permutation(batch.size(), 5);
  const Tensor tuples =
      run(batch.x.index_select(0, order), batch.labels.index_select(0, order));
  const Tensor back =
      order.index_select(0, tuples.flatten()).view(tuples.sizes());
  EXPECT_EQ(sorted_rows(back), sorted_rows(run(batch.x, batch.labels)));
}

TEST_P(MinerConformance, BothPrecisionsChooseTheSame) {
  for (const LabelledBatch& batch :
       {mixed(), make_batch({9, 9, 8, 4}, 16, 8)}) {
    EXPECT_TRUE(torch::equal(run(batch.x.to(at::kFloat), batch.labels),
                             run(batch.x, batch.labels)));
  }
}

TEST_P(MinerConformance, GpuChoosesTheSame) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  for (const LabelledBatch& batch :
       {mixed(), make_batch({9, 9, 8, 4}, 16, 8)}) {
    const Tensor x = batch.x.cuda();
    const Tensor tuples = run(x, batch.labels.cuda());
    expect_valid(tuples, x, batch.labels);
    EXPECT_TRUE(torch::equal(tuples.cpu(), run(batch.x, batch.labels)));
  }
}

TEST_P(MinerConformance, BatchesWithoutATupleGiveNone) {
  for (const std::vector<int64_t>& values : std::vector<std::vector<int64_t>>{
           {}, {4}, {4, 4}, {4, 5}, {2, 2, 2, 2}, {3, 1, 2, 8}}) {
    const Tensor labels = labels_of(values);
    const Tensor x = normalize_rows(random_normal({labels.size(0), 3}, 2));
    SCOPED_TRACE(::testing::PrintToString(values));
    expect_valid(x, labels);
    if (!GetParam().signs_apart) {
      EXPECT_EQ(run(x, labels).size(0), 0);
    }
  }
}

TEST_P(MinerConformance, DegenerateEmbeddingsAreTaken) {
  const LabelledBatch batch = mixed();
  const Tensor& labels = batch.labels;
  const Tensor one = torch::ones_like(batch.x);
  expect_valid(torch::zeros_like(batch.x), labels);
  expect_valid(normalize_rows(one), labels);
  // Antipodes: D = 2, where the density of distances is 0.
  const Tensor sign = (labels == labels[0]).to(at::kDouble) * 2 - 1;
  expect_valid(normalize_rows(one) * sign.unsqueeze(1), labels);
  expect_valid(torch::ones({batch.size(), 1}, at::kDouble), labels);
  expect_valid(normalize_rows(batch.x.slice(1, 0, 2)), labels);
  expect_valid(1e3 * batch.x, labels);
  expect_valid(1e-25 * batch.x, labels);
  Tensor some = batch.x.clone();
  some.slice(0, 0, 6).zero_();
  expect_valid(some, labels);
}

/// Bytes that a call takes at most beyond what there was; nothing where the
/// system does not tell.
template <class Action>
std::optional<int64_t> peak_bytes(const Action& action) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  std::ofstream("/proc/self/clear_refs") << 5 << std::flush;
  const std::optional<int64_t> before = resident_bytes();
  const std::optional<int64_t> mark = peak_resident_bytes();
  if (!before || !mark || *mark > *before + (1 << 20)) return std::nullopt;
  action();
  return *peak_resident_bytes() - *before;
}

// Six matrices of M x M float32, and three times the tuples themselves.
TEST_P(MinerConformance, MemoryIsThatOfAFewMatrices) {
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
  GTEST_SKIP() << "the address sanitizer keeps what is freed";
#endif
  constexpr int64_t kCount = 1000;
  const Tensor labels = torch::arange(kCount).floor_divide(4);
  const Tensor x =
      normalize_rows(random_normal({kCount, 16}, 4, at::kFloat) +
                     2 * random_normal({kCount / 4, 16}, 5, at::kFloat)
                             .repeat_interleave(4, 0));
  run(x.slice(0, 0, 100), labels.slice(0, 0, 100));  // warms up
  Tensor tuples;
  const auto bytes = peak_bytes([&] { tuples = run(x, labels); });
  if (!bytes) GTEST_SKIP() << "no high-water mark on this system";
  const int64_t matrix = 4 * kCount * kCount;
  const int64_t output = 8 * tuples.numel();
  EXPECT_LE(*bytes, 6 * matrix + 3 * output)
      << static_cast<double>(*bytes) / static_cast<double>(matrix)
      << " matrices, " << tuples.size(0) << " tuples";
  RecordProperty("matrices", std::to_string(*bytes / (matrix / 100)) + "%");
}

std::string test_name(const ::testing::TestParamInfo<Subject>& info) {
  std::string name;
  for (const char c : info.param.yaml.substr(6)) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Miners, MinerConformance,
                         ::testing::ValuesIn(subjects()), test_name);

}  // namespace
}  // namespace kith
