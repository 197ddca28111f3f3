#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kith/core/error.h"
#include "kith/eval/descriptor.h"
#include "kith/image/decode.h"
#include "kith/image/image.h"
#include "kith/index/reranker.h"
#include "kith/index/stored_index.h"
#include "kith/models/embedding_net.h"
#include "kith/serve/deadline.h"
#include "kith/serve/serve_metrics.h"

namespace kith {

struct ServiceOptions {
  int64_t batch = 32;   ///< Most pictures through the network at once.
  int64_t wait_ms = 2;  ///< How long the first of a batch waits for others.
  int64_t queue = 256;  ///< Searches that may wait; more are refused.
  int64_t queue_bytes = 512 << 20;  ///< Of their pictures; more are refused.
  int64_t most_neighbours = 100;
  RerankSteps rerank = {};   ///< Of what is found; see search_reranked.
  DecodeLimits limits = {};  ///< Of what clients send.
  /// How the index's embeddings were made of images.
  DescriptorOptions descriptor = {};
};

/// An item of an index, and the file of its picture.
struct ItemPlace {
  int64_t position = 0;
  std::string file = {};
  std::string root = {};  ///< The folder it must be below; empty: any.
};

/// An index that is not changed any more. Who searches keeps it.
using SharedIndex = std::shared_ptr<const StoredIndex>;

/// Searches the indexes of a network for pictures: requests of many threads go
/// through the network in batches, on one thread of its own. All functions may
/// be called from several threads.
class SearchService {
 public:
  /// Takes what was found, nearest first, or the reason why nothing was.
  using Done = std::function<void(std::vector<SearchHit>, std::exception_ptr)>;
  /// Takes the unit embedding [dim] of an image, or the reason why not.
  using Embedded = std::function<void(Tensor, std::exception_ptr)>;

  SearchService(std::unique_ptr<EmbeddingNet> net,
                const ServiceOptions& options);
  ~SearchService();

  /// ConfigError if the network's embeddings do not fit an index, or it cannot
  /// be re-ranked.
  void check_fits(const StoredIndex& index) const;

  /// Makes the image small on the calling thread, and hands it on: `done` is
  /// called on the service's thread and throws nothing. Finds items of a class
  /// only, unless `label` is empty. BusyError (and no call of `done`) if too
  /// many wait; `done` gets one if the deadline passes before its turn comes.
  void submit(SharedIndex index, const Image& image, int64_t k,
              const std::string& label, Done done,
              Deadline deadline = kNoDeadline);

  /// The same with an item of the index, which does not find itself.
  /// ItemPictureError if the index cannot tell its vector and its file cannot
  /// be read.
  void submit_item(SharedIndex index, const ItemPlace& item, int64_t k,
                   const std::string& label, Done done,
                   Deadline deadline = kNoDeadline);

  /// The embedding of an image, with which it can be added to an index.
  void embed(const Image& image, Embedded done,
             Deadline deadline = kNoDeadline);

  /// The first two, waiting for the result.
  std::vector<SearchHit> search(const SharedIndex& index, const Image& image,
                                int64_t k, const std::string& label);
  std::vector<SearchHit> search_item(const SharedIndex& index,
                                     const ItemPlace& item, int64_t k,
                                     const std::string& label);

  /// Ends the batch in work; searches that wait get a BusyError. No `done` is
  /// called afterwards.
  void stop();

  const ServiceOptions& options() const;
  ServiceStats stats() const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace kith
