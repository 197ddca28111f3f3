#include "kith/run/choose_checkpoint.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <vector>

#include "kith/core/error.h"
#include "kith/core/json.h"
#include "kith/core/options.h"
#include "kith/core/path.h"
#include "kith/core/quote.h"
#include "kith/run/checkpoint.h"
#include "kith/run/detail/stored_json.h"
#include "kith/run/run_folder.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

/// Reads when the weights of a file were as they are. What an older kith wrote
/// of the best checkpoint is in the last one beside it.
void read_point(ChosenCheckpoint& chosen) {
  const auto state_in = [](const std::string& file) {
    const std::string text = read_checkpoint_info(file).progress;
    return text.empty() ? OrderedJson() : parse_json(text);
  };
  try {
    OrderedJson state = state_in(chosen.file);
    if (state.is_null() && chosen.name == "best") {
      const auto run = RunFolder::of_checkpoint(chosen.file);
      if (!run || !path_exists(run->checkpoint("last"))) return;
      state = field(state_in(run->checkpoint("last")), "best");
    }
    if (!state.is_object()) return;
    chosen.epoch = count_of(state.at("epoch"));
    chosen.step = count_of(state.at("step"));
    chosen.within_epoch = count_of(field(state, "step_in_epoch")) > 0;
  } catch (const OrderedJson::exception&) {  // it is not known
  } catch (const ReadError&) {
    throw;
  } catch (const DataError&) {  // who loads the weights says what is wrong
  }
}

/// A file by its name, if it lies in a run.
ChosenCheckpoint of_file(const std::string& file) {
  ChosenCheckpoint chosen{file};
  if (!RunFolder::of_checkpoint(file)) return chosen;
  const std::string name = fs::path(file).stem().string();
  if (name.starts_with("epoch-")) {
    chosen.name = "epoch";
  } else if (name == "best" || name == "last") {
    chosen.name = name;
  } else {
    return chosen;
  }
  read_point(chosen);
  return chosen;
}

/// "last (epoch 20), best (epoch 7), 10, 20", or "none".
std::string list_checkpoints(const RunFolder& folder) {
  std::vector<std::string> found;
  for (const char* which : {"last", "best"}) {
    if (!path_exists(folder.checkpoint(which))) continue;
    const ChosenCheckpoint one = of_file(folder.checkpoint(which));
    found.push_back(
        which + (one.epoch < 0 ? ""
                               : " (epoch " + std::to_string(one.epoch) +
                                     (one.within_epoch ? " and more)" : ")")));
  }
  for (const int64_t epoch : folder.kept_epochs()) {
    found.push_back(std::to_string(epoch));
  }
  return found.empty() ? "none" : join(found);
}

ChosenCheckpoint choose_epoch(const RunFolder& folder, int64_t epoch) {
  if (const std::string own = folder.checkpoint(epoch); path_exists(own)) {
    return of_file(own);
  }
  for (const char* which : {"last", "best"}) {
    const std::string file = folder.checkpoint(which);
    if (!path_exists(file)) continue;
    ChosenCheckpoint chosen = of_file(file);
    if (chosen.epoch == epoch && !chosen.within_epoch) return chosen;
  }
  throw DataError(folder.path() + ": the weights of epoch " +
                  std::to_string(epoch) +
                  " were not kept; there are: " + list_checkpoints(folder) +
                  ". A training with 'train.keep_every' keeps more epochs");
}

std::optional<int64_t> epoch_in(const std::string& which) {
  int64_t epoch = 0;
  const char* end = which.data() + which.size();
  const auto [stop, error] = std::from_chars(which.data(), end, epoch);
  if (error != std::errc() || stop != end || epoch < 0) return {};
  return epoch;
}

/// ConfigError unless a network can be chosen in a folder.
void check_is_run(const std::string& model) {
  const bool has_one_network = !is_folder(RunFolder(model).checkpoints()) &&
                               path_exists(fs::path(model) / kExportedWeights);
  if (is_folder(model) && !has_one_network) return;
  throw ConfigError("option 'checkpoint' chooses one of a run's folder, but " +
                    model + " is not a run: leave it out");
}

}  // namespace

std::string ChosenCheckpoint::text() const {
  if (name.empty()) return file;
  if (name == "epoch") return "checkpoint of epoch " + std::to_string(epoch);
  if (epoch < 0) return name + " checkpoint";
  return name + " checkpoint (" +
         (within_epoch ? "step " + std::to_string(step) + " in epoch " +
                             std::to_string(epoch + 1)
                       : "epoch " + std::to_string(epoch)) +
         (epoch == 0 && !within_epoch ? ", before training)" : ")");
}

std::string ChosenCheckpoint::slug() const {
  if (name.empty()) return "";
  const std::string at = within_epoch ? "step-" + std::to_string(step)
                                      : "epoch-" + std::to_string(epoch);
  if (name == "epoch") return at;
  return epoch < 0 ? name : name + "-" + at;
}

ChosenCheckpoint choose_checkpoint(const std::string& model,
                                   const std::string& which) {
  if (which.empty()) return of_file(find_checkpoint(model));
  const std::optional<int64_t> epoch = epoch_in(which);
  if (!epoch && which != "last" && which != "best") {
    throw ConfigError(
        "option 'checkpoint' must be last, best or the number of an epoch, "
        "got " +
        quote(which));
  }
  check_is_run(model);
  if (!epoch) return of_file(find_checkpoint(model, which));
  if (!is_folder(RunFolder(model).checkpoints())) find_checkpoint(model);
  return choose_epoch(RunFolder(model), *epoch);
}

}  // namespace kith
