#pragma once

#include <string>
#include <utility>

#include "kith/core/config.h"
#include "kith/core/error.h"
#include "kith/core/options.h"

namespace kith {

/// The section `started` of a run's configuration, which a training
/// writes: from where its relative paths are meant, so that the run can be used
/// from any folder. Those paths are `data.path`, `model.weights` and
/// `train.init_from`.
struct RunStart {
  std::string folder;  ///< Relative paths begin here; absolute itself.
  std::string out;     ///< The run's folder, from there or absolute.

  void describe(OptionSet& set);
};

/// Writes the section for a run in the folder `out`. One that is there keeps
/// its `folder`: the paths beside it are meant from there.
void record_start(ConfigNode& config, const std::string& out);

/// Takes the section out, for what is given to others.
void forget_start(ConfigNode& config);

/// For a configuration that was read from a run, its checkpoint or its
/// config.yaml, at `place`: if the run was moved together with its data, which
/// are no longer where they were, paths begin where they do now. Says so.
void follow_run(ConfigNode& config, const std::string& place);

/// A path of a configuration that leads nowhere.
class MissingPath : public DataError {
 public:
  MissingPath(std::string key, const std::string& message)
      : DataError(message), key_(std::move(key)) {}

  /// Of the configuration: "data.path".
  const std::string& key() const { return key_; }

 private:
  std::string key_;
};

/// The path of a configuration as it can be opened now: as it stands if it is
/// absolute, if nothing is known of a start or if the start was here.
/// Otherwise from where the run was started, or, with a line in the log, from
/// here if it is only here. MissingPath, with all places, if it is nowhere.
std::string run_path(const ConfigNode& config, const std::string& key,
                     const std::string& path);

/// ConfigError if the data set of a configuration is one of its user's own,
/// which a program made in C++.
void refuse_own_data(const ConfigNode& config);

/// The section `data` with its path as run_path() gives it.
ConfigNode run_data(const ConfigNode& config);

}  // namespace kith
