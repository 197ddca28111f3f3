#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kith/distributed/communicator.h"

namespace kith {

/// Numbers of ranks that tests compare with one.
inline const std::vector<int64_t> kRankCounts = {1, 2, 3, 4, 8};

/// Calls work(ranks) as each of `size` ranks, threads of this process. Returns
/// what each threw: the words of an exception, "unknown" of what is none, ""
/// of nothing. A rank whose work throws leaves at once.
///
/// OpenBLAS computes in another order where threads of one process call it at
/// the same time, unless it has one thread (OMP_NUM_THREADS=1, as CTest says):
/// ranks that are processes do not disturb each other.
inline std::vector<std::string> errors_of_ranks(
    int64_t size, const std::function<void(Communicator&)>& work,
    std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  auto ranks = thread_ranks(size, timeout);
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (size_t r = 0; r < errors.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        work(*ranks[r]);
      } catch (const std::exception& error) {
        errors[r] = error.what();
      } catch (...) {
        errors[r] = "unknown";
      }
      ranks[r].reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

/// The same of work that must not throw; what each rank returned.
template <class Result>
std::vector<Result> on_ranks(int64_t size,
                             const std::function<Result(Communicator&)>& work) {
  std::vector<Result> results(static_cast<size_t>(size));
  const std::vector<std::string> errors =
      errors_of_ranks(size, [&](Communicator& ranks) {
        results[static_cast<size_t>(ranks.rank())] = work(ranks);
      });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  return results;
}

}  // namespace kith
