#include "kith/serve/serve_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kith {
namespace {

using ::testing::HasSubstr;

TEST(ServeMetrics, CountsInThePrometheusFormat) {
  ServeMetrics metrics;
  metrics.answered("search", 200, 0.003);
  metrics.answered("search", 200, 0.03);
  metrics.answered("search", 415, 60);
  metrics.connection_opened();
  metrics.connection_opened();
  metrics.connection_closed();
  metrics.connection_refused();
  ServiceStats stats;
  stats.queued = 7;
  stats.batches.add(1, kBatchBounds);
  stats.batches.add(3, kBatchBounds);
  const std::string text = metrics.text(
      stats, {{.name = "birds", .items = 42, .reloads = 3, .is_stale = true},
              {.name = "cars", .failed_reloads = 2}});
  for (const char* line :
       {"# TYPE kith_requests_total counter\n",
        "kith_requests_total{route=\"search\",status=\"200\"} 2\n",
        "kith_requests_total{route=\"search\",status=\"415\"} 1\n",
        "# TYPE kith_request_seconds histogram\n",
        "kith_request_seconds_bucket{route=\"search\",le=\"0.0025\"} 0\n",
        "kith_request_seconds_bucket{route=\"search\",le=\"0.005\"} 1\n",
        "kith_request_seconds_bucket{route=\"search\",le=\"5\"} 2\n",
        "kith_request_seconds_bucket{route=\"search\",le=\"+Inf\"} 3\n",
        "kith_request_seconds_sum{route=\"search\"} 60.033\n",
        "kith_request_seconds_count{route=\"search\"} 3\n",
        "kith_batch_size_bucket{le=\"1\"} 1\n",
        "kith_batch_size_bucket{le=\"4\"} 2\n",
        "kith_batch_size_sum 4\n",
        "kith_batch_size_count 2\n",
        "kith_queue_length 7\n",
        "kith_connections 1\n",
        "kith_connections_refused_total 1\n",
        "kith_index_items{index=\"birds\"} 42\n",
        "kith_index_reloads_total{index=\"birds\"} 3\n",
        "kith_index_stale{index=\"birds\"} 1\n",
        "kith_index_stale{index=\"cars\"} 0\n",
        "kith_index_reload_failures_total{index=\"cars\"} 2\n",
        "process_resident_memory_bytes "}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

}  // namespace
}  // namespace kith
