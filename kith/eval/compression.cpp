#include "kith/eval/compression.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/distributed/communicator.h"
#include "kith/eval/embedded_split.h"

namespace kith {
namespace {

/// Rows that are made smaller at a time.
constexpr int64_t kCompressedRows = 65536;

std::vector<std::string> split_at(const std::string& text, char mark) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == mark) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Of "pq:16:6".
std::shared_ptr<Compression> make_step(const std::string& text) {
  const std::vector<std::string> words = split_at(text, ':');
  const std::string where = "option 'compress'";
  const auto& entry = compression_registry().at(words[0], where);
  const std::vector<OptionInfo> options = entry.options();
  if (words.size() - 1 > options.size()) {
    throw ConfigError(where + ": '" + text + "' has " +
                      std::to_string(words.size() - 1) + " numbers, but " +
                      words[0] + " takes " + std::to_string(options.size()) +
                      " (see: kith list compressions)");
  }
  ConfigNode node = ConfigNode::map();
  node.set("name", ConfigNode::text(words[0]));
  for (size_t i = 1; i < words.size(); ++i) {
    node.set(options[i - 1].name, ConfigNode::text(words[i]));
    node.find(options[i - 1].name)->where = where;
  }
  return compression_registry().make(node, words[0]);
}

/// What `f` makes of rows on the CPU, some at a time, where they are.
template <class F>
Tensor on_cpu(const Tensor& rows, const F& f) {
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> parts;
  for (const Tensor& part : rows.split(kCompressedRows)) {
    parts.push_back(f(part.cpu().to(torch::kFloat).contiguous()));
  }
  return torch::cat(parts).to(rows.device());
}

}  // namespace

CompressionRegistry& compression_registry() {
  static CompressionRegistry registry("compression");
  return registry;
}

CompressedForm::CompressedForm(const std::string& text) : name_(text) {
  for (const std::string& step : split_at(text, '+')) {
    if (!steps_.empty() && steps_.back()->is_code()) {
      throw ConfigError("option 'compress': '" + text +
                        "' has a step behind a code: float16, int8, binary "
                        "and pq come last");
    }
    steps_.push_back(make_step(step));
  }
}

bool CompressedForm::learns() const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [](const auto& step) { return step->learns(); });
}

int64_t CompressedForm::bytes(int64_t dim) const {
  int64_t bits = 32 * dim;
  for (const auto& step : steps_) {
    const int64_t after = step->dim(dim);
    bits = step->bits(dim);
    dim = after;
  }
  return (bits + 7) / 8;
}

void CompressedForm::learn(const Tensor& rows, uint64_t seed,
                           Communicator& ranks) {
  Tensor before = rows.cpu().to(torch::kFloat).contiguous();
  for (const auto& step : steps_) {
    if (step->learns()) step->learn(before, seed);
    for (Tensor learnt : step->learnt()) {
      if (!ranks.is_alone()) ranks.broadcast(learnt);
    }
    before = step->queries(before);
  }
}

Tensor CompressedForm::queries(const Tensor& rows) const {
  return on_cpu(rows, [&](Tensor x) {
    for (const auto& step : steps_) x = step->queries(x);
    return x;
  });
}

Tensor CompressedForm::items(const Tensor& rows) const {
  return on_cpu(rows, [&](Tensor x) {
    for (const auto& step : steps_) x = step->items(x);
    return x;
  });
}

EmbeddedSplit CompressedForm::apply(const EmbeddedSplit& split) const {
  EmbeddedSplit result = split;
  result.embeddings = queries(split.embeddings);
  result.items = items(split.embeddings);
  return result;
}

Scored CompressedForm::apply(Scored scored) const {
  const Rows whole = scored.gallery.defined() ? scored.gallery : scored.queries;
  if (!scored.gallery.defined()) {
    scored.gallery_labels = scored.query_labels;
    if (!scored.self.defined()) {
      scored.self = torch::arange(whole.count(), torch::kLong);
    }
  }
  const auto changed = [](const Rows& rows, auto change) -> Rows {
    const Tensor all = rows.in_memory();
    if (all.defined()) return change(all);
    return rows_from(rows.count(), change(rows.read(0, 1)).size(1),
                     [rows, change](int64_t first, int64_t count) {
                       return change(rows.read(first, count)).cpu();
                     })
        .on(rows.device());
  };
  scored.gallery =
      changed(whole, [this](const Tensor& rows) { return items(rows); });
  scored.queries = changed(
      scored.queries, [this](const Tensor& rows) { return queries(rows); });
  return scored;
}

}  // namespace kith
