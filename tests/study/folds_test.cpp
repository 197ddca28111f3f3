#include "kith/study/folds.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/io/tensor_io.h"
#include "kith/train/experiment.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

RunConfig fold_config(int fold, const std::vector<std::string>& more = {}) {
  std::vector<std::string> changes = {
      "train.folds=2", "train.fold=" + std::to_string(fold), "train.epochs=2",
      "sampler.batch=12", "eval.metrics=[recall_any@1, map_at_r, spectrum]"};
  changes.insert(changes.end(), more.begin(), more.end());
  return tiny_config(changes);
}

void train_fold(const TempDir& folder, int fold,
                const std::vector<std::string>& more = {}) {
  train_experiment(fold_config(fold, more),
                   folder.file("fold-" + std::to_string(fold)), c10::kCPU,
                   false, silent_progress());
}

nlohmann::json json_in(const std::string& path) {
  return nlohmann::json::parse(read_file(path, 1 << 24));
}

TEST(Folds, EachIsJudgedOnItsOwnClassesAndNoFinalTrainingFollows) {
  const auto one = make_training_data(fold_config(1));
  const auto two = make_training_data(fold_config(2));
  const auto labels = [](const DataSet& data, Split split) {
    return data.list().labels(data.list().of_split(split));
  };
  EXPECT_EQ(labels(*one, Split::kTrain), labels(*two, Split::kValidation));
  EXPECT_EQ(labels(*two, Split::kTrain), labels(*one, Split::kValidation));
  EXPECT_EQ(labels(*one, Split::kTest), labels(*two, Split::kTest));
}

TEST(Folds, AreScoredEachAndConcatenated) {
  const TempDir folder;
  train_fold(folder, 1);
  train_fold(folder, 2);
  EXPECT_EQ(json_in(folder.file("fold-1/metrics.json")).at("split"),
            "validation");
  EXPECT_FALSE(std::filesystem::exists(folder.file("fold-1/selection")));

  const EvalResult result =
      score_folds(folder.path(), c10::kCPU, silent_progress());
  const auto json = json_in(folder.file("metrics.json"));
  EXPECT_EQ(json.at("split"), "test");
  const auto& folds = json.at("folds");
  ASSERT_EQ(folds.size(), 2u);
  for (const char* name : {"recall_any@1", "map_at_r"}) {
    EXPECT_NEAR(
        result.at(std::string("separated/") + name),
        (folds[0].at(name).get<double>() + folds[1].at(name).get<double>()) / 2,
        1e-12);
  }
  EXPECT_EQ(json.at("last").at("metrics").size(), 4u);  // no spectrum

  // Concatenated: similarities are means of those of the networks.
  const Tensor a = load_npy(folder.file("fold-1/test.npy"));
  const Tensor b = load_npy(folder.file("fold-2/test.npy"));
  EXPECT_EQ(a.sizes(), b.sizes());
  Tensor similarity = (a.mm(a.t()) + b.mm(b.t())) / 2;
  similarity.fill_diagonal_(-2);
  const auto data = make_data_set(fold_config(1).section("data"));
  const Tensor labels = torch::tensor(
      data->list().labels(data->list().of_split(Split::kTest)), torch::kLong);
  const Tensor found = labels.index_select(0, similarity.argmax(1));
  EXPECT_NEAR(result.at("concatenated/recall_any@1"),
              found.eq(labels).to(torch::kDouble).mean().item<double>(), 1e-9);
}

TEST(Folds, EmbeddingsAreKept) {
  const TempDir folder;
  train_fold(folder, 1);
  train_fold(folder, 2);
  const EvalResult first =
      score_folds(folder.path(), c10::kCPU, silent_progress());
  // Another network's embeddings: taken as they are.
  std::filesystem::copy_file(folder.file("fold-2/test.npy"),
                             folder.file("fold-1/test.npy"),
                             std::filesystem::copy_options::overwrite_existing);
  const EvalResult second =
      score_folds(folder.path(), c10::kCPU, silent_progress());
  EXPECT_EQ(second.at("separated/map_at_r"),
            second.at("concatenated/map_at_r"));
  // Those of another test split are not.
  save_npy(folder.file("fold-1/test.npy"), torch::ones({3, 2}));
  EXPECT_EQ(score_folds(folder.path(), c10::kCPU, silent_progress())
                .at("separated/map_at_r"),
            first.at("separated/map_at_r"));
}

TEST(Folds, EmbeddingsOfANetworkThatIsGoneAreNotTaken) {
  const TempDir folder;
  train_fold(folder, 1);
  train_fold(folder, 2);
  const EvalResult first =
      score_folds(folder.path(), c10::kCPU, silent_progress());
  const auto trained = json_in(folder.file("metrics.json")).at("trained");
  EXPECT_EQ(trained.size(), 2u);
  // Trained again from another seed, with the embeddings of before left there.
  for (int fold : {1, 2}) {
    const std::string place = folder.file("fold-" + std::to_string(fold));
    std::filesystem::rename(place + "/test.npy", folder.file("kept.npy"));
    std::filesystem::rename(place + "/test.json", folder.file("kept.json"));
    std::filesystem::remove_all(place);
    train_fold(folder, fold, {"train.seed=5"});
    std::filesystem::rename(folder.file("kept.npy"), place + "/test.npy");
    std::filesystem::rename(folder.file("kept.json"), place + "/test.json");
  }
  const EvalResult second =
      score_folds(folder.path(), c10::kCPU, silent_progress());
  EXPECT_NE(second.at("concatenated/map_at_r"),
            first.at("concatenated/map_at_r"));
  EXPECT_NE(json_in(folder.file("metrics.json")).at("trained"), trained);
}

TEST(Folds, MustAllBeThereAndBelongTogether) {
  const TempDir folder;
  const auto score = [&] {
    score_folds(folder.path(), c10::kCPU, silent_progress());
  };
  expect_error<DataError>(score, "fold-1", "no finished training",
                          "train.folds=N");
  train_fold(folder, 1);
  expect_error<DataError>(score, "fold-2", "no finished training");
  train_fold(folder, 2, {"loss.t2=0.5"});
  expect_error<DataError>(score, "fold-2", "'loss.t2'");
}

}  // namespace
}  // namespace kith
