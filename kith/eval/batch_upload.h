#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <c10/core/Device.h>

#include "kith/core/tensor.h"
#include "kith/data/coded_pictures.h"
#include "kith/data/data_set.h"
#include "kith/data/loader.h"
#include "kith/ops/upload.h"

namespace kith {

/// Those pictures of a loader's batches of which the threads decode the first
/// half only.
class CodedBatches {
 public:
  explicit CodedBatches(const InputOptions& input) : weights_(input) {}

  /// Takes what it can at this position of a batch; safe from several threads.
  DataSet::TakeFile taker(int64_t batch, int64_t position);

  /// Those of the next batch, which must be finished; null if there are none.
  std::shared_ptr<CodedPictures> next();

 private:
  std::shared_ptr<CodedPictures> of(int64_t batch);

  InputWeights weights_;
  std::mutex mutex_;
  std::map<int64_t, std::shared_ptr<CodedPictures>> batches_;
  int64_t next_ = 0;
};

/// The pictures of a batch, all of the network's own size, on their way to a
/// device, which decodes the second half of those that need it.
class BatchUpload {
 public:
  /// Starts the copies. `coded` is null if all pictures are in the batch.
  BatchUpload(const Batch& batch, std::shared_ptr<CodedPictures> coded,
              const InputOptions& input, c10::Device device);

  /// [N, S, S, C] bytes; once.
  Tensor get() const;

  /// Returns when the host memory has been read.
  void wait() const;

 private:
  int64_t count_;
  int64_t size_;
  c10::Device device_;
  std::shared_ptr<CodedPictures> coded_;
  Upload pixels_;               ///< Of finished pictures.
  std::vector<Upload> pieces_;  ///< Of `coded_`.
};

}  // namespace kith
