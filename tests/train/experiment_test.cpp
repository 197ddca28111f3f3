#include "kith/train/experiment.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/image/encode.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

using Json = nlohmann::json;

Json metrics_of(const std::string& folder) {
  return Json::parse(read_file(folder + "/metrics.json", 1 << 24));
}

TEST(Experiment, ChoosesOnHeldOutClassesAndThenTrainsOnAll) {
  const TempDir folder;
  const RunConfig config = tiny_config(
      {"train.validation=0.5", "sampler.batch=12", "train.epochs=4"});
  const LogCapture log;
  const EvalResult result = train_experiment(config, folder.path(), c10::kCPU,
                                             false, silent_progress());
  // The test split was not used to choose: nothing to warn of.
  EXPECT_TRUE(log.warnings().empty());
  const Json selection = metrics_of(folder.file("selection"));
  EXPECT_EQ(selection.at("split"), "validation");
  EXPECT_EQ(selection.at("best").at("chosen_on"), "validation");
  EXPECT_EQ(selection.at("history").size(), 5u);
  const Json final = metrics_of(folder.path());
  EXPECT_EQ(final.at("split"), "test");
  EXPECT_EQ(final.at("last").at("epoch"), selection.at("best").at("epoch"));
  EXPECT_EQ(final.at("history").size(), 2u);
  EXPECT_EQ(result.parts.at(0).queries, 48);

  // Continued after its end, it says the same.
  const EvalResult again = train_experiment(config, folder.path(), c10::kCPU,
                                            true, silent_progress());
  EXPECT_EQ(again.at("recall_any@1"), result.at("recall_any@1"));
}

TEST(Experiment, SelectionNeedsEvaluations) {
  expect_error<ConfigError>(
      [] {
        tiny_config({"train.validation=0.5", "eval.every=0"});
      },
      "train.validation", "eval.every");
}

TEST(Experiment, ChoosingAloneNeverLooksAtATestImage) {
  // Test images that cannot be read: whoever embeds one fails.
  const TempDir folder;
  const auto glyphs = make_data_set(tiny_config().section("data"));
  std::string list = "path,label,split\n";
  for (size_t i = 0; i < glyphs->list().items.size(); ++i) {
    const Item& item = glyphs->list().items[i];
    const std::string name = std::to_string(i) + ".png";
    if (item.split == Split::kTrain) {
      write_png(folder.file(name), glyphs->load(static_cast<int64_t>(i)));
    } else {
      folder.write(name, "no picture");
    }
    list += name + "," + std::to_string(item.label) + "," +
            split_name(item.split) + "\n";
  }
  const std::string csv = folder.write("dataset.csv", list);
  const auto config = [&](const std::string& final) {
    return tiny_config({"data={name: csv, path: " + csv + "}",
                        "train.validation=0.5", "sampler.batch=12",
                        "train.epochs=1", "train.final=" + final});
  };
  const auto train = [&](const std::string& final) {
    return train_experiment(config(final), folder.file(final), c10::kCPU, false,
                            silent_progress());
  };
  EXPECT_EQ(train("false").parts.at(0).queries, 24);
  EXPECT_EQ(metrics_of(folder.file("false")).at("split"), "validation");
  EXPECT_FALSE(std::filesystem::exists(folder.file("false/selection")));
  expect_error<DataError>([&] { train("true"); }, ".png");
}

TEST(Experiment, TheScheduleIsNotCutShort) {
  const RunConfig config = tiny_config({"train.epochs=10"});
  const RunConfig final = final_config(config, 4);
  EXPECT_EQ(final.train.epochs, 10);
  EXPECT_EQ(final.train.last_epoch(), 4);
  EXPECT_EQ(final.eval.every, 0);
}

TEST(Experiment, WarnsWhenTheBestIsPickedOnTheTestSplit) {
  const auto warnings = [](const std::vector<std::string>& changes) {
    const TempDir folder;
    const RunConfig config = tiny_config(changes);
    const auto data = make_training_data(config);
    const LogCapture log;
    Trainer(config, *data, folder.path(), c10::kCPU, silent_progress());
    return log.warnings();
  };
  ASSERT_EQ(warnings({"eval.every=1"}).size(), 1u);
  EXPECT_NE(warnings({"eval.every=1"})[0].find("picked on the test split"),
            std::string::npos);
  EXPECT_TRUE(warnings({"eval.every=0"}).empty());
  EXPECT_TRUE(
      warnings({"eval.every=1", "train.validation=0.5", "sampler.batch=12"})
          .empty());
}

}  // namespace
}  // namespace kith
