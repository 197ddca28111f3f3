// `kith list`, and the help and errors of the program as a whole.

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/core/file.h"
#include "tests/cli/run_program.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

TEST(ListCommand, ListsEveryKind) {
  for (const std::string kind :
       {"losses", "miners", "samplers", "backbones", "datasets",
        "augmentations", "corruptions", "optimizers", "schedules", "metrics",
        "protocols", "compressions", "figures", "indexes", "rerankers"}) {
    SCOPED_TRACE(kind);
    const Json json = Json::parse(expect_success({"list", kind, "--json"}).out);
    ASSERT_EQ(json.size(), 1u);
    ASSERT_FALSE(json.at(kind).empty());
    for (const Json& part : json.at(kind)) {
      EXPECT_NE(part.at("name"), "");
      EXPECT_NE(part.at("summary"), "");
      for (const Json& option : part.at("options")) {
        EXPECT_NE(option.at("help"), "") << option;
        EXPECT_NE(option.at("type"), "") << option;
        EXPECT_TRUE(option.contains("default")) << option;
      }
    }
  }
}

TEST(ListCommand, ShowsOptionsAndDefaults) {
  const std::string text = expect_success({"list", "losses"}).out;
  EXPECT_THAT(text, HasSubstr("recall_at_k: "));
  EXPECT_THAT(text, HasSubstr("t2 = 0.01"));
  EXPECT_THAT(text, HasSubstr("contrastive: "));
  EXPECT_THAT(text, HasSubstr("neg_margin = 1"));
}

