#pragma once

#include <string>

#include "kith/core/config.h"

namespace kith {

/// A network of another library's that kith has too.
struct PublishedName {
  std::string library;  ///< "timm" or "torchvision"
  std::string name;     ///< There; here a name or an alias of the registry.
  /// What timm calls its first convolution and its classifier.
  std::string first_conv = {};
  std::string classifier = {};
  /// What the network is made with there so that it is kith's (a map).
  ConfigNode arguments = ConfigNode::map();
};

/// Kept by the backbone's own file:
///
///     const bool resnet18_added = add_published_name(
///         {"timm", "resnet18", "conv1", "fc"});
bool add_published_name(PublishedName name);

/// The backbone that timm means by a name: a section with the name, and what
/// timm has otherwise there (add_timm_difference()).
ConfigNode timm_section(const std::string& name);

/// The network of another library that computes what that of a complete
/// `model.backbone` section does. Options that matter in training alone, and
/// those that weights make up for (the grid of positions, how it is
/// interpolated, a projection), do not count. ConfigError, with the option in
/// which the nearest network differs, if there is none.
PublishedName published_name(const ConfigNode& backbone);

}  // namespace kith
