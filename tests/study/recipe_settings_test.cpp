// The configurations in recipes/ have the published settings.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/study/recipe_runs.h"

namespace kith {
namespace {

void expect_values(
    const RunConfig& config,
    const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [path, value] : values) {
    EXPECT_EQ(value_at(config, path), value) << path;
  }
}

// Patel et al., CVPR 2022, section 4.2.
TEST(Recipes, HaveThePublishedSettings) {
  const RunConfig cars = load_recipe("rsk/cars196_resnet50.yaml");
  expect_values(cars, {{"data.name", "cars196"},
                       {"sampler.batch", "392"},
                       {"sampler.per_class", "4"},
                       {"model.bn", "stats"},
                       {"model.input.size", "224"},
                       {"model.input.resize", "256"},
                       {"model.backbone.name", "resnet50"},
                       {"model.head.dim", "512"},
                       {"model.head.pooling", "gem"},
                       {"model.head.gem_p", "3"},
                       {"model.head.layer_norm", "before"},
                       {"loss.name", "recall_at_k"},
                       {"loss.t1", "1"},
                       {"loss.t2", "0.01"},
                       {"loss.k", "[]"},
                       {"miner", "~"},
                       {"optimizer.name", "adam"},
                       {"optimizer.lr", "1e-04"},
                       {"optimizer.weight_decay", "4e-04"},
                       {"schedule.name", "step"},
                       {"schedule.milestones", "[80, 140]"},
                       {"schedule.gamma", "0.3"},
                       {"train.epochs", "170"}});
  EXPECT_EQ(cars.published.front().second, 80.7);
  const ConfigNode& augment = *cars.tree.find("augment");
  ASSERT_EQ(augment.items.size(), 2u);
  EXPECT_EQ(augment.items[0].find("name")->scalar, "random_resized_crop");
  EXPECT_EQ(augment.items[1].find("name")->scalar, "flip");

  expect_values(load_recipe("rsk/cub200_resnet50_simix.yaml"),
                {{"sampler.batch", "400"},
                 {"schedule.milestones", "[10, 20, 30]"},
                 {"train.epochs", "40"},
                 {"published.recall_any@1", "69.5"}});
  expect_values(load_recipe("rsk/sop_vit_b_16.yaml"),
                {{"sampler.batch", "4000"},
                 {"train.sub_batch", "200"},
                 {"model.backbone.name", "vit_b_16"},
                 {"model.head.pooling", "class_token"},
                 {"optimizer.name", "adamw"},
                 {"optimizer.lr", "5e-05"},
                 {"optimizer.weight_decay", "4e-04"},
                 {"published.recall_any@1000", "99.6"}});
}

// Patel et al., CVPR 2022, sections 4.2 and 4.3.
TEST(Recipes, OfLandmarksHaveThePublishedSettings) {
  expect_values(load_recipe("rsk/gldv1_resnet101.yaml"),
                {{"data.name", "gldv1"},
                 {"sampler.batch", "4096"},
                 {"sampler.per_class", "4"},
                 {"model.backbone.name", "resnet101"},
                 {"model.input.long_side", "1024"},
                 {"model.head.dim", "2048"},
                 {"model.head.layer_norm", "none"},
                 {"model.head.init", "pair_whitening"},
                 {"loss.k", "[1, 2, 4]"},
                 {"optimizer.lr", "5e-07"},
                 {"optimizer.gem_lr", "10"},
                 {"optimizer.decay_gem", "false"},
                 {"schedule.name", "exponential"},
                 {"train.steps", "500"},
                 {"eval.split", "validation"},
                 {"eval.protocol", "listed"}});
  expect_values(load_recipe("rsk/gldv1_resnet101_simix.yaml"),
                {{"loss.k", "[1, 2, 4, 8]"}});
  expect_values(load_recipe("rsk/gldv1_resnet101_sap.yaml"),
                {{"loss.name", "smooth_ap"}});
  expect_values(load_recipe("rsk/gldv1_resnet101_ap.yaml"),
                {{"loss.name", "ap_quantised"}, {"model.head.dim", "0"}});
  // The whole table is of the same trainings.
  EXPECT_EQ(value_at(load_row("rsk/landmarks_table3.yaml", {"RS@k + SiMix"}),
                     "loss.k"),
            "[1, 2, 4, 8]");
}

// Patel et al., CVPR 2022, Table 3 and the supplement's Tables I and II: what
// is printed as a mean is the mean of what is printed.
TEST(Recipes, PublishedAveragesAreThoseOfTheirColumns) {
  int averages = 0;
  for (const char* file :
       {"rsk/landmarks_table3.yaml", "rsk/supplement_table2.yaml"}) {
    const Study study = load_study(kRecipes + "/" + file);
    for (const PublishedRow& row : study.published) {
      for (const StudyAverage& average : study.averages) {
        double sum = 0;
        for (const std::string& metric : average.metrics) {
          sum += row.percent.at(metric);
        }
        EXPECT_NEAR(row.percent.at(average.name),
                    sum / static_cast<double>(average.metrics.size()), 0.0501)
            << file << " " << average.name << " " << row.labels[0];
        ++averages;
      }
    }
  }
  EXPECT_EQ(averages, 2 * 3 + 9);
}

// Lim et al., CVPR 2022, supplement, Table 3.
TEST(Recipes, OfHistHaveThePublishedSettings) {
  expect_values(load_recipe("hist/cub200_resnet50.yaml"),
                {{"data.name", "cub200"},
                 {"sampler.name", "uniform"},
                 {"sampler.batch", "32"},
                 {"model.bn", "all"},
                 {"model.head.dim", "512"},
                 {"model.head.pooling", "max_average"},
                 {"model.head.init", "he_normal"},
                 {"model.head.layer_norm", "after"},
                 {"model.head.layer_norm_affine", "false"},
                 {"model.head.l2", "false"},
                 {"loss.name", "hist"},
                 {"loss.tau", "32"},
                 {"loss.alpha", "1.1"},
                 {"loss.hidden", "512"},
                 {"loss.lr_distributions", "0.1"},
                 {"loss.lr_hgnn", "6e-04"},
                 {"optimizer.name", "adam"},
                 {"optimizer.lr", "0.00012"},
                 {"optimizer.weight_decay", "5e-05"},
                 {"schedule.gamma", "0.5"},
                 {"schedule.milestones", "[5, 10, 15, 20, 25, 30, 35]"},
                 {"loss.decay", "true"},
                 {"train.epochs", "40"},
                 {"train.head_epochs", "1"},  // before the others
                 {"published.recall_any@1", "71.4"}});
  expect_values(load_recipe("hist/cars196_resnet50.yaml"),
                {{"loss.alpha", "0.9"},
                 {"loss.lr_hgnn", "0.001"},
                 {"optimizer.weight_decay", "1e-04"},
                 {"train.epochs", "50"},
                 {"published.recall_any@8", "97.8"}});
  expect_values(load_recipe("hist/sop_resnet50.yaml"),
                {{"model.bn", "train"},
                 {"loss.tau", "16"},
                 {"loss.alpha", "2"},
                 {"loss.lr_distributions", "0.01"},
                 {"train.epochs", "60"},
                 {"published.recall_any@1000", "98.9"}});
}

// Roth et al., ICML 2020, supplement, section A.
TEST(Recipes, OfTheStudyHaveThePublishedSettings) {
  expect_values(load_row("revisiting/table4_cub200.yaml", {"R-Margin (D) 1.2"}),
                {{"sampler.name", "spc"},
                 {"sampler.batch", "112"},
                 {"sampler.per_class", "2"},
                 {"model.bn", "stats"},
                 {"model.head.dim", "128"},
                 {"model.head.pooling", "average"},
                 {"model.head.l2", "true"},
                 {"loss.beta", "1.2"},
                 {"loss.margin", "0.2"},
                 {"loss.beta_per_class", "true"},
                 {"loss.count", "triplets"},
                 {"loss.lr", "5e-04"},
                 {"miner.upper_cutoff", "0"},
                 {"miner.name", "rho_distance"},
                 {"miner.p_switch", "0.35"},
                 {"optimizer.lr", "1e-05"},
                 {"optimizer.weight_decay", "4e-04"},
                 {"optimizer.decay_norms", "true"},
                 {"loss.decay", "false"},  // of the network alone
                 {"schedule.name", "constant"},
                 {"train.epochs", "150"}});
  // As in the published code, which common/study.yaml says.
  expect_values(load_row("revisiting/table4_cub200.yaml", {"ArcFace"}),
                {{"loss.clamp", "true"}});
  expect_values(load_row("revisiting/table6_sop.yaml", {"MultiSimilarity"}),
                {{"loss.reduction", "anchors"}});
  expect_values(load_row("revisiting/table7_cub200_samplers.yaml",
                         {"MultiSimilarity", "GC"}),
                {{"loss.reduction", "anchors"}});
  expect_values(load_row("revisiting/table6_sop.yaml", {"Histogram"}),
                {{"loss.bins", "11"}, {"train.epochs", "100"}});
  expect_values(load_row("revisiting/table5_cars196.yaml", {"NPair"}),
                {{"model.head.l2", "false"},
                 {"loss.l2", "0.005"},
                 {"loss.penalty", "norm"}});
  expect_values(load_row("revisiting/table5_cars196.yaml", {"Triplet (D)"}),
                {{"loss.squared", "true"}});
  expect_values(
      load_row("revisiting/table8_cars196_samplers.yaml", {"Softmax", "FRD"}),
      {{"sampler.name", "frechet"},
       {"loss.temperature", "0.05"},
       {"loss.decay", "false"}});
}

// Cakir et al., CVPR 2019, supplement.
TEST(Recipes, OfFastApHaveThePublishedSettings) {
  expect_values(load_row("fastap/sop.yaml", {"hard", "ResNet-50"}),
                {{"sampler.name", "category_hard"},
                 {"sampler.batch", "96"},
                 {"sampler.batches_per_pair", "5"},
                 {"loss.name", "fast_ap"},
                 {"loss.num_bins", "10"},
                 {"train.epochs", "50"}});
  expect_values(load_row("fastap/inshop.yaml", {"random", "ResNet-18"}),
                {{"sampler.name", "whole_classes"},
                 {"sampler.batch", "256"},
                 {"eval.protocol", "inshop"}});
  expect_values(load_row("fastap/vehicleid.yaml", {"hard", "GoogLeNet"}),
                {{"sampler.batch", "320"},
                 {"model.backbone.name", "inception_v1"},
                 {"eval.protocol", "vehicleid"}});
}

// Lim et al., CVPR 2022, supplement, Table 2 and Tables 6 to 11.
TEST(Recipes, OfHistsTablesHaveThePublishedSettings) {
  expect_values(load_recipe("hist/sop_bn_inception.yaml"),
                {{"model.bn", "train"},
                 {"model.backbone.name", "bn_inception"},
                 {"loss.tau", "16"},
                 {"loss.alpha", "1.6"},
                 {"optimizer.name", "adamw"},
                 {"optimizer.lr", "1e-04"},
                 {"optimizer.weight_decay", "1e-04"},
                 {"train.epochs", "60"}});
  expect_values(load_row("hist/table11.yaml", {"Cars196", "256"}),
                {{"data.name", "cars196"},
                 {"model.input.size", "256"},
                 {"loss.alpha", "0.9"},
                 {"train.epochs", "50"}});
  expect_values(load_row("hist/table6.yaml", {"CUB200", "balanced"}),
                {{"sampler.name", "class_balanced"},
                 {"sampler.batch", "32"},
                 {"sampler.per_class", "4"},
                 {"loss.tau", "32"}});
  EXPECT_EQ(load_study(kRecipes + "/hist/table8.yaml").folds, 4);
}

TEST(Recipes, ReferenceOnCars) {
  expect_values(load_recipe("cars196_mobilenet.yaml"),
                {{"data.name", "csv"},
                 {"sampler.batch", "392"},
                 {"model.backbone.name", "mobilenet_v2"},
                 {"model.bn", "stats"},
                 {"model.precision", "bf16"},
                 {"optimizer.lr", "3e-04"},
                 {"schedule.milestones", "[10.3, 18]"},
                 {"train.epochs", "22"},
                 {"eval.every", "6"}});
}

}  // namespace
}  // namespace kith
