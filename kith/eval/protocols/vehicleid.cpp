#include "kith/eval/protocol.h"
#include "kith/eval/vehicle_lists.h"

namespace kith {
namespace {

class VehicleId final : public Protocol {
 public:
  static constexpr const char* kSummary =
      "VehicleID: every image of the small, medium and large list is searched "
      "among the others of its list";
  using Options = NoOptions;

  explicit VehicleId(const Options&) {}

  std::vector<EvalTask> tasks(const ImageList& list,
                              Split split) const override {
    std::vector<EvalTask> tasks;
    for (const VehicleList& part : vehicle_lists(list, split, "vehicleid")) {
      tasks.push_back({part.name, part.images, part.images});
    }
    return tasks;
  }

  std::vector<std::string> metrics() const override {
    return {"recall_any@1,5"};
  }
};

}  // namespace

KITH_REGISTER(protocol_registry(), "vehicleid", VehicleId);

}  // namespace kith
