#include "kith/eval/metric_name.h"

namespace kith {

MetricName MetricName::parse(const std::string& text) {
  // A slash or @ with nothing to separate stays in the base, which is then no
  // metric's, so that text() gives every text back.
  const size_t slash = text.rfind('/');
  const bool has_part = slash != std::string::npos && slash > 0;
  const size_t begin = has_part ? slash + 1 : 0;
  const size_t at = text.find('@', begin);
  const bool has_number = at != std::string::npos && at + 1 < text.size();
  MetricName name;
  if (has_part) name.part = text.substr(0, slash);
  name.base = text.substr(begin, has_number ? at - begin : std::string::npos);
  if (has_number) name.number = text.substr(at + 1);
  return name;
}

std::string MetricName::text() const {
  return part.empty() ? metric() : part + "/" + metric();
}

std::string MetricName::metric() const {
  return number.empty() ? base : base + "@" + number;
}

std::string MetricName::general() const {
  return number.empty() ? base : base + "@k";
}

MetricName MetricName::within(const std::string& outer) const {
  if (outer.empty()) return *this;
  return {part.empty() ? outer : outer + "/" + part, base, number};
}

bool MetricName::is(const std::string& name) const {
  return text() == name || text().ends_with("/" + name);
}

}  // namespace kith
