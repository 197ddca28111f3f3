#include "kith/distributed/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/timer.h"
#include "tests/support/torch/rank_threads.h"

namespace kith {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

using Work = std::function<void(Communicator&)>;

void expect_no_errors(int64_t size, const Work& work) {
  EXPECT_THAT(errors_of_ranks(size, work), Each(""));
}

/// Row i of a rank: [100 r + i, 100 r + i].
Tensor rows_of(int64_t rank, int64_t count,
               torch::ScalarType type = torch::kFloat) {
  return (torch::arange(count) + 100 * rank)
      .view({-1, 1})
      .expand({-1, 2})
      .to(type);
}

TEST(Communicator, AloneReturnsWhatItWasGiven) {
  Communicator& one = alone();
  EXPECT_EQ(one.engine(), "none");
  Tensor rows = rows_of(0, 3);
  EXPECT_TRUE(one.all_gather(rows).is_same(rows));
  EXPECT_TRUE(one.exchange(rows, {3}).is_same(rows));
  EXPECT_TRUE(one.all_reduce(rows).is_same(rows));
  one.broadcast(rows);
  EXPECT_EQ(one.broadcast(std::string("a")), "a");
  one.barrier();
  one.tell_no_memory();
  one.tell_failure("none hears it");
  one.barrier();
  EXPECT_EQ(one.bytes_sent(), 0);
}

TEST(Communicator, GathersRowsOfAllTypes) {
  for (const auto type :
       {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16,
        torch::kLong, torch::kInt, torch::kShort, torch::kByte, torch::kBool,
        torch::kComplexFloat}) {
    expect_no_errors(3, [type](Communicator& ranks) {
      const Tensor all = ranks.all_gather(rows_of(ranks.rank(), 2, type));
      const Tensor expected =
          torch::cat({rows_of(0, 2), rows_of(1, 2), rows_of(2, 2)}).to(type);
      EXPECT_TRUE(torch::equal(all, expected)) << type;
      EXPECT_EQ(all.scalar_type(), type);
    });
  }
}

TEST(Communicator, GathersDifferentNumbersOfRows) {
  // Nearly equal, far from it, none.
  const std::vector<std::vector<int64_t>> cases = {
      {5, 4, 4}, {0, 0, 9}, {7, 0, 1}, {0, 0, 0}};
  for (const auto& counts : cases) {
    expect_no_errors(3, [&](Communicator& ranks) {
      std::vector<Tensor> parts;
      for (int64_t r = 0; r < 3; ++r) {
        parts.push_back(rows_of(r, counts[static_cast<size_t>(r)]));
      }
      const auto me = static_cast<size_t>(ranks.rank());
      // A tensor that is not contiguous.
      const Tensor mine = parts[me].t().contiguous().t();
      EXPECT_TRUE(torch::equal(ranks.all_gather(mine), torch::cat(parts)));
      EXPECT_EQ(ranks.bytes_sent(), counts[me] * 2 * 4 * 2);
    });
  }
}

TEST(Communicator, PutsRowsIntoWhatItIsGiven) {
  Tensor kept = torch::empty({3, 2});
  EXPECT_TRUE(alone().all_gather(rows_of(0, 3), kept).is_same(kept));
  EXPECT_TRUE(kept.equal(rows_of(0, 3)));
  for (const int64_t size : {1, 3}) {
    for (const int64_t extra : {0, 1}) {  // of the last rank
      for (const int64_t count : {2, 200'000}) {
        expect_no_errors(size, [&](Communicator& ranks) {
          const auto rows_of_rank = [&](int64_t rank) {
            return rows_of(rank, count + (rank + 1 == size ? extra : 0));
          };
          std::vector<Tensor> parts;
          for (int64_t r = 0; r < size; ++r) parts.push_back(rows_of_rank(r));
          const Tensor expected = torch::cat(parts);
          const Tensor mine = rows_of_rank(ranks.rank());
          const Tensor into = torch::zeros_like(expected);
          EXPECT_TRUE(ranks.all_gather(mine, into).is_same(into));
          EXPECT_TRUE(into.equal(expected));
          // At their own place already; and with gaps.
          Tensor own =
              into.zero_().narrow(0, count * ranks.rank(), mine.size(0));
          own.copy_(mine);
          ranks.all_gather(own, into);
          EXPECT_TRUE(into.equal(expected));
          const Tensor turned = torch::zeros({2, expected.size(0)}).t();
          ranks.all_gather(mine, turned);
          EXPECT_TRUE(turned.equal(expected));
          std::vector<int64_t> counts(static_cast<size_t>(size), 0);
          counts[0] = mine.size(0);
          const Tensor sent = ranks.is_first() ? into.zero_() : Tensor();
          const Tensor got = ranks.exchange(mine, counts, sent);
          EXPECT_EQ(got.is_same(into), ranks.is_first());
          EXPECT_TRUE(!ranks.is_first() || into.equal(expected));
        });
      }
    }
  }
  expect_no_errors(2, [](Communicator& ranks) {
    EXPECT_THROW(ranks.all_gather(torch::zeros({2, 3}), torch::zeros({3, 3})),
                 c10::ValueError);
  });
}

TEST(Communicator, GathersMoreThanAMegabyte) {
  expect_no_errors(2, [](Communicator& ranks) {
    const int64_t count = ranks.is_first() ? 300'000 : 3;
    const Tensor all = ranks.all_gather(rows_of(ranks.rank(), count));
    EXPECT_TRUE(
        torch::equal(all, torch::cat({rows_of(0, 300'000), rows_of(1, 3)})));
  });
}

TEST(Communicator, GathersRowsWithoutNumbers) {
  expect_no_errors(2, [](Communicator& ranks) {
    const Tensor all = ranks.all_gather(torch::zeros({2, 0, 3}));
    EXPECT_EQ(all.sizes(), torch::IntArrayRef({4, 0, 3}));
  });
}

TEST(Communicator, Exchanges) {
  // Rank r sends r + s + 1 rows to rank s, each of which says so; rank 2 gets
  // nothing from rank 0.
  expect_no_errors(3, [](Communicator& ranks) {
    const auto count = [](int64_t r, int64_t s) {
      return r == 0 && s == 2 ? 0 : r + s + 1;
    };
    std::vector<Tensor> sent;
    std::vector<Tensor> expected;
    std::vector<int64_t> counts;
    for (int64_t other = 0; other < 3; ++other) {
      const int64_t me = ranks.rank();
      counts.push_back(count(me, other));
      sent.push_back(torch::full({counts.back(), 2}, 10 * me + other));
      expected.push_back(torch::full({count(other, me), 2}, 10 * other + me));
    }
    const Tensor got = ranks.exchange(torch::cat(sent), counts);
    EXPECT_TRUE(torch::equal(got, torch::cat(expected)));
    const int64_t row = 2 * static_cast<int64_t>(sizeof(int64_t));
    const auto kept = counts[static_cast<size_t>(ranks.rank())];
    EXPECT_EQ(ranks.bytes_sent(), (torch::cat(sent).size(0) - kept) * row);
  });
  expect_no_errors(2, [](Communicator& ranks) {
    EXPECT_EQ(ranks.exchange(torch::zeros({0, 2}), {0, 0}).size(0), 0);
  });
}

TEST(Communicator, ExchangeChecksItsNumbers) {
  auto ranks = thread_ranks(2);
  const Tensor rows = rows_of(0, 3);
  EXPECT_THROW(ranks[0]->exchange(rows, {1, 1}), c10::Error);
  EXPECT_THROW(ranks[0]->exchange(rows, {4, -1}), c10::Error);
  EXPECT_THROW(ranks[0]->exchange(rows, {3}), c10::Error);
}

TEST(Communicator, Broadcasts) {
  expect_no_errors(3, [](Communicator& ranks) {
    Tensor tensor = torch::full({2, 3}, ranks.rank(), torch::kDouble);
    ranks.broadcast(tensor, 1);
    EXPECT_TRUE(torch::equal(tensor, torch::ones({2, 3}, torch::kDouble)));
    EXPECT_EQ(ranks.bytes_sent(), ranks.rank() == 1 ? 2 * 6 * 8 : 0);
    // Into a part of a tensor, into a parameter, a scalar, nothing.
    Tensor whole = torch::zeros({3, 2});
    Tensor column = whole.select(1, 1);
    if (ranks.is_first()) column.fill_(7);
    ranks.broadcast(column);
    EXPECT_EQ(whole.sum().item<float>(), 21);
    Tensor parameter = torch::full({2}, ranks.rank(), torch::kFloat);
    parameter.requires_grad_();
    ranks.broadcast(parameter, 2);
    EXPECT_EQ(parameter.sum().item<float>(), 4);
    Tensor scalar = torch::tensor(static_cast<double>(ranks.rank()));
    ranks.broadcast(scalar, 2);
    EXPECT_EQ(scalar.item<double>(), 2);
    Tensor nothing = torch::zeros({0});
    ranks.broadcast(nothing);
    EXPECT_EQ(ranks.broadcast("rank " + std::to_string(ranks.rank()), 1),
              "rank 1");
    EXPECT_EQ(ranks.broadcast(std::string()), "");
    EXPECT_EQ(ranks.broadcast(std::string(ranks.is_first() ? 70'000 : 0, 'x')),
              std::string(70'000, 'x'));
  });
}

TEST(Communicator, RecordsNoGradients) {
  expect_no_errors(2, [](Communicator& ranks) {
    const Tensor mine = torch::ones({2, 2}).requires_grad_();
    EXPECT_FALSE(ranks.all_gather(mine).requires_grad());
    EXPECT_FALSE(ranks.exchange(mine * 1, {1, 1}).requires_grad());
    EXPECT_FALSE(ranks.all_reduce(mine).requires_grad());
    EXPECT_EQ(mine.sum().item<float>(), 4);
  });
}

TEST(Communicator, SaysWhoDoesSomethingElse) {
  const auto errors = errors_of_ranks(3, [](Communicator& ranks) {
    ranks.barrier();
    Tensor four = torch::zeros({4});
    if (ranks.rank() == 2) {
      ranks.broadcast(four);
    } else {
      ranks.all_gather(torch::zeros({2, 3}));
    }
  });
  EXPECT_THAT(errors,
              Each("rank 2 is in broadcast of float32 [4] (call 2) while rank "
                   "0 is in all_gather of float32 [*, 3] (call 2): ranks must "
                   "do the same things in the same order"));
}

TEST(Communicator, SaysWhoHasAnotherShapeTypeOrRoot) {
  struct Case {
    Work work;
    std::string text;
  };
  const std::vector<Case> cases = {
      {[](Communicator& r) {
         r.all_gather(torch::zeros({1, r.rank() + 2}));
       },
       "all_gather of float32 [*, 3]"},
      {[](Communicator& r) {
         r.all_gather(
             torch::zeros({1}, r.is_first() ? torch::kFloat : torch::kHalf));
       },
       "all_gather of float16 [*]"},
      {[](Communicator& r) {
         Tensor t = torch::zeros({1});
         r.broadcast(t, r.rank());
       },
       "broadcast of float32 [1] from rank 1"},
      {[](Communicator& r) { r.broadcast(std::string("a"), r.rank()); },
       "broadcast of a text from rank 1"},
      {[](Communicator& r) { r.all_reduce(torch::zeros({3 + r.rank()})); },
       "all_gather of float32 [*, 4]"},
      {[](Communicator& r) { r.all_reduce(torch::zeros({10'000 + r.rank()})); },
       "sum of float32 [10001]"},
      {[](Communicator& r) {
         r.all_reduce(torch::zeros(
             {r.is_first() ? 100 : 200, r.is_first() ? 200 : 100}));
       },
       "sum of float32 [200, 100]"},
  };
  for (const Case& one : cases) {
    const auto errors = errors_of_ranks(2, one.work);
    EXPECT_THAT(errors, Each(HasSubstr("rank 1 is in " + one.text)));
  }
}

TEST(Communicator, GoesOnAfterAMismatch) {
  expect_no_errors(2, [](Communicator& ranks) {
    EXPECT_THROW(ranks.all_gather(torch::zeros({1, ranks.rank() + 2})),
                 RankError);
    EXPECT_EQ(ranks.all_gather(torch::zeros({1})).numel(), 2);
  });
}

TEST(Communicator, OutOfMemoryTakesThePlaceOfACall) {
  expect_no_errors(3, [](Communicator& ranks) {
    ranks.barrier();
    if (ranks.rank() == 1) {
      ranks.tell_no_memory();
    } else {
      try {
        ranks.all_gather(torch::zeros({1}));
        ADD_FAILURE() << "no error";
      } catch (const RankOutOfMemory& error) {
        EXPECT_THAT(error.what(), StartsWith("rank 1 ran out of memory"));
      }
    }
    EXPECT_EQ(ranks.all_gather(torch::zeros({1})).numel(), 3);
    // All at a time.
    ranks.tell_no_memory();
    ranks.barrier();
  });
}

TEST(Communicator, FailureReachesTheOthers) {
  const Timer timer;
  const auto errors = errors_of_ranks(3, [](Communicator& ranks) {
    if (ranks.rank() == 2) {
      ranks.tell_failure("no space left on the disk");
      EXPECT_TRUE(ranks.is_lost());
      return;
    }
    EXPECT_THROW(ranks.barrier(), RankError);
    EXPECT_TRUE(ranks.is_lost());
    ranks.tell_failure("because of rank 2");  // returns at once
    ranks.barrier();
  });
  EXPECT_THAT(errors[0], HasSubstr("rank 2 failed: no space left on the disk"));
  EXPECT_THAT(errors[1], HasSubstr("rank 2 failed: no space left on the disk"));
  EXPECT_EQ(errors[2], "");
  EXPECT_LT(timer.seconds(), 4);
}

TEST(Communicator, TellsFailureToNobodyWithoutHanging) {
  const Timer timer;
  auto ranks = thread_ranks(2);
  ranks[1].reset();
  ranks[0]->tell_failure("alone");
  EXPECT_LT(timer.seconds(), 4);
}

TEST(Communicator, ARankThatLeavesEndsTheWait) {
  const Timer timer;
  const auto errors = errors_of_ranks(3, [](Communicator& ranks) {
    ranks.barrier();
    if (ranks.rank() == 1) return;
    ranks.all_gather(torch::zeros({2}));
  });
  EXPECT_EQ(errors[0],
            "rank 0 of 3: lost contact in all_gather (call 2): a rank has "
            "left. rank 1 has left");
  EXPECT_THAT(errors[2], StartsWith("rank 2 of 3: lost contact in all_gather"));
  EXPECT_THAT(errors[2], HasSubstr("rank 1 has left"));
  EXPECT_LT(timer.seconds(), 4);
}

TEST(Communicator, LeavingAfterTheLastCallIsNoError) {
  for (int64_t i = 0; i < 200; ++i) {
    expect_no_errors(4, [](Communicator& ranks) { ranks.barrier(); });
  }
}

TEST(Communicator, WaitsNoLongerThanTheTimeOut) {
  const Timer timer;
  const auto errors = errors_of_ranks(
      3,
      [](Communicator& ranks) {
        if (ranks.rank() == 1) {
          std::this_thread::sleep_for(std::chrono::seconds(1));
          return;
        }
        ranks.barrier();
      },
      std::chrono::milliseconds(200));
  for (const size_t r : {0U, 2U}) {
    EXPECT_THAT(errors[r], HasSubstr("lost contact in barrier (call 1)"));
    EXPECT_THAT(errors[r], HasSubstr("rank 1 does not answer"));
  }
  EXPECT_LT(timer.seconds(), 5);
}

}  // namespace
}  // namespace kith
