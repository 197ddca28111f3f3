#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "kith/core/config.h"
#include "kith/core/options.h"

namespace kith {

/// The config.json of a network published for Hugging Face's transformers. Of
/// one with text and pictures it is the part about pictures.
class PublishedConfig {
 public:
  /// `object` outlives this; `path` is for errors.
  PublishedConfig(const std::string& path, const nlohmann::ordered_json& object)
      : path_(path), object_(object) {}

  /// The value of a key, or `other` if it is not there or null. DataError that
  /// names file, key and type if it is of another type.
  int64_t integer(const std::string& key, int64_t other) const;
  double number(const std::string& key, double other) const;
  bool truth(const std::string& key, bool other) const;
  std::string text(const std::string& key, const std::string& other) const;
  std::vector<int64_t> integers(const std::string& key,
                                const std::vector<int64_t>& other) const;
  std::vector<double> numbers(const std::string& key,
                              const std::vector<double>& other) const;

  /// Whether the key is there and not null.
  bool has(const std::string& key) const { return find(key) != nullptr; }

  /// The object or other value of a key; nullptr if it is not there or null.
  const nlohmann::ordered_json* find(const std::string& key) const;

  /// DataError if a key is there with another value than the one that kith's
  /// network has.
  void require_text(const std::string& key, const std::string& value) const;
  void require_truth(const std::string& key, bool value) const;

  const std::string& path() const { return path_; }
  const nlohmann::ordered_json& object() const { return object_; }

 private:
  [[noreturn]] void refuse(const std::string& key, const char* type) const;

  const std::string& path_;
  const nlohmann::ordered_json& object_;
};

/// A `model.backbone` section.
template <class Options>
ConfigNode backbone_section(const std::string& name, const Options& options) {
  ConfigNode section = ConfigNode::map();
  section.set("name", ConfigNode::text(name));
  merge_config(section, write_options(options));
  return section;
}

/// A JSON file that comes with published weights. DataError if it is not there,
/// larger than such files are, or no JSON object.
nlohmann::ordered_json read_published_json(const std::string& path);

/// Makes the `model.backbone` section (name and options) of such a network.
using PublishedReader = ConfigNode (*)(const PublishedConfig& config);

/// Says who reads the configurations of a `model_type`. Kept by the backbone's
/// own file:
///
///     const bool dinov2_added = add_published_reader("dinov2", read_dinov2);
bool add_published_reader(const std::string& model_type,
                          PublishedReader reader);

/// Says in what timm's network differs from the one that kith has under the
/// same name: a folder of timm's then means timm's. Kept by the backbone's own
/// file.
bool add_timm_difference(const std::string& backbone, ConfigNode options);

/// Null if there is none.
ConfigNode timm_difference(const std::string& backbone);

/// DataError if nobody reads this model_type; it names those that are read.
ConfigNode read_published(const std::string& model_type,
                          const PublishedConfig& config);

}  // namespace kith
