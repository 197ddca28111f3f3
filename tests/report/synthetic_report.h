#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kith/chart/html.h"
#include "kith/core/rng.h"
#include "kith/image/encode.h"
#include "kith/report/report.h"

namespace kith {

/// Sizes of a report that no network was needed for.
struct SyntheticSize {
  size_t runs = 1;
  int classes = 15;
  size_t pictures = 40;
  size_t queries = 4;  ///< Of each set of examples.
  size_t found = 8;
  size_t points = 60;  ///< Of each scatter.
  int side = 24;       ///< Of a picture.
};

/// A report of made-up runs with everything in it that has pictures.
class SyntheticReport {
 public:
  explicit SyntheticReport(const SyntheticSize& size)
      : size_(size), rng_(7, Stream::kReport) {}

  Report make() {
    Report report;
    report.title = "Synthetic";
    report.lead = "Nothing was trained.";
    report.made_by = "a test";
    ImageGroup group;
    for (size_t i = 0; i < size_.pictures; ++i) {
      group.album.pictures.push_back({picture(i), class_name(i),
                                      "images/" + std::to_string(i) + ".png",
                                      size_.side, size_.side});
    }
    const char* titles[] = {"Random", "Hardest", "Most improved"};
    for (size_t i = 0; i < (size_.runs > 1 ? 3u : 2u); ++i) {
      group.examples.push_back(examples(titles[i]));
    }
    for (size_t i = 0; i < size_.points; ++i) {
      group.scatter_items.push_back(
          {class_name(i), "images/" + std::to_string(i)});
    }
    group.scatter_sheet = {picture(3), 8, 3};
    for (size_t run = 0; run < size_.runs; ++run) {
      group.runs.push_back(run);
      report.runs.push_back({});
      report.runs.back().name = "run " + std::string(1, char('a' + int(run)));
      report.insights.push_back(insight(run));
    }
    report.groups.push_back(std::move(group));
    return report;
  }

 private:
  std::string class_name(size_t i) const {
    return "class_" + std::to_string(i % static_cast<size_t>(size_.classes));
  }

  std::string picture(size_t number) const {
    Image image(size_.side, size_.side, 3);
    for (size_t i = 0; i < image.pixels.size(); ++i) {
      image.pixels[i] =
          static_cast<uint8_t>((i / 3 * (number + 3) + i % 3 * 80) & 255u);
    }
    return data_uri("image/jpeg", encode_jpeg(image, 80));
  }

  size_t draw(size_t below) { return static_cast<size_t>(rng_.below(below)); }

  ExampleSet examples(const std::string& title) {
    ExampleSet set{title, "Drawn by hand.", {}};
    for (size_t i = 0; i < size_.queries; ++i) {
      ExampleQuery query{draw(size_.pictures), {}};
      for (size_t run = 0; run < size_.runs; ++run) {
        QueryResult result{0.42, static_cast<int64_t>(run) + 1, {}};
        for (size_t k = 0; k < size_.found; ++k) {
          result.found.push_back({draw(size_.pictures),
                                  0.98 - 0.05 * static_cast<double>(k),
                                  draw(3) > 0});
        }
        query.results.push_back(result);
      }
      set.queries.push_back(query);
    }
    return set;
  }

  RunInsight insight(size_t run) {
    RunInsight insight;
    SimilarityHistogram& bins = insight.similarities;
    for (int i = 0; i < 80; ++i) {
      const double x = -0.9875 + 0.025 * i;
      const auto bell = [&](double middle, double width) {
        const double away = (x - middle) / width;
        return away * away > 20 ? 0.0 : std::exp(-away * away) / 20;
      };
      bins.positive.push_back(bell(0.6 + 0.1 * static_cast<double>(run), 0.2));
      bins.negative.push_back(bell(0.05, 0.15));
    }
    bins.positive_pairs = 12345;
    bins.negative_pairs = 6789012;
    bins.queries = 200;
    bins.all_queries = 900;
    for (int i = 0; i < 64; ++i) {
      insight.spectrum.push_back(
          std::exp(-i / (8.0 + 6.0 * static_cast<double>(run))) / 12);
    }
    for (int i = 0; i < size_.classes; ++i) {
      const double recall = static_cast<double>(draw(101)) / 100;
      insight.classes.push_back(
          {"class_" + std::to_string(i), i, 60, recall, 0.6 * recall});
    }
    for (size_t i = 0; i < 10; ++i) {
      insight.confused.push_back(
          {class_name(i), class_name(i + 1), 12 - static_cast<int64_t>(i), 0.2,
           3, i % size_.pictures, (i + 1) % size_.pictures});
    }
    insight.first_right = {{40, 9, 6, 4, 1}, 12, 60};
    insight.hubs = {10, 1.25, 10, 31, 4, 60, {}};
    for (size_t i = 0; i < 8; ++i) {
      insight.hubs.largest.push_back({i, 31 - static_cast<int64_t>(i), 4});
      insight.lookalikes.push_back({i, i + 1, 0.99});
    }
    for (size_t i = 0; i < size_.points; ++i) {
      const auto number =
          static_cast<double>(i % static_cast<size_t>(size_.classes));
      const auto shake = [&] { return 0.12 * (rng_.uniform() - 0.5); };
      insight.scatter.points.push_back({0.6 * std::cos(number) + shake(),
                                        0.4 * std::sin(2.1 * number) + shake(),
                                        static_cast<int64_t>(number), i});
    }
    insight.scatter.explained[0] = 0.31;
    insight.scatter.explained[1] = 0.17;
    for (size_t i = 0; i < 6; ++i) {
      insight.activations.push_back(
          {picture(i),
           class_name(i),
           picture(i + 4),
           0.125,
           {picture(i + 1), picture(i + 2), picture(i + 3)},
           {3, 412, 87},
           {2.25, 1.5, 1.25}});
    }
    return insight;
  }

  SyntheticSize size_;
  Rng rng_;
};

}  // namespace kith
