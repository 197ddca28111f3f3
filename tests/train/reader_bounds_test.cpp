// Readers of kith's own files, which may come from elsewhere too: of runs,
// checkpoints and indexes. As tests/io/reader_bounds_test.cpp.

#include "tests/support/reader_bounds.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "kith/core/file.h"
#include "kith/index/faiss_file.h"
#include "kith/index/index_info.h"
#include "kith/index/item_table.h"
#include "kith/index/vector_index.h"
#include "kith/run/checkpoint.h"
#include "kith/run/diagnostics_file.h"
#include "kith/run/eval_metrics.h"
#include "kith/run/run_log.h"
#include "kith/run/run_state.h"
#include "kith/study/results.h"
#include "tests/support/pth_files.h"

namespace kith {
namespace {

using Files = std::vector<HostileFile>;

constexpr size_t kMega = 1'000'000;

/// {"0":0,"1":0,...} without the first brace.
std::string many_keys() {
  return numbered(kMega,
                  [](const std::string& i) { return "\"" + i + "\":0,"; }) +
         "\"\":0}";
}

std::string nested_lists() {
  return std::string(100'000, '[') + std::string(100'000, ']');
}

void read_record(const std::string& path) { read_index_record(path); }

Files index_files() {
  const std::string start =
      R"({"version":1,"kind":"flat","count":9000000000000,"dim":2,"model":"",)"
      R"("model_hash":"","recall":{},"removed":[)";
  return {
      {"index_keys", "i.json", [] { return "{" + many_keys(); }, read_record,
       "no key 'version'"},
      {"index_nested", "i.json", [=] { return start + nested_lists() + "]}"; },
       read_record, "not a JSON object, or one that is too deep"},
      {"index_removed", "i.json",
       [=] {
         std::string ranges;
         for (int64_t i = 0; ranges.size() < kMega; i += 2) {
           const std::string position = std::to_string(i);
           ranges += (i == 0 ? "[" : ",[") + position + "," + position + "]";
         }
         return start + ranges + "]}";
       },
       read_record},
      {"items_of_commas", "i.csv",
       [] { return "path,label\n" + repeated(",", 4 * kMega); },
       [](const std::string& path) { read_items(path); }, "expected 2 columns",
       4},
      {"items_with_own_labels", "i.csv",
       [] {
         return "path,label\n" + numbered(kMega, [](const std::string& i) {
                  return "," + i + "\n";
                });
       },
       [](const std::string& path) { read_items(path); }},
      {"flat_size", "i.index",
       [] {
         return "IxFI" + little_endian<int32_t>(1 << 20) +
                little_endian<int64_t>(int64_t{1} << 40) +
                std::string(16, '\0') + "\1" + std::string(4, '\0') +
                little_endian<uint64_t>(uint64_t{1} << 60);
       },
       [](const std::string& path) { load_vector_index(path); }, "truncated"},
      {"faiss_lists", "i.index",
       [] {
         return "IHNf" + little_endian<int32_t>(4) +
                little_endian<int64_t>(1 << 30) + std::string(16, '\0') + "\1" +
                std::string(4, '\0') +
                little_endian<uint64_t>(uint64_t{1} << 60);
       },
       check_faiss_file, "a list is longer than the file"},
  };
}

void read_log(const std::string& path) { read_run_log(path); }
void go_on_with_log(const std::string& path) { RunLog log(path, 10); }

Files logs() {
  const auto keys = [] { return R"({"kind":"step","step":1,)" + many_keys(); };
  const auto nested = [] {
    return R"({"kind":"step","step":)" + nested_lists() + "}\n";
  };
  const auto steps = [] {
    return repeated("{\"kind\":\"step\",\"step\":1,\"loss\":0}\n", kMega);
  };
  const auto phases = [=] {
    std::string seconds;
    for (int i = 0; i < 100; ++i) {
      seconds += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
    }
    return R"({"kind":"step","step":1,"seconds":{)" + seconds + "}}\n" +
           steps();
  };
  return {
      {"log_keys", "log.jsonl", keys, read_log},
      {"log_nested", "log.jsonl", nested, read_log, "log.jsonl:1"},
      {"log_steps", "log.jsonl", steps, read_log},
      {"log_phases", "log.jsonl", phases, read_log},
      {"log_long_line", "log.jsonl",
       [] { return "{\"kind\":\"" + std::string(6 * kMega, 'x'); }, read_log,
       "more than 4 MiB", 4},
      {"log_metrics", "log.jsonl",
       [] {
         return R"({"kind":"eval","step":1,"metrics":{"metrics":{)" +
                many_keys() + "}}\n";
       },
       read_log},
      {"continued_log_keys", "log.jsonl", [=] { return keys() + "\n"; },
       go_on_with_log},
      {"continued_log_nested", "log.jsonl", nested, go_on_with_log},
  };
}

void read_of_train(const std::string& path) { read_run_metrics(path); }
void read_of_eval(const std::string& path) { read_eval_metrics(path); }
void read_of_diagnostics(const std::string& path) {
  read_near_duplicates(path);
}
void read_of_study(const std::string& path) {
  read_run_result(StudyRun(), std::filesystem::path(path).parent_path());
}

Files metrics() {
  const auto run = [] {
    return R"({"last":null,"history":[{"epoch":1,"step":1,"metrics":{)" +
           many_keys() + "}]}";
  };
  const auto history = [] {
    return R"({"last":null,"history":[)" +
           repeated(R"({"epoch":1,"step":1,"metrics":{}},)", kMega) +
           R"({"epoch":1,"step":1,"metrics":{}}]})";
  };
  const auto nested = [] { return "{\"history\":" + nested_lists() + "}"; };
  return {
      {"metrics_keys", "metrics.json", run, read_of_train},
      {"metrics_history", "metrics.json", history, read_of_train},
      {"metrics_nested", "metrics.json", nested, read_of_train,
       "not the metrics.json"},
      {"eval_metrics_keys", "metrics.json",
       [] { return "{\"protocol\":{}," + many_keys(); }, read_of_eval},
      {"eval_metrics_nested", "metrics.json", nested, read_of_eval,
       "not the metrics.json"},
      {"diagnostics_pairs", "diagnostics.json",
       [] {
         return R"({"near_duplicates":{"count":1,"pairs":[)" +
                repeated("{},", kMega) + "{}]}}";
       },
       read_of_diagnostics},
      {"diagnostics_nested", "diagnostics.json",
       [] { return "{\"near_duplicates\":" + nested_lists() + "}"; },
       read_of_diagnostics, "not the diagnostics.json"},
      {"study_metrics_keys", "metrics.json", run, read_of_study},
      {"study_metrics_nested", "metrics.json", nested, read_of_study,
       "delete the run's folder to train it again"},
  };
}

/// A safetensors file with nothing but this in its metadata.
std::string checkpoint_with(const std::string& key, const std::string& text) {
  const std::string header =
      R"({"__metadata__":{")" + key + R"(":")" + text + "\"}}";
  return little_endian<uint64_t>(header.size()) + header;
}

void read_info(const std::string& path) { read_checkpoint_info(path); }
void read_state(const std::string& path) {
  RunState state;
  state.load(read_file(path, 1 << 24), path);
}

Files checkpoints() {
  const std::string start =
      R"({"epoch":1,"step_in_epoch":0,"step":1,"threads":1,"best":null,)";
  return {
      {"checkpoint_config_too_long", "c.safetensors",
       [] {
         return checkpoint_with("kith.config",
                                "a: [" + repeated("b,", 5 * kMega) + "]");
       },
       read_info, "at most 4194304 are accepted", 8},
      {"checkpoint_config", "c.safetensors",
       [] {
         return checkpoint_with("kith.config",
                                "a: [" + repeated("b,", kMega) + "]");
       },
       read_info, "too large or too deeply nested", 400},
      {"state_nested", "state",
       [=] { return start + "\"history\":" + nested_lists() + "}"; },
       read_state, "the state of the run in it cannot be read"},
      {"state_keys", "state",
       [=] {
         return start + R"("history":[{"epoch":1,"step":1,"metrics":{)" +
                many_keys() + "}]}";
       },
       read_state},
  };
}

Files all_files() {
  Files all;
  for (const Files& files : {index_files(), logs(), metrics(), checkpoints()}) {
    all.insert(all.end(), files.begin(), files.end());
  }
  return all;
}

class OwnReaderBounds : public testing::TestWithParam<HostileFile> {};

TEST_P(OwnReaderBounds, CostIsInProportion) { expect_bounded(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Files, OwnReaderBounds, testing::ValuesIn(all_files()),
                         [](const auto& file) { return file.param.name; });

}  // namespace
}  // namespace kith
