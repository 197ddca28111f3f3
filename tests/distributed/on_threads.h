#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "kith/distributed/communicator.h"

namespace kith {

/// Runs `work` as each of `size` ranks, threads of this process. A rank whose
/// work throws leaves at once. Returns what each threw; "" for nothing.
inline std::vector<std::string> errors_on_threads(
    int64_t size, const std::function<void(Communicator&)>& work,
    std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  auto ranks = thread_ranks(size, timeout);
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (size_t r = 0; r < errors.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        work(*ranks[r]);
      } catch (const std::exception& error) {
        errors[r] = error.what();
      }
      ranks[r].reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace kith
