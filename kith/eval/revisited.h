#pragma once

#include <string>
#include <vector>

#include "kith/data/image_list.h"
#include "kith/eval/scored.h"

namespace kith {

/// The three settings of Radenovic et al., "Revisiting Oxford and Paris" (CVPR
/// 2018), in the order in which results are printed.
inline constexpr const char* kRevisitedSettings[] = {"easy", "medium", "hard"};

/// Right answers and junk of each query in a setting:
///
///     setting   right         junk
///     easy      easy          junk and hard
///     medium    easy, hard    junk
///     hard      hard          junk and easy
///
/// Positions stay as they are: with those of a GroundTruth, gallery items are
/// its images, in order and before any distractors.
RelevanceLists revisited_lists(const std::vector<QueryTruth>& truths,
                               const std::string& setting);

}  // namespace kith