TEST(ListCommand, ShowsWhatValuesMetricsHaveAndWhichAreBetter) {
  const std::string text = "\n" + expect_success({"list", "metrics"}).out;
  const auto line_of = [&](const std::string& name) {
    const size_t at = text.find("values: ", text.find("\n" + name + ": "));
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(line_of("recall_any"), "values: from 0 to 1, larger is better");
  EXPECT_EQ(line_of("ami"), "values: from -1 to 1, larger is better");
  EXPECT_EQ(line_of("intra"), "values: from 0 to 2, smaller is better");
  EXPECT_EQ(line_of("rho"), "values: from 0 to infinity, neither is better");
  EXPECT_EQ(line_of("spectrum"), "values: each from 0 to 1, neither is better");
  const Json json =
      Json::parse(expect_success({"list", "metrics", "--json"}).out);
  for (const Json& part : json.at("metrics")) {
    ASSERT_EQ(part.at("range").size(), 2u) << part;
    if (part.at("name") == "rho") {
      EXPECT_EQ(part.at("range"), Json::parse("[0.0, null]"));
      EXPECT_EQ(part.at("better"), "neither");
    }
    if (part.at("name") == "intra") {
      EXPECT_EQ(part.at("better"), "smaller");
    }
  }
}

TEST(ListCommand, ShowsTheMinerOfALossOnTuples) {
  EXPECT_THAT(expect_success({"list", "losses"}).out,
              HasSubstr("miner: distance_weighted"));
}

TEST(ListCommand, ShowsWhatEmbeddingsALossIsDefinedOn) {
  const std::string text = expect_success({"list", "losses"}).out;
  EXPECT_THAT(text, ::testing::ContainsRegex(
                        "npair: [^\n]*\n  embeddings: of any length\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex(
                        "arcface: [^\n]*\n  embeddings: unit vectors\n"));
  const Json json =
      Json::parse(expect_success({"list", "losses", "--json"}).out);
  for (const Json& part : json.at("losses")) {
    if (part.at("name") != "hist") continue;
    EXPECT_EQ(part.at("embeddings"), "of any length");
  }
}

TEST(ListCommand, TellsTheFactsInJson) {
  const Json json =
      Json::parse(expect_success({"list", "losses", "--json"}).out);
  for (const Json& part : json.at("losses")) {
    if (part.at("name") != "contrastive") continue;
    const Json& facts = part.at("facts");
    EXPECT_THAT(facts.at("formula").get<std::string>(), HasSubstr("D_"));
    EXPECT_THAT(facts.at("source").get<std::string>(), HasSubstr("Hadsell"));
    EXPECT_NE(facts.at("cost"), "");
    EXPECT_EQ(facts.at("miner"), "distance_weighted");
    EXPECT_THAT(facts.at("golden").dump(), HasSubstr("\"rev_contrastive\""));
    return;
  }
  FAIL() << "no contrastive loss";
}

TEST(ListCommand, TheObjectivesPageIsUpToDate) {
  const std::string page = expect_success({"list", "--markdown"}).out;
  const std::string file = source_dir() + "/docs/objectives.md";
  // No EXPECT_EQ: it would print both pages.
  EXPECT_TRUE(read_file(file, 1 << 24) == page)
      << "The program has other parts than its page. From the checkout: "
         "build/release/kith list --markdown > docs/objectives.md";
}

TEST(ListCommand, ThePagesOfKeysAndNamesAreUpToDate) {
  for (const auto& [kind, file] :
       {std::pair("keys", "docs/configuration_keys.md"),
        std::pair("names", "docs/names.md")}) {
    const std::string page = expect_success({"list", kind, "--markdown"}).out;
    EXPECT_TRUE(read_file(source_dir() + "/" + file, 1 << 24) == page)
        << "The program has other descriptions than its page. From the "
           "checkout: build/release/kith list "
        << kind << " --markdown > " << file;
  }
}

TEST(ListCommand, ShowsOnePart) {
  const std::string text = expect_success({"list", "losses", "margin"}).out;
  EXPECT_TRUE(text.starts_with("margin: ")) << text;
  EXPECT_THAT(text, HasSubstr("\n  source: "));
  EXPECT_THAT(text, HasSubstr("\n  cost: "));
  EXPECT_THAT(text, HasSubstr("beta"));
  EXPECT_EQ(text.find("margin_all:"), std::string::npos);
  const Json json =
      Json::parse(expect_success({"list", "losses", "margin", "--json"}).out);
  ASSERT_EQ(json.at("losses").size(), 1u);
  EXPECT_EQ(json.at("losses").at(0).at("name"), "margin");
  expect_failure(2, {"list", "losses", "margn"},
                 {"unknown loss 'margn'", "did you mean 'margin'?"});
  expect_failure(2, {"list", "recipes", "x"}, {"leave out 'x'"});
}

TEST(ListCommand, ShowsAShapeInOneLineAndAloneInFull) {
  const std::string all = expect_success({"list", "backbones"}).out;
  const size_t begin = all.find("dinov2_vits14: ");
  const std::string entry =
      all.substr(begin, all.find("dinov2_vits14_reg: ") - begin);
  EXPECT_THAT(entry, HasSubstr("\n  vit with patch = 14, width = 384"));
  EXPECT_THAT(entry, HasSubstr("\n  also called vit_small_patch14_dinov2\n"));
  EXPECT_EQ(entry.find("depth"), std::string::npos);  // as of any vit
  for (const char* name : {"dinov2_vits14", "vit_small_patch14_dinov2"}) {
    const std::string one = expect_success({"list", "backbones", name}).out;
    EXPECT_TRUE(one.starts_with("dinov2_vits14: ")) << one;
    EXPECT_THAT(one, HasSubstr("\n  width = 384 "));
    EXPECT_THAT(one, HasSubstr("\n  depth = 12 "));
  }
  const Json json =
      Json::parse(
          expect_success({"list", "backbones", "vit_b_16", "--json"}).out)
          .at("backbones")
          .at(0);
  EXPECT_EQ(json.at("shape_of"), "vit");
  EXPECT_THAT(json.at("aliases").dump(), HasSubstr("\"vit_base_patch16_224\""));
  expect_failure(2, {"list", "backbones", "vit_base_patch16_225"},
                 {"did you mean 'vit_base_patch16_224'?"});
}

TEST(ListCommand, ShowsKeysOfConfigurations) {
  const std::string text = expect_success({"list", "keys", "train"}).out;
  EXPECT_THAT(text, HasSubstr("train.epochs = 10\n"));
  EXPECT_EQ(text.find("loss."), std::string::npos);
  const Json one =
      Json::parse(
          expect_success({"list", "keys", "train.epochs", "--json"}).out)
          .at("keys");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one.at(0).at("default"), "10");
  EXPECT_EQ(one.at(0).at("type"), "int");
  EXPECT_THAT(expect_success({"list", "keys", "loss.margin"}).out,
              HasSubstr("loss.margin (triplet) = "));
  EXPECT_THAT(expect_success({"list", "keys", "augment"}).out,
              HasSubstr("augment[].degrees (affine)"));
  expect_failure(2, {"list", "keys", "train.epoch"},
                 {"no key 'train.epoch'", "did you mean 'train.epochs'?"});
}

