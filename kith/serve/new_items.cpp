#include "kith/serve/new_items.h"

#include <mutex>
#include <set>
#include <utility>

#include "kith/core/sha256.h"
#include "kith/serve/answers.h"

namespace kith {
namespace {

/// What a picture is called that has no id: by its contents, so that the same
/// picture is not added twice.
std::string usual_id(std::string_view bytes) {
  constexpr size_t kDigits = 16;
  Sha256 sum;
  sum.add(bytes.data(), bytes.size());
  return sum.hex().substr(0, kDigits);
}

/// Items whose pictures are being embedded. The last of these hands the change
/// on; the first that fails answers.
struct NewItems {
  ItemChange change;
  std::function<void(ItemChange)> ready;
  Reply reply;
  std::mutex mutex = {};
  size_t left = 0;
  bool failed = false;

  void fail(HttpResponse response) {
    {
      const std::lock_guard lock(mutex);
      if (std::exchange(failed, true)) return;
    }
    reply(std::move(response));
  }

  void set_vector(size_t i, const Tensor& vector) {
    {
      const std::lock_guard lock(mutex);
      change.items[i].vector = vector;
      if (--left > 0 || failed) return;
    }
    ready(std::move(change));
  }
};

}  // namespace

void embed_new_items(const Call& call,
                     const std::shared_ptr<const HttpRequest>& request,
                     const SentPictures& pictures,
                     std::function<void(ItemChange)> ready, Reply reply) {
  const auto items = std::make_shared<NewItems>();
  items->reply = std::move(reply);
  items->left = pictures.pictures.size();
  items->ready = std::move(ready);
  items->change.kind = call.match.route->kind == RouteKind::kPutItem
                           ? ItemChange::Kind::kPut
                           : ItemChange::Kind::kAdd;
  std::set<std::string> ids;
  for (size_t i = 0; i < pictures.pictures.size(); ++i) {
    NewItem item;
    item.picture = pictures.pictures[i];
    item.id = pictures.ids.empty() ? usual_id(item.picture) : pictures.ids[i];
    if (!pictures.labels.empty()) {
      item.label = pictures.labels[pictures.labels.size() == 1 ? 0 : i];
    }
    if (!ids.insert(item.id).second) {
      return items->fail(error_response(
          409, "two of the pictures have the id '" + item.id + "'",
          "give each an id of its own, and each picture once"));
    }
    items->change.items.push_back(std::move(item));
  }
  SearchService& service = call.index->service();
  // By number: what is ready is handed on, and not there any more, before this
  // ends.
  for (size_t i = 0; i < pictures.pictures.size(); ++i) {
    try {
      Image image;
      if (auto fault =
              decode_sent(pictures.pictures[i], request,
                          service.options().limits, call.deadline, image)) {
        return items->fail(std::move(*fault));
      }
      service.embed(
          image,
          [items, i](const Tensor& vector, const std::exception_ptr& error) {
            if (error) return items->fail(problem_answer(error));
            items->set_vector(i, vector);
          },
          call.deadline);
    } catch (const std::exception&) {
      return items->fail(problem_answer(std::current_exception()));
    }
  }
}

}  // namespace kith
