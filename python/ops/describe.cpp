// kith::_describe: losses, miners, samplers and metrics as their describe()
// says them, in JSON. The Python package makes its classes, their signatures
// and their documentation of it.
#include <cstdlib>

#include <cxxabi.h>
#include <nlohmann/json.hpp>
#include <torch/library.h>
#include <torch/torch.h>

#include "kith/core/other_names.h"
#include "kith/eval/metric.h"
#include "kith/losses/loss.h"
#include "kith/miners/miner.h"
#include "kith/samplers/sampler.h"

namespace kith::ops {
namespace {

using Json = nlohmann::ordered_json;

/// A value by the type that `kith list` shows.
Json typed(const ConfigNode& node, const std::string& type) {
  constexpr std::string_view kList = "list of ";
  if (type.starts_with(kList)) {
    Json list = Json::array();
    for (const ConfigNode& item : node.items) {
      list.push_back(typed(item, type.substr(kList.size())));
    }
    return list;
  }
  if (type == "true or false") return node.scalar == "true";
  if (type == "int") return std::stoll(node.scalar);
  if (type == "float") return std::stod(node.scalar);
  return node.scalar;
}

/// "RecallAtK" of kith::RecallAtK.
std::string class_name(const std::type_info& type) {
  char* name = abi::__cxa_demangle(type.name(), nullptr, nullptr, nullptr);
  const std::string full = name == nullptr ? type.name() : name;
  std::free(name);
  const size_t colon = full.rfind(':');
  return colon == std::string::npos ? full : full.substr(colon + 1);
}

template <class Parts>
Json describe_part(const Parts& registry, const std::string& name) {
  const auto& entry = registry.entries().at(name);
  Json options = Json::array();
  for (const OptionInfo& option : entry.options()) {
    options.push_back({{"name", option.name},
                       {"type", option.type},
                       {"default", typed(option.default_value, option.type)},
                       {"allowed", option.constraint},
                       {"help", option.help}});
  }
  return {{"name", name},
          {"class", class_name(*entry.type)},
          {"summary", entry.summary},
          {"formula", entry.facts.formula},
          {"source", entry.facts.source},
          {"cost", entry.facts.cost},
          {"options", options}};
}

template <class Parts>
Json describe_parts(const Parts& registry) {
  Json parts = Json::array();
  for (const std::string& name : registry.names()) {
    parts.push_back(describe_part(registry, name));
  }
  return parts;
}

/// The loss with options as they are or one of them, by name, set; null if it
/// cannot be made so.
std::unique_ptr<Loss> try_loss(const std::string& name, int64_t classes,
                               int64_t dim, const std::string& option = "",
                               const std::string& value = "") {
  ConfigNode node = ConfigNode::map();
  node.set("name", ConfigNode::text(name));
  if (!option.empty()) node.set(option, ConfigNode::text(value));
  LossContext context;
  context.classes = classes;
  context.dim = dim;
  try {
    return loss_registry().make(node, name, context);
  } catch (const ConfigError&) {
  } catch (const c10::ValueError&) {
  }
  return nullptr;
}

/// Whether it has parameters, as it is or with one of its switches turned.
bool may_learn(const std::string& name) {
  const auto learns = [](const std::unique_ptr<Loss>& loss) {
    return loss != nullptr && !loss->named_parameters().is_empty();
  };
  if (learns(try_loss(name, 2, 2))) return true;
  for (const OptionInfo& option : loss_registry().at(name, "").options()) {
    if (option.type != "true or false") continue;
    const bool is_set = option.default_value.scalar == "true";
    if (learns(try_loss(name, 2, 2, option.name, is_set ? "false" : "true"))) {
      return true;
    }
  }
  return false;
}

Json describe_losses() {
  Json losses = Json::array();
  for (const std::string& name : loss_registry().names()) {
    Json loss = describe_part(loss_registry(), name);
    const std::unique_ptr<Loss> example = try_loss(name, 2, 2);
    TORCH_CHECK(example != nullptr, name, " cannot be made");
    loss["miner"] = loss_registry().at(name, "").traits.miner;
    loss["unit"] = example->wants_unit();
    loss["tuples"] = example->tuple_widths();
    loss["database"] = example->takes_database();
    loss["simix"] = example->takes_mixed();
    loss["parameters"] = example->named_parameters().keys();
    loss["learns"] = may_learn(name);
    loss["needs_classes"] = try_loss(name, 0, 2) == nullptr;
    loss["needs_dim"] = try_loss(name, 2, 0) == nullptr;
    losses.push_back(loss);
  }
  return losses;
}

/// {"loss": {"TripletMarginLoss": "triplet_all, triplet"}}
Json describe_other_names() {
  Json names = Json::object();
  for (const OtherName& other : other_names()) {
    names[other.kind].emplace(other.name, other.kith);
  }
  return names;
}

std::string describe() {
  Json metrics = Json::array();
  for (const auto& [name, entry] : metric_registry().entries()) {
    metrics.push_back({{"name", name}, {"summary", entry.summary}});
  }
  return Json{{"version", KITH_VERSION},
              {"losses", describe_losses()},
              {"miners", describe_parts(miner_registry())},
              {"samplers", describe_parts(sampler_registry())},
              {"metrics", metrics},
              {"other_names", describe_other_names()}}
      .dump();
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(kith, m) { m.def("_describe() -> str", describe); }

}  // namespace kith::ops
