#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kith {

/// How much of a run is looked at.
struct InsightOptions {
  int64_t queries = 12;    ///< Of each set of examples.
  int64_t neighbours = 8;  ///< Of each query.
  int64_t scatter_points = 1000;
  int64_t activations = 6;  ///< Pictures with activations.
  int64_t confused = 10;    ///< Pairs of classes.
  int64_t thumbnail = 96;   ///< Longer side, in pixels.
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
};

/// Embeddings in the plane of their two principal directions.
struct EmbeddingScatter {
  std::vector<ScatterPoint> points;
  double explained[2] = {0, 0};  ///< Shares of the variance.
};

/// Where the network looks at a picture: heat over it, one for each of the
/// three channels of largest mean activation, and one for their mean.
struct ActivationRow {
  std::string picture;              ///< URI of what the network was given.
  std::string label;                ///< Of its class.
  std::vector<std::string> uris;    ///< Three channels, then their mean.
  std::vector<int64_t> channels;    ///< Their numbers.
  std::vector<double> activations;  ///< Their means over the picture.
};

/// What can be seen of one run with its data and its network.
struct RunInsight {
  std::string missing;  ///< Why there is none, in a sentence; else empty.
  std::string task;     ///< Which part of the protocol; empty if it has one.
  SimilarityHistogram similarities;
  std::vector<double> spectrum;  ///< Singular values, sum 1, largest first.
  std::vector<ClassScore> classes;
  std::vector<ConfusedClasses> confused;
  EmbeddingScatter scatter;
  std::vector<ActivationRow> activations;
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
  std::vector<ScatterItem> scatter_items;  ///< The points of the scatters,
  PictureSheet scatter_sheet;  ///< and their pictures, in that order.
};

}  // namespace kith
