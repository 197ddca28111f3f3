#include "kith/index/reranker.h"

#include "kith/core/error.h"
#include "kith/core/options.h"

namespace kith {
namespace {

/// {name: k_reciprocal, k1: 30} of "k_reciprocal:k1=30".
ConfigNode rerank_section(const std::string& text, const std::string& where) {
  const size_t colon = text.find(':');
  ConfigNode section = ConfigNode::map();
  for (size_t begin = colon; begin < text.size();) {
    const size_t end = std::min(text.find(',', ++begin), text.size());
    apply_override(section, text.substr(begin, end - begin), where);
    begin = end;
  }
  section.set("name", ConfigNode::text(text.substr(0, colon))).where = where;
  return section;
}

}  // namespace

RerankerRegistry& reranker_registry() {
  static RerankerRegistry registry("reranker");
  return registry;
}

std::string rerank_text(const std::string& name, const ConfigNode& options) {
  std::vector<std::string> words;
  for (const auto& [key, value] : options.entries) {
    if (key != "name") words.push_back(key + "=" + value.scalar);
  }
  return words.empty() ? name : name + ":" + join(words, ",");
}

RerankStep rerank_step(const ConfigNode& section) {
  const ConfigNode all = reranker_registry().complete(section, "rerank");
  return {rerank_text(all.find("name")->scalar, all),
          reranker_registry().make(section, "rerank")};
}

RerankSteps parse_rerank(const std::vector<std::string>& texts,
                         const std::string& where) {
  RerankSteps steps;
  for (const std::string& text : texts) {
    steps.push_back(rerank_step(rerank_section(text, where)));
  }
  order_of(steps);
  return steps;
}

std::string text_of(const RerankSteps& steps) {
  std::vector<std::string> texts;
  for (const RerankStep& step : steps) texts.push_back(step.text);
  return join(texts);
}

const OrderReranker* order_of(const RerankSteps& steps) {
  const OrderReranker* last = nullptr;
  for (size_t i = 0; i < steps.size(); ++i) {
    last = dynamic_cast<const OrderReranker*>(steps[i].part.get());
    if (last == nullptr || i + 1 == steps.size()) continue;
    throw ConfigError("re-ranking " + steps[i].text + " orders items, and " +
                      steps[i + 1].text +
                      " after it would search again: name it last, and only "
                      "one of its kind");
  }
  return last;
}

void check_enough(const RerankStep& step, int64_t others) {
  const int64_t wanted = step.part->neighbours();
  if (wanted <= others) return;
  throw ConfigError("re-ranking " + step.text + " looks at " +
                    std::to_string(wanted) +
                    " neighbours of each item, and there are only " +
                    std::to_string(others) + " others: ask for fewer");
}

}  // namespace kith
