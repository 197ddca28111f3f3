#include "kith/serve/search_service.h"

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include <torch/torch.h>

#include "kith/serve/embed_queries.h"
#include "kith/serve/picture_store.h"
#include "kith/serve/query_queue.h"

namespace kith {
namespace {

using Hits = std::vector<SearchHit>;

/// As many as the query wants, without the item that it is.
Hits first_of(Hits hits, const Query& query) {
  std::erase_if(hits, [&query](const SearchHit& hit) {
    return hit.position == query.exclude;
  });
  if (static_cast<int64_t>(hits.size()) > query.k) {
    hits.resize(static_cast<size_t>(query.k));
  }
  return hits;
}

}  // namespace

class SearchService::Worker {
 public:
  Worker(std::unique_ptr<EmbeddingNet> net, StoredIndex index,
         ServiceOptions options)
      : net_(std::move(net)),
        index_(std::move(index)),
        options_(std::move(options)),
        queue_(options_) {
    options_.descriptor.check(net_->backbone());
    check_dimensions();
    net_->eval();
    thread_ = std::thread([this] { work(); });
  }
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const StoredIndex& index() const { return index_; }
  const ServiceOptions& options() const { return options_; }
  const InputOptions& input() const { return net_->input(); }

  QueryQueue& queue() { return queue_; }

  void stop() {
    queue_.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void check_dimensions() const {
    if (net_->dim() == index_.dim()) return;
    throw ConfigError(
        "the model's embeddings have " + std::to_string(net_->dim()) +
        " dimensions, the index's " + std::to_string(index_.dim()) +
        ": take the model that the index was made with (" +
        index_.info().model + "), or make the index anew");
  }

  void work() {
    while (true) {
      std::vector<Query> batch = queue_.take();
      if (batch.empty()) break;
      std::exception_ptr error;
      std::vector<Hits> hits(batch.size());
      try {
        embed_pictures_of(batch);
        hits = search_all(batch);
      } catch (const std::exception&) {
        error = std::current_exception();
      }
      for (size_t i = 0; i < batch.size(); ++i) {
        batch[i].done(std::move(hits[i]), error);
      }
    }
    const auto stops =
        std::make_exception_ptr(BusyError("the search service stops"));
    for (const Query& query : queue_.take_rest()) query.done({}, stops);
  }

  void embed_pictures_of(std::vector<Query>& batch) {
    std::vector<Query*> with_pictures;
    std::vector<std::vector<Image>> pictures;
    for (Query& query : batch) {
      if (query.vector.defined()) continue;
      with_pictures.push_back(&query);
      pictures.push_back(std::move(query.pictures));
    }
    if (pictures.empty()) return;
    const Tensor x =
        embed_queries(*net_, pictures, options_.descriptor, options_.batch);
    for (size_t i = 0; i < with_pictures.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      with_pictures[i]->vector = x.slice(0, row, row + 1);
    }
  }

  /// Queries without a class are searched for together, as far as the one that
  /// wants most: the vectors of a large index are read once for all of them.
  std::vector<Hits> search_all(const std::vector<Query>& batch) const {
    std::vector<Hits> hits(batch.size());
    std::vector<size_t> together;
    std::vector<Tensor> vectors;
    int64_t most = 0;
    for (size_t i = 0; i < batch.size(); ++i) {
      const Query& query = batch[i];
      if (!query.label.empty()) {
        hits[i] = search_class(query);
        continue;
      }
      together.push_back(i);
      vectors.push_back(query.vector);
      most = std::max(most, query.k + (query.exclude >= 0 ? 1 : 0));
    }
    if (together.empty()) return hits;
    std::vector<Hits> found = index_.search(torch::cat(vectors), most);
    for (size_t i = 0; i < together.size(); ++i) {
      hits[together[i]] = first_of(std::move(found[i]), batch[together[i]]);
    }
    return hits;
  }

  Hits search_class(const Query& query) const {
    const auto keep = [this, &query](int64_t position) {
      return position != query.exclude &&
             index_.items().label(position) == query.label;
    };
    return index_.search(query.vector, query.k, keep).front();
  }

  std::unique_ptr<EmbeddingNet> net_;
  StoredIndex index_;
  ServiceOptions options_;
  QueryQueue queue_;
  std::thread thread_;
};

namespace {

/// Calls `submit` with a Done, and waits for that.
template <class Submit>
std::vector<SearchHit> wait_for(const Submit& submit) {
  std::promise<std::vector<SearchHit>> promise;
  submit(
      [&promise](std::vector<SearchHit> hits, const std::exception_ptr& error) {
        if (error) {
          promise.set_exception(error);
        } else {
          promise.set_value(std::move(hits));
        }
      });
  return promise.get_future().get();
}

}  // namespace

SearchService::SearchService(std::unique_ptr<EmbeddingNet> net,
                             StoredIndex index, const ServiceOptions& options)
    : worker_(std::make_unique<Worker>(std::move(net), std::move(index),
                                       options)) {}

SearchService::~SearchService() = default;

void SearchService::submit(const Image& image, int64_t k,
                           const std::string& label, Done done) {
  worker_->queue().check_place();
  Query query;
  query.pictures =
      make_pictures(image, worker_->input(), worker_->options().descriptor);
  query.k = k;
  query.label = label;
  query.done = std::move(done);
  worker_->queue().push(std::move(query));
}

void SearchService::submit_item(int64_t position, int64_t k,
                                const std::string& label, Done done) {
  worker_->queue().check_place();
  Query query;
  const Tensor vector = index().vector(position);
  if (vector.defined()) {
    query.vector = vector.reshape({1, -1});
  } else {
    query.pictures = make_pictures(item_picture(index(), position),
                                   worker_->input(), options().descriptor);
  }
  query.exclude = position;
  query.k = k;
  query.label = label;
  query.done = std::move(done);
  worker_->queue().push(std::move(query));
}

std::vector<SearchHit> SearchService::search(const Image& image, int64_t k,
                                             const std::string& label) {
  return wait_for([&](Done done) { submit(image, k, label, std::move(done)); });
}

std::vector<SearchHit> SearchService::search_item(int64_t position, int64_t k,
                                                  const std::string& label) {
  return wait_for(
      [&](Done done) { submit_item(position, k, label, std::move(done)); });
}

void SearchService::stop() { worker_->stop(); }

const StoredIndex& SearchService::index() const { return worker_->index(); }

const ServiceOptions& SearchService::options() const {
  return worker_->options();
}

ServiceStats SearchService::stats() const { return worker_->queue().stats(); }

}  // namespace kith
