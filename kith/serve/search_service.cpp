#include "kith/serve/search_service.h"

#include <algorithm>
#include <future>
#include <map>
#include <thread>
#include <utility>

#include <torch/torch.h>

#include "kith/index/search_reranked.h"
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
  Worker(std::unique_ptr<EmbeddingNet> net, ServiceOptions options)
      : net_(std::move(net)),
        network_(*net_),
        options_(std::move(options)),
        queue_(options_) {
    options_.descriptor.check(net_->backbone());
    net_->eval();
    thread_ = std::thread([this] { work(); });
  }
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const ServiceOptions& options() const { return options_; }
  const InputOptions& input() const { return net_->input(); }
  int64_t dim() const { return options_.descriptor.dim_of(net_->dim()); }

  QueryQueue& queue() { return queue_; }

  void stop() {
    queue_.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  /// What is told to each query of a batch.
  struct Outcome {
    Hits hits = {};
    std::exception_ptr error = {};
  };

  void work() {
    while (true) {
      std::vector<Query> batch = queue_.take();
      if (batch.empty()) break;
      drop_late(batch);
      std::vector<Outcome> outcomes(batch.size());
      try {
        embed_pictures_of(batch);
        search_all(batch, outcomes);
      } catch (const std::exception&) {
        for (Outcome& each : outcomes) each.error = std::current_exception();
      }
      for (size_t i = 0; i < batch.size(); ++i) {
        tell(batch[i], std::move(outcomes[i]));
      }
    }
    const auto stops =
        std::make_exception_ptr(BusyError("the search service stops"));
    for (const Query& query : queue_.take_rest()) tell(query, {{}, stops});
  }

  /// Nobody waits for their answers any more.
  static void drop_late(std::vector<Query>& batch) {
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(batch, [now](const Query& query) {
      if (query.deadline > now) return false;
      const BusyError late("the search waited too long for its turn");
      tell(query, {{}, std::make_exception_ptr(late)});
      return true;
    });
  }

  static void tell(const Query& query, Outcome outcome) {
    if (!query.embedded) {
      return query.done(std::move(outcome.hits), outcome.error);
    }
    query.embedded(outcome.error ? Tensor() : query.vector[0].clone(),
                   outcome.error);
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
        embed_queries(network_, pictures, options_.descriptor, options_.batch);
    for (size_t i = 0; i < with_pictures.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      with_pictures[i]->vector = x.slice(0, row, row + 1);
    }
  }

  /// One index after the other; what is wrong with one does not matter to those
  /// who search another.
  void search_all(const std::vector<Query>& batch,
                  std::vector<Outcome>& outcomes) const {
    std::map<const StoredIndex*, std::vector<size_t>> by_index;
    for (size_t i = 0; i < batch.size(); ++i) {
      if (batch[i].index) by_index[batch[i].index.get()].push_back(i);
    }
    for (const auto& [index, which] : by_index) {
      try {
        search_one(*index, batch, which, outcomes);
      } catch (const std::exception&) {
        for (const size_t i : which) {
          outcomes[i] = {{}, std::current_exception()};
        }
      }
    }
  }

  /// Queries without a class are searched for together, as far as the one that
  /// wants most: the vectors of a large index are read once for all of them.
  /// With re-ranking each is searched for by itself.
  void search_one(const StoredIndex& index, const std::vector<Query>& batch,
                  const std::vector<size_t>& which,
                  std::vector<Outcome>& outcomes) const {
    std::vector<size_t> together;
    std::vector<Tensor> vectors;
    int64_t most = 0;
    for (const size_t i : which) {
      const Query& query = batch[i];
      if (!query.label.empty() || !options_.rerank.empty()) {
        outcomes[i].hits = search_alone(index, query);
        continue;
      }
      together.push_back(i);
      vectors.push_back(query.vector);
      most = std::max(most, query.k + (query.exclude >= 0 ? 1 : 0));
    }
    if (together.empty()) return;
    std::vector<Hits> found = index.search(torch::cat(vectors), most);
    for (size_t i = 0; i < together.size(); ++i) {
      outcomes[together[i]].hits =
          first_of(std::move(found[i]), batch[together[i]]);
    }
  }

  Hits search_alone(const StoredIndex& index, const Query& query) const {
    std::function<bool(int64_t)> keep;
    if (!query.label.empty() || query.exclude >= 0) {
      keep = [&index, &query](int64_t position) {
        return position != query.exclude &&
               (query.label.empty() ||
                index.items().label(position) == query.label);
      };
    }
    return search_reranked(index, query.vector, query.k, options_.rerank, keep)
        .front();
  }

  std::unique_ptr<EmbeddingNet> net_;
  ReplayedForward network_;
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
                             const ServiceOptions& options)
    : worker_(std::make_unique<Worker>(std::move(net), options)) {}

SearchService::~SearchService() = default;

void SearchService::check_fits(const StoredIndex& index) const {
  check_rerank(options().rerank, index);
  if (worker_->dim() == index.dim()) return;
  throw ConfigError("the model's embeddings have " +
                    std::to_string(worker_->dim()) +
                    " dimensions, the index's " + std::to_string(index.dim()) +
                    ": take the model that the index was made with (" +
                    index.info().model + "), or make the index anew");
}

void SearchService::submit(SharedIndex index, const Image& image, int64_t k,
                           const std::string& label, Done done,
                           Deadline deadline) {
  worker_->queue().check_place();
  Query query;
  query.index = std::move(index);
  query.pictures =
      make_pictures(image, worker_->input(), worker_->options().descriptor);
  query.k = k;
  query.label = label;
  query.done = std::move(done);
  query.deadline = deadline;
  worker_->queue().push(std::move(query));
}

void SearchService::submit_item(SharedIndex index, const ItemPlace& item,
                                int64_t k, const std::string& label, Done done,
                                Deadline deadline) {
  worker_->queue().check_place();
  Query query;
  const Tensor vector = index->vector(item.position);
  if (vector.defined()) {
    query.vector = vector.reshape({1, -1});
  } else {
    query.pictures = make_pictures(item_picture(item, deadline),
                                   worker_->input(), options().descriptor);
  }
  query.index = std::move(index);
  query.exclude = item.position;
  query.k = k;
  query.label = label;
  query.done = std::move(done);
  query.deadline = deadline;
  worker_->queue().push(std::move(query));
}

void SearchService::embed(const Image& image, Embedded done,
                          Deadline deadline) {
  worker_->queue().check_place();
  Query query;
  query.pictures =
      make_pictures(image, worker_->input(), worker_->options().descriptor);
  query.embedded = std::move(done);
  query.deadline = deadline;
  worker_->queue().push(std::move(query));
}

std::vector<SearchHit> SearchService::search(const SharedIndex& index,
                                             const Image& image, int64_t k,
                                             const std::string& label) {
  return wait_for(
      [&](Done done) { submit(index, image, k, label, std::move(done)); });
}

std::vector<SearchHit> SearchService::search_item(const SharedIndex& index,
                                                  const ItemPlace& item,
                                                  int64_t k,
                                                  const std::string& label) {
  return wait_for(
      [&](Done done) { submit_item(index, item, k, label, std::move(done)); });
}

void SearchService::stop() { worker_->stop(); }

const ServiceOptions& SearchService::options() const {
  return worker_->options();
}

ServiceStats SearchService::stats() const { return worker_->queue().stats(); }

}  // namespace kith
