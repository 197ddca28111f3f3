#pragma once

#include <cstdint>
#include <vector>

#include "kith/core/progress.h"
#include "kith/core/tensor.h"
#include "kith/data/augment.h"
#include "kith/data/cache.h"
#include "kith/data/loader.h"
#include "kith/distributed/communicator.h"
#include "kith/eval/embedded_split.h"
#include "kith/eval/evaluator.h"
#include "kith/models/embedding_net.h"

namespace kith {

/// Where a bank's features come from.
struct FeatureBankParts {
  EmbeddingNet& net;
  ImageCache& images;
  /// Of training images, if they have more than one view.
  Augmentations augmentations = {};
  int64_t views = 1;  ///< Of a training image; one: as for testing.
  uint64_t seed = 0;
  int64_t batch = 256;
  LoaderOptions loader = {};
  Communicator& ranks;
};

/// What the head's pooling makes of images (Head::pool), computed once and kept
/// in host memory, so that a head can be trained without the backbone
/// (`train.cached_features`). Views and their order depend on the seed alone.
class FeatureBank {
 public:
  /// `images` of the parts is of a data set with `count` images.
  FeatureBank(FeatureBankParts parts, int64_t count);

  /// Computes the views of training images, which train() gives from then on.
  /// Of several ranks each computes its share, and all have all.
  void fill(const std::vector<int64_t>& images, Progress& progress);

  /// [n, F] A view of each image, drawn by its place in the epoch.
  Tensor train(const std::vector<int64_t>& images, int64_t first_place,
               int64_t epoch, int64_t step) const;

  /// [n, dim] Embeddings of images as for testing; on the network's device.
  Tensor embed(const std::vector<int64_t>& images, Progress& progress);

  /// The evaluator's split, embedded.
  EmbeddedSplit embed(const Evaluator& evaluator, Progress& progress);

  int64_t bytes() const;  ///< That the features take.

 private:
  /// Rows of some images, and where each image's row is.
  struct Rows {
    Tensor values;                ///< [n, F]
    std::vector<int64_t> row_of;  ///< By image; -1: there is none.
  };

  Tensor compute(const std::vector<int64_t>& images, int64_t view,
                 Progress& progress);
  void look_at(const std::vector<int64_t>& images, Progress& progress);
  static int64_t row_of(const Rows& rows, int64_t image);
  static Tensor select(const Rows& rows, const std::vector<int64_t>& images);
  void add(const std::vector<int64_t>& images, const Tensor& values,
           Rows& rows) const;

  FeatureBankParts parts_;
  size_t count_;
  Rows plain_;  ///< As for testing.
  /// Of training images, all of a view behind all of the one before; of one
  /// view they are the plain ones.
  Rows views_;
};

}  // namespace kith
