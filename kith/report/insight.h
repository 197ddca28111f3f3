#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kith {

/// How much of a run is looked at.
struct InsightOptions {
  int64_t queries = 12;           ///< Of each set of examples.
  int64_t neighbours = 8;         ///< Of each query.
  int64_t scatter_points = 1000;  ///< At most 3000: their map takes O(n^2).
  int64_t activations = 6;        ///< Pictures with activations.
  int64_t confused = 10;          ///< Pairs of classes.
  int64_t thumbnail = 96;         ///< Longer side, in pixels.
  uint64_t seed = 0;
  int64_t memory_mb = 512;  ///< For blocks of similarities.
};

/// Pictures of a report, each in it once: others name them by their place.
struct Album {
  struct Picture {
    std::string uri;    ///< "data:image/...;base64,..."
    std::string label;  ///< Of its class.
    std::string path;   ///< Of its file, or what the data set calls it.
    int width = 0;
    int height = 0;
  };
  std::vector<Picture> pictures;
};

/// Similarities of pairs of the same class and of different ones, as shares of
/// either kind in bins of equal width from `low` to `high`.
struct SimilarityHistogram {
  double low = -1.0;
  double high = 1.0;
  std::vector<double> positive;
  std::vector<double> negative;
  int64_t positive_pairs = 0;  ///< That were counted.
  int64_t negative_pairs = 0;
  int64_t queries = 0;      ///< Compared with the whole gallery.
  int64_t all_queries = 0;  ///< Of which those were drawn.
};

struct ClassScore {
  std::string name;
  int64_t label = 0;
  int64_t queries = 0;
  double recall = 0;             ///< Recall@1, [0, 1].
  double average_precision = 0;  ///< Mean over its queries.
};

/// Queries of one class whose nearest item is of another.
struct ConfusedClasses {
  std::string from;
  std::string to;
  int64_t count = 0;
  double share = 0;         ///< Of the queries of `from`.
  int64_t reverse = 0;      ///< The count from `to` to `from`.
  size_t from_picture = 0;  ///< A query, and what it found: Album places.
  size_t to_picture = 0;
};

/// Two images that belong together, by their Album places.
struct PicturePair {
  size_t first = 0;
  size_t second = 0;
  double similarity = 0;
};

/// How soon queries find what is right.
struct FirstRight {
  /// Queries whose first right item is at rank 1, 2 to 4, 5 to 16, 17 to 100,
  /// and beyond.
  std::vector<int64_t> counts;
  int64_t apart = 0;  ///< Those with all right items before any wrong one.
  int64_t queries = 0;
};

/// Items that are among the nearest of many queries.
struct Hubs {
  struct Item {
    size_t picture = 0;    ///< Album place.
    int64_t count = 0;     ///< Queries that have it among their k nearest.
    int64_t of_class = 0;  ///< Queries of its class; 0 where there are none.
  };
  int64_t k = 0;
  double skewness = 0;  ///< Of the counts of all items; NaN if all are equal.
  double expected = 0;  ///< Their mean.
  int64_t maximum = 0;
  int64_t never_found = 0;
  int64_t items = 0;
  std::vector<Item> largest;
};

struct FoundItem {
  size_t picture = 0;  ///< Album place.
  double similarity = 0;
  bool right = false;
};

/// What one run finds for a query.
struct QueryResult {
  double average_precision = 0;
  int64_t first_right = 0;  ///< Rank of the nearest right item; 0: none.
  std::vector<FoundItem> found;
};

struct ExampleQuery {
  size_t picture = 0;
  std::vector<QueryResult> results;  ///< In the order of ImageGroup::runs.
};

/// Queries chosen in one way: at random, the hardest, the most improved.
struct ExampleSet {
  std::string title;
  std::string note;  ///< How they were chosen.
  std::vector<ExampleQuery> queries;
};

struct ScatterPoint {
  double x = 0;
  double y = 0;
  int64_t class_number = 0;  ///< Colours are by it.
  size_t item = 0;           ///< Place in ImageGroup::scatter_items.
  double map_x = 0;          ///< Where its neighbours put it: by t-SNE.
  double map_y = 0;
};

/// Embeddings in the plane of their two principal directions, and in a map that
/// keeps neighbours together.
struct EmbeddingScatter {
  std::vector<ScatterPoint> points;
  bool has_map = false;          ///< Whether map_x and map_y are set.
  double explained[2] = {0, 0};  ///< Shares of the variance.
};

/// Where the network looks at a picture: heat over it where blurring moves its
/// embedding, and for each of the channels that it excites most.
struct ActivationRow {
  std::string picture;  ///< URI of what the network was given.
  std::string label;    ///< Of its class.
  std::string cover;    ///< URI: where blurring moves the embedding.
  double moved = 0;     ///< By how much at most: 1 - cosine.
  std::vector<std::string> uris = {};    ///< Of up to three channels.
  std::vector<int64_t> channels = {};    ///< Their numbers.
  std::vector<double> activations = {};  ///< Their means above the usual.
};

/// What can be seen of one run with its data and its network.
struct RunInsight {
  std::string missing;  ///< Why there is none, in a sentence; else empty.
  std::string network;  ///< "best checkpoint (epoch 7)"
  std::string task;     ///< Which part of the protocol; empty if it has one.
  SimilarityHistogram similarities;
  std::vector<double> spectrum;  ///< Singular values, sum 1, largest first.
  std::vector<ClassScore> classes;
  std::vector<ConfusedClasses> confused;
  FirstRight first_right;
  Hubs hubs;
  std::vector<PicturePair> lookalikes;  ///< Of different classes.
  /// Pictures of the first RunRecord::duplicates: training and test image.
  std::vector<PicturePair> duplicates;
  EmbeddingScatter scatter;
  std::vector<ActivationRow> activations;
  std::string activations_note;  ///< Why there are no channels; else empty.
};

/// Many small pictures of equal size in one, by rows.
struct PictureSheet {
  std::string uri;
  int columns = 0;
  int cell = 0;  ///< Width and height of one, in pixels.
};

struct ScatterItem {
  std::string label;
  std::string path;
};

/// Runs that are tested with the same images.
struct ImageGroup {
  std::vector<size_t> runs;
  Album album;
  std::vector<ExampleSet> examples;
  int64_t scatter_all = 0;  ///< Images, of which these were drawn:
  std::vector<ScatterItem> scatter_items;  ///< The points of the scatters,
  PictureSheet scatter_sheet;  ///< and their pictures, in that order.
};

}  // namespace kith
