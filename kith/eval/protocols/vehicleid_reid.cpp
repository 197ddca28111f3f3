#include <algorithm>
#include <map>

#include "kith/core/rng.h"
#include "kith/eval/protocol.h"
#include "kith/eval/vehicle_lists.h"

namespace kith {
namespace {

/// Galleries drawn of each list, as published, the same in every evaluation.
constexpr int64_t kDraws = 10;
constexpr uint64_t kSeed = 0;

class VehicleIdReid final : public Protocol {
 public:
  static constexpr const char* kSummary =
      "VehicleID as re-identification: one random image of each vehicle is the "
      "gallery, the rest of the list are queries; mean of ten draws";
  using Options = NoOptions;

  explicit VehicleIdReid(const Options&) {}

  std::vector<EvalTask> tasks(const ImageList& list,
                              Split split) const override {
    std::vector<EvalTask> tasks;
    for (const VehicleList& part :
         vehicle_lists(list, split, "vehicleid_reid")) {
      for (int64_t draw = 0; draw < kDraws; ++draw) {
        tasks.push_back(draw_task(list, part, draw));
      }
    }
    return tasks;
  }

  std::vector<std::string> metrics() const override {
    return {"recall_any@1,5"};
  }

 private:
  /// A vehicle with one image is in the gallery and gives no query.
  static EvalTask draw_task(const ImageList& list, const VehicleList& part,
                            int64_t draw) {
    std::map<int64_t, std::vector<int64_t>> vehicles;
    for (const int64_t i : part.images) {
      vehicles[list.items[static_cast<size_t>(i)].label].push_back(i);
    }
    Rng rng(kSeed, Stream::kProtocol, {part.number, draw});
    EvalTask task;
    task.name = part.name;
    for (const auto& entry : vehicles) {
      const std::vector<int64_t>& images = entry.second;
      const size_t chosen = rng.below(images.size());
      for (size_t i = 0; i < images.size(); ++i) {
        (i == chosen ? task.gallery : task.queries).push_back(images[i]);
      }
    }
    std::sort(task.gallery.begin(), task.gallery.end());
    std::sort(task.queries.begin(), task.queries.end());
    return task;
  }
};

}  // namespace

KITH_REGISTER(protocol_registry(), "vehicleid_reid", VehicleIdReid);

}  // namespace kith
