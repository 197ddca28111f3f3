#include "kith/serve/serve_metrics.h"

#include <sstream>

#include "kith/core/memory.h"

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

std::string ServeMetrics::text(const ServiceStats& service,
                               int64_t items) const {
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
  write_value(out, "kith_index_items", "gauge", "Pictures in the index.",
              items);
  if (const auto bytes = resident_bytes()) {
    write_value(out, "process_resident_memory_bytes", "gauge",
                "Memory of the server.", *bytes);
  }
  return out.str();
}

}  // namespace kith
