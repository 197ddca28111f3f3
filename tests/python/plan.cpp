#include <iostream>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"
#include "kith/io/tensor_io.h"
#include "kith/samplers/sampler.h"
#include "tests/python/commands.h"

namespace kith {

void print_plan(const Arguments& arguments) {
  if (arguments.size() != 1) throw ConfigError("one argument is needed");
  const auto request = parse_json(read_file(arguments[0], 1 << 20));
  SamplerInput input;
  input.labels = request["labels"].get<std::vector<int64_t>>();
  for (size_t i = 0; i < input.labels.size(); ++i) {
    input.indices.push_back(static_cast<int64_t>(i));
  }
  input.categories = request["categories"].get<std::vector<std::string>>();
  input.seed = request["seed"].get<uint64_t>();
  ConfigNode options = parse_config(request["options"].dump(), "options");
  options.set("name", ConfigNode::text(request["name"].get<std::string>()));
  const auto sampler = sampler_registry().make(options, "sampler", input);
  const int64_t epoch = request["epoch"].get<int64_t>();
  Tensor pool;
  EpochInput now(epoch);
  if (sampler->wants_pool()) {
    pool = load_npy(request["pool"].get<std::string>());
    now.pool = {pool.size(1), pool.data_ptr<float>()};
  }
  std::cout << nlohmann::json(sampler->epoch(now)).dump() << "\n";
}

}  // namespace kith