TEST(ListCommand, ShowsNamesOfOtherLibraries) {
  EXPECT_THAT(expect_success({"list", "names", "tripletmarginloss"}).out,
              HasSubstr("loss TripletMarginLoss (pytorch-metric-learning): "
                        "triplet_all, triplet"));
  EXPECT_THAT(expect_success({"list", "names", "batch_hard"}).out,
              HasSubstr("HardTripletsMiner (open-metric-learning)"));
  const Json json =
      Json::parse(expect_success({"list", "names", "--json"}).out);
  EXPECT_GT(json.at("names").size(), 50u);
  expect_failure(2, {"list", "names", "NoSuchLoss"}, {"'NoSuchLoss'"});
}

TEST(ListCommand, OnlySomeKindsArePages) {
  expect_failure(2, {"list", "losses", "--markdown"},
                 {"--markdown makes the page of", "not of losses"});
}

TEST(ListCommand, ThePageShowsPartsOfEveryKind) {
  const std::string page = expect_success({"list", "--markdown"}).out;
  EXPECT_THAT(page, HasSubstr("| [`recall_at_k`](#loss-recall_at_k) |"));
  EXPECT_THAT(page, HasSubstr("<a id=\"loss-recall_at_k\"></a>"));
  EXPECT_THAT(page, HasSubstr("<a id=\"miner-random\"></a>"));
  EXPECT_THAT(page, HasSubstr("<a id=\"sampler-class_balanced\"></a>"));
  EXPECT_THAT(page, HasSubstr("| `t2` | `0.01` |"));
}

TEST(ListCommand, ShowsRecipes) {
  ProgramOptions here;
  here.folder = source_dir();
  const std::string text = expect_success({"list", "recipes"}, here).out;
  EXPECT_THAT(text, HasSubstr("\nrecipes/rsk/cars196_resnet50.yaml: RS@k on "
                              "Cars196 with ResNet-50, 512 dimensions.\n"
                              "  kith train; data cars196; published "
                              "recall_any@1 80.7%\n"));
  EXPECT_THAT(text, HasSubstr("  kith sweep; 9 rows; data cars196; published "
                              "recall_any@1 89.5% (loss = RS@k, network = "
                              "ViT-B-16)\n"));
}

TEST(ListCommand, ShowsRecipesOfAnotherFolder) {
  const std::string folder = source_dir() + "/recipes/rsk";
  const Json json = Json::parse(
      expect_success({"list", "recipes", "--json", "--recipes", folder}).out);
  bool found = false;
  for (const Json& recipe : json.at("recipes")) {
    const std::string path = recipe.at("path").get<std::string>();
    EXPECT_THAT(path, HasSubstr("recipes/rsk/"));
    EXPECT_NE(recipe.at("summary"), "");
    if (!path.ends_with("supplement_table2.yaml")) continue;
    found = true;
    EXPECT_EQ(recipe.at("command"), "sweep");
    EXPECT_EQ(recipe.at("rows"), 9);
    EXPECT_EQ(recipe.at("published").at("percent"), 81.1);
    EXPECT_EQ(recipe.at("published").at("row"), "k = 1");
  }
  EXPECT_TRUE(found);
  expect_failure(1, {"list", "recipes", "--recipes", "no/such"}, {"no/such"});
}

