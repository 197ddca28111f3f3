#pragma once

#include <cstdint>
#include <numeric>

namespace kith {

// Static, so that every file has these as its own flags compile them.

/// The sum of term(i) for i in [0, n), taken as `lanes` sums that do not wait
/// for each other: a compiler makes vectors of them.
template <class T, int lanes, class Term>
static T lane_sum(int64_t n, const Term& term) {
  T parts[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int k = 0; k < lanes; ++k) parts[k] += term(i + k);
  }
  for (; i < n; ++i) parts[0] += term(i);
  return std::accumulate(parts, parts + lanes, T(0));
}

template <int lanes = 16, class T>
static T dot(const T* a, const T* b, int64_t n) {
  return lane_sum<T, lanes>(n, [=](int64_t i) { return a[i] * b[i]; });
}

/// |a - b|^2.
template <int lanes = 16, class T>
static T squared_distance(const T* a, const T* b, int64_t n) {
  return lane_sum<T, lanes>(n, [=](int64_t i) {
    const T difference = a[i] - b[i];
    return difference * difference;
  });
}

}  // namespace kith
