#include "kith/eval/revisited.h"

#include <algorithm>
#include <iterator>

#include "kith/core/error.h"

namespace kith {
namespace {

std::vector<int64_t> merged(const std::vector<int64_t>& a,
                            const std::vector<int64_t>& b) {
  std::vector<int64_t> both;
  both.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

}  // namespace

RelevanceLists revisited_lists(const std::vector<QueryTruth>& truths,
                               const std::string& setting) {
  RelevanceLists lists;
  for (const QueryTruth& truth : truths) {
    if (setting == "easy") {
      lists.positives.push_back(truth.easy);
      lists.junk.push_back(merged(truth.junk, truth.hard));
    } else if (setting == "medium") {
      lists.positives.push_back(merged(truth.easy, truth.hard));
      lists.junk.push_back(truth.junk);
    } else {
      KITH_ASSERT(setting == "hard");
      lists.positives.push_back(truth.hard);
      lists.junk.push_back(merged(truth.junk, truth.easy));
    }
  }
  return lists;
}

}  // namespace kith
