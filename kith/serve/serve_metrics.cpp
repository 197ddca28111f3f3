#include "kith/serve/serve_metrics.h"

#include <algorithm>
#include <sstream>

#include "kith/core/memory.h"
#include "kith/serve/deadline.h"

namespace kith {
namespace {

void describe(std::ostream& out, const char* name, const char* type,
              const char* help) {
  out << "# HELP " << name << " " << help << "\n# TYPE " << name << " " << type
      << "\n";
}

void write_value(std::ostream& out, const char* name, const char* type,
                 const char* help, int64_t value) {
  describe(out, name, type, help);
  out << name << " " << value << "\n";
}

/// `labels` are those beside le: route="search".
template <size_t N>
void write_histogram(std::ostream& out, const std::string& name,
                     const std::string& labels,
                     const CountHistogram<N>& histogram,
                     const std::array<double, N>& bounds) {
  const std::string before = labels.empty() ? "" : labels + ",";
  int64_t total = 0;
  for (size_t i = 0; i < N; ++i) {
    total += histogram.counts[i];
    out << name << "_bucket{" << before << "le=\"" << bounds[i] << "\"} "
        << total << "\n";
  }
  total += histogram.counts[N];
  const std::string all = labels.empty() ? "" : "{" + labels + "}";
  out << name << "_bucket{" << before << "le=\"+Inf\"} " << total << "\n"
      << name << "_sum" << all << " " << histogram.sum << "\n"
      << name << "_count" << all << " " << total << "\n";
}

/// One number of every index; names of indexes need no escapes.
void write_each(std::ostream& out, const std::vector<IndexStats>& indexes,
                const char* name, const char* type, const char* help,
                int64_t IndexStats::*value) {
  describe(out, name, type, help);
  for (const IndexStats& index : indexes) {
    out << name << "{index=\"" << index.name << "\"} " << index.*value << "\n";
  }
}

void write_indexes(std::ostream& out, const std::vector<IndexStats>& indexes) {
  write_each(out, indexes, "kith_index_items", "gauge",
             "Pictures in the index.", &IndexStats::items);
  write_each(out, indexes, "kith_index_reloads_total", "counter",
             "Times that a changed index was loaded.", &IndexStats::reloads);
  write_each(out, indexes, "kith_index_reload_failures_total", "counter",
             "Times that a changed index could not be loaded.",
             &IndexStats::failed_reloads);
  describe(out, "kith_index_stale", "gauge",
           "1 while an older index is searched than the one on disk, which "
           "cannot be loaded.");
  for (const IndexStats& index : indexes) {
    out << "kith_index_stale{index=\"" << index.name << "\"} "
        << (index.is_stale ? 1 : 0) << "\n";
  }
  write_each(out, indexes, "kith_items_added_total", "counter",
             "Items that clients added.", &IndexStats::added);
  write_each(out, indexes, "kith_items_removed_total", "counter",
             "Items that clients removed or replaced.", &IndexStats::removed);
  write_each(out, indexes, "kith_index_picture_bytes", "gauge",
             "Pictures that clients added, on disk.",
             &IndexStats::picture_bytes);
}

}  // namespace

void ServeMetrics::answered(const std::string& route, int status,
                            double seconds) {
  const std::lock_guard lock(mutex_);
  ++answers_[{route, status}];
  seconds_[route].add(seconds, kSecondBounds);
}

void ServeMetrics::connection_opened() {
  const std::lock_guard lock(mutex_);
  ++connections_;
}

void ServeMetrics::connection_closed() {
  const std::lock_guard lock(mutex_);
  --connections_;
}

void ServeMetrics::connection_refused() {
  const std::lock_guard lock(mutex_);
  ++refused_;
}

void ServiceStats::add(const ServiceStats& other) {
  queued += other.queued;
  most_queued += other.most_queued;
  longest_wait = std::max(longest_wait, other.longest_wait);
  batches.add(other.batches);
}

std::string ServeMetrics::text(const ServiceStats& service,
                               const std::vector<IndexStats>& indexes) const {
  const std::lock_guard lock(mutex_);
  std::ostringstream out;
  out.precision(9);
  describe(out, "kith_requests_total", "counter", "Requests answered.");
  for (const auto& [key, count] : answers_) {
    out << "kith_requests_total{route=\"" << key.first << "\",status=\""
        << key.second << "\"} " << count << "\n";
  }
  describe(out, "kith_request_seconds", "histogram",
           "From the header of a request to the end of its answer.");
  for (const auto& [route, histogram] : seconds_) {
    write_histogram(out, "kith_request_seconds", "route=\"" + route + "\"",
                    histogram, kSecondBounds);
  }
  describe(out, "kith_batch_size", "histogram", "Searches done at a time.");
  write_histogram(out, "kith_batch_size", "", service.batches, kBatchBounds);
  write_value(out, "kith_queue_length", "gauge", "Searches that wait.",
              service.queued);
  write_value(out, "kith_connections", "gauge", "Open connections.",
              connections_);
  write_value(out, "kith_connections_refused_total", "counter",
              "Connections above the limit.", refused_);
  write_value(out, "kith_hanging_calls", "gauge",
              "Pictures whose reading was given up and has not ended.",
              hanging_calls());
  write_indexes(out, indexes);
  if (const auto bytes = resident_bytes()) {
    write_value(out, "process_resident_memory_bytes", "gauge",
                "Memory of the server.", *bytes);
  }
  return out.str();
}

}  // namespace kith