TEST(ListCommand, NeedsAKindOrMarkdown) {
  expect_failure(2, {"list"}, {"losses", "--markdown"});
  expect_failure(2, {"list", "losses", "--markdown"}, {"--markdown"});
}

TEST(ListCommand, RefusesAnUnknownKind) {
  expect_failure(2, {"list", "loses"},
                 {"'loses'", "did you mean 'losses'?", "samplers"});
}

TEST(Program, HelpsWithEveryCommand) {
  const std::vector<std::string> commands = {
      "demo",  "data",   "train",   "eval", "embed",
      "index", "search", "metrics", "loss", "list"};
  const std::string all = expect_success({"--help"}).out;
  for (const std::string& command : commands) {
    EXPECT_THAT(all, HasSubstr("  " + command + " "));
    const ProgramResult help = expect_success({command, "--help"});
    EXPECT_THAT(help.out, HasSubstr("Usage: "));
    EXPECT_EQ(help.err, "");
  }
  EXPECT_THAT(expect_success({"data", "make", "glyphs", "--help"}).out,
              HasSubstr("--out"));
}

TEST(Program, TellsItsVersions) {
  const std::string text = expect_success({"--version"}).out;
  EXPECT_THAT(text, HasSubstr("kith "));
  EXPECT_THAT(text, HasSubstr("LibTorch "));
  EXPECT_THAT(text, HasSubstr("Google Benchmark: "));
  EXPECT_THAT(text, HasSubstr("faiss: "));
  EXPECT_THAT(text, HasSubstr("libwebp: "));
  EXPECT_THAT(text, HasSubstr("libtiff: "));
}

TEST(Program, RefusesWhatIsNoCommand) {
  expect_failure(2, {}, {"command", "train", "kith --help"});
  expect_failure(2, {"trian"},
                 {"unknown command 'trian'", "did you mean 'train'?"});
  expect_failure(2, {"--verison"},
                 {"unknown option '--verison'", "did you mean '--version'?"});
  expect_failure(2, {"data", "chek", "folder"},
                 {"'chek'", "did you mean 'check'?", "kith data --help"});
  expect_failure(2, {"loss"}, {"name", "kith loss --help"});
  expect_failure(2, {"list", "losses", "--device", "tpu"},
                 {"unknown option '--device'"});
}

TEST(Program, SaysTheExitCodes) {
  const std::string help = expect_success({"--help"}).out;
  for (const char* line :
       {"Exit codes", "\n  0 ", "\n  1 ", "\n  2 ", "\n  130 ", "\n  143 "}) {
    EXPECT_THAT(help, HasSubstr(line));
  }
}

TEST(Program, SaysWhatKithCallsAPartAndThatAPluginMayHaveIt) {
  expect_failure(2, {"bench", "loss:TripletMarginLoss"},
                 {"unknown loss 'TripletMarginLoss'; kith calls it "
                  "'triplet_all' or 'triplet'."});
  expect_failure(2, {"bench", "loss:my_own"},
                 {"unknown loss 'my_own'", "kith --plugin FILE COMMAND"});
}

TEST(Program, SaysInItsOwnWordsThatAFolderCannotBeMade) {
  const TempDir dir;
  const std::string out = dir.write("file", "") + "/below";
  const ProgramResult result =
      expect_failure(1, {"data", "make", "glyphs", "--out", out},
                     {out, "cannot make the folder: Not a directory"});
  EXPECT_EQ(result.err.find("filesystem error"), std::string::npos);
}

TEST(Program, RefusesAPluginThatCannotBeLoaded) {
  expect_failure(2, {"--plugin", "no_such.so", "list", "losses"},
                 {"--plugin no_such.so", "cannot open"});
}

TEST(Program, RefusesADeviceThatIsNotThere) {
  expect_failure(2, {"eval", "run", "--device", "gpu"}, {"'gpu'", "cuda"});
  expect_failure(2, {"eval", "run", "--device", "cuda:77"}, {"cuda:77"});
}

}  // namespace
}  // namespace kith
