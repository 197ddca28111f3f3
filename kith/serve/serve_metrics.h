#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kith {

/// Counts of values up to each of some bounds, as Prometheus wants them.
template <size_t N>
struct CountHistogram {
  std::array<int64_t, N + 1> counts{};  ///< The last: above all bounds.
  double sum = 0;

  void add(double value, const std::array<double, N>& bounds) {
    size_t i = 0;
    while (i < N && value > bounds[i]) ++i;
    ++counts[i];
    sum += value;
  }
  void add(const CountHistogram& other) {
    for (size_t i = 0; i <= N; ++i) counts[i] += other.counts[i];
    sum += other.sum;
  }
};

inline constexpr std::array<double, 12> kSecondBounds = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5};
inline constexpr std::array<double, 9> kBatchBounds = {1,  2,  4,   8,  16,
                                                       32, 64, 128, 256};

/// What a service tells of itself.
struct ServiceStats {
  int64_t queued = 0;       ///< Searches that wait.
  int64_t most_queued = 0;  ///< That may.
  /// Seconds since the oldest search that is in work came; 0 if none is.
  double longest_wait = 0;
  CountHistogram<kBatchBounds.size()> batches;

  void add(const ServiceStats& other);
};

/// What an index that is served tells of itself.
struct IndexStats {
  std::string name = {};
  int64_t items = 0;
  int64_t reloads = 0;
  int64_t failed_reloads = 0;
  bool is_stale = false;  ///< What is on disk cannot be served.
  int64_t added = 0;      ///< Items, by clients.
  int64_t removed = 0;
  int64_t picture_bytes = 0;  ///< Of what clients added.
};

/// What a server counts. Safe to use from several threads.
class ServeMetrics {
 public:
  void answered(const std::string& route, int status, double seconds);
  void connection_opened();
  void connection_closed();
  void connection_refused();

  /// In the text format of Prometheus (version 0.0.4).
  std::string text(const ServiceStats& service,
                   const std::vector<IndexStats>& indexes) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> answers_;
  std::map<std::string, CountHistogram<kSecondBounds.size()>> seconds_;
  int64_t connections_ = 0;
  int64_t refused_ = 0;
};

}  // namespace kith
