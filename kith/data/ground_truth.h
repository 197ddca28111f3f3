#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kith/data/image_list.h"
#include "kith/image/crop.h"

namespace kith {

/// The ground truth of ROxford, RParis and sets annotated in the same way.
struct GroundTruth {
  std::vector<std::string> images;   ///< Of the gallery, without extension.
  std::vector<std::string> queries;  ///< Also names of images.
  /// One for each of `queries`, whose position `query` is; answers are
  /// positions in `images`.
  std::vector<QueryTruth> truths;
  /// [queries] What each query shows; the rest of the picture is not part of
  /// it. Whole pixels: the published code crops so, halves to even.
  std::vector<std::optional<Box>> boxes;
};

/// Reads a ground truth: a .pkl as published, gnd_roxford5k.pkl, or a .json of
/// the same content:
///
///     {"imlist": ["all_souls_000006", ...], "qimlist": ["all_souls_000013"],
///      "gnd": [{"bbx": [x1, y1, x2, y2],
///               "easy": [2, 5], "hard": [0], "junk": []}]}
///
/// `bbx` may be left out. A pickle may be of any protocol and have NumPy arrays
/// for lists; nothing in it is run (see read_pickle). DataError names the file
/// and the entry, such as gnd[3].easy, if something is missing or wrong.
GroundTruth read_ground_truth(const std::string& path);

/// The same from memory; `name` stands for the path, also for what it ends in.
GroundTruth parse_ground_truth(std::string_view bytes, const std::string& name);

}  // namespace kith
