#include "kith/study/config_keys.h"

#include <algorithm>

#include "kith/core/option_info.h"
#include "kith/data/augment.h"
#include "kith/data/data_set.h"
#include "kith/losses/loss.h"
#include "kith/miners/miner.h"
#include "kith/models/backbone.h"
#include "kith/models/embedding_net.h"
#include "kith/models/head.h"
#include "kith/run/run_place.h"
#include "kith/samplers/sampler.h"
#include "kith/study/figure.h"
#include "kith/study/study_keys.h"
#include "kith/train/optimizer.h"
#include "kith/train/run_config.h"
#include "kith/train/schedule.h"

namespace kith {
namespace {

template <class Parts>
ConfigSection section_of_parts(const char* key, const char* about,
                               const Parts& registry) {
  ConfigSection section{key, about, {}, {}, ""};
  for (const auto& [name, entry] : registry.entries()) {
    const std::string part = registry.shape_of(entry);
    section.parts.push_back(
        {name,
         part.empty() ? entry.options()
                      : changed_options(entry.options(),
                                        registry.at(part, "").options()),
         part, entry.aliases});
  }
  return section;
}

/// What a configuration that says nothing of the section has.
std::string usual_part(const ConfigNode& tree, const std::string& key) {
  const ConfigNode* node = &tree;
  for (size_t at = 0; node != nullptr && at <= key.size();) {
    const size_t dot = std::min(key.find('.', at), key.size());
    node = node->is_map() ? node->find(key.substr(at, dot - at)) : nullptr;
    at = dot + 1;
  }
  const ConfigNode* name =
      node != nullptr && node->is_map() ? node->find("name") : nullptr;
  return name == nullptr ? "" : name->scalar;
}

void add_sections_of_study(std::vector<ConfigSection>& all) {
  all.push_back({"study",
                 "Several trainings instead of one: kith sweep runs them.",
                 study_options(),
                 {},
                 ""});
  all.push_back({"study.axes[]",
                 "What differs between the trainings. An axis has `values`: a "
                 "list, or a map from labels to parts of a configuration.",
                 axis_options(),
                 {},
                 ""});
  all.push_back({"study.evaluations[]",
                 "Evaluations that follow each training, as kith eval makes "
                 "them; each needs a `name`.",
                 evaluation_options(),
                 {},
                 ""});
  all.push_back({"study.claims[]",
                 "What the runs are to decide: that `higher`, labels by axis, "
                 "has a larger value than `lower`. Either may be a list of "
                 "two: the first less the second.",
                 claim_options(),
                 {},
                 ""});
  all.push_back({"study.search",
                 "A search for good values before the trainings. It has a "
                 "`space`: a map from keys to lists of values or to ranges.",
                 search_options(),
                 {},
                 ""});
  all.push_back({"study.search.space.KEY",
                 "A range that values are drawn from.",
                 range_options(),
                 {},
                 ""});
  all.push_back(section_of_parts("study.figures[]",
                                 "Figures of the study; each needs a `name`.",
                                 figure_registry()));
}

}  // namespace

std::vector<ConfigSection> configuration_sections() {
  std::vector<ConfigSection> all = {
      section_of_parts("data", "The images; it needs a `name`.",
                       data_set_registry()),
      section_of_parts("sampler", "Which images make a batch.",
                       sampler_registry()),
      section_of_parts("augment[]",
                       "Random changes of the training images, in this order; "
                       "each needs a `name`.",
                       augmentation_registry()),
      {"model", "The network.", option_infos<ModelOptions>(), {}, ""},
      {"model.input",
       "What the network is given.",
       option_infos<InputOptions>(),
       {},
       ""},
      section_of_parts("model.backbone", "From images to features.",
                       backbone_registry()),
      {"model.head",
       "From features to embeddings.",
       option_infos<HeadOptions>(),
       {},
       ""},
      {"model.lora",
       "Adapters of low rank, which train in place of the backbone.",
       option_infos<LoraOptions>(),
       {},
       ""},
      section_of_parts("loss", "What is minimised.", loss_registry()),
      section_of_parts("miner",
                       "Which tuples of a batch the loss is computed on. "
                       "Without the section it is the one that the loss is "
                       "published with; `miner: null` is none.",
                       miner_registry()),
      section_of_parts("optimizer", "How weights are changed.",
                       optimizer_registry()),
      section_of_parts("schedule", "How the rate goes on from epoch to epoch.",
                       schedule_registry()),
      {"train", "The training.", option_infos<TrainOptions>(), {}, ""},
      {"eval",
       "Evaluations during and after it.",
       option_infos<EvalOptions>(),
       {},
       ""},
      {"log", "What is written down.", option_infos<LogOptions>(), {}, ""},
      {"started",
       "Where the run was started, so that its relative paths are found from "
       "elsewhere. kith writes it in a run's configuration.",
       option_infos<RunStart>(),
       {},
       ""}};
  all.front().options = option_infos<DataOptions>();  // of every data set
  ConfigNode least = ConfigNode::map();
  least.set("data", ConfigNode::map()).set("name", ConfigNode::text("glyphs"));
  const ConfigNode tree = complete_config(least).tree;
  for (ConfigSection& section : all) {
    if (section.key == "data" || section.key == "miner") continue;
    section.usual = usual_part(tree, section.key);
  }
  all.push_back({"published",
                 "Numbers that reports show beside the measured ones: any "
                 "metric of `kith list metrics` is a key, with a value in "
                 "percent.",
                 {},
                 {},
                 ""});
  OptionSet published;
  std::string source;
  published.add("source", source, "Where the numbers are printed.");
  all.back().options = infos_of(published);
  add_sections_of_study(all);
  return all;
}

}  // namespace kith
