#pragma once

#include <string>
#include <vector>

#include "kith/eval/protocol.h"

namespace kith {

/// The protocols of kith, to be made in C++: StandardProtocol().

class StandardProtocol final : public Protocol {
 public:
  static constexpr const char* kSummary =
      "every image of the split is searched among all the others";
  using Options = NoOptions;

  explicit StandardProtocol(const Options& = {}) {}

  std::vector<EvalTask> tasks(const ImageList& list,
                              Split split) const override;
};

class QueryGalleryProtocol final : public Protocol {
 public:
  static constexpr const char* kSummary =
      "images marked is_query are searched among those marked is_gallery";
  using Options = NoOptions;

  explicit QueryGalleryProtocol(const Options& = {}) {}

  std::vector<EvalTask> tasks(const ImageList& list,
                              Split split) const override;
};

class InshopProtocol final : public Protocol {
 public:
  static constexpr const char* kSummary =
      "In-Shop Clothes: the query list is searched among the gallery list";
  using Options = NoOptions;

  explicit InshopProtocol(const Options& = {}) {}

  std::vector<EvalTask> tasks(const ImageList& list,
                              Split split) const override;
  std::vector<std::string> metrics() const override {
    return {"recall_any@1,10,20,30,40,50"};
  }
};

class RevisitedProtocol final : public Protocol {
 public:
  static constexpr const char* kSummary =
      "ROxford, RParis: easy, medium and hard by lists of right answers; junk "
      "is left out of the ranking";
  using Options = NoOptions;

  explicit RevisitedProtocol(const Options& = {}) {}

  std::vector<EvalTask> tasks(const ImageList& list,
                              Split split) const override;
  std::vector<std::string> metrics() const override {
    return {"map_trapezoid", "mp@1,5,10"};
  }
};

class ListedProtocol final : public Protocol {
 public:
  static constexpr const char* kSummary =
      "queries are searched among the gallery, by lists of right answers; junk "
      "is left out of the ranking. The validation of landmarks (Tolias et al., "
      "ECCV 2020)";
  using Options = NoOptions;

  explicit ListedProtocol(const Options& = {}) {}

  std::vector<EvalTask> tasks(const ImageList& list,
                              Split split) const override;
  std::vector<std::string> metrics() const override {
    return {"map_trapezoid", "mp@1,5,10"};
  }
};

class GldV2Protocol final : public Protocol {
 public:
  static constexpr const char* kSummary =
      "Google Landmarks v2: the private and the public queries are searched "
      "among the index, by lists of right answers";
  using Options = NoOptions;

  explicit GldV2Protocol(const Options& = {}) {}

  std::vector<EvalTask> tasks(const ImageList& list,
                              Split split) const override;
  std::vector<std::string> metrics() const override { return {"map@100"}; }
};

class VehicleIdProtocol final : public Protocol {
 public:
  static constexpr const char* kSummary =
      "VehicleID: every image of the small, medium and large list is searched "
      "among the others of its list";
  using Options = NoOptions;

  explicit VehicleIdProtocol(const Options& = {}) {}

  std::vector<EvalTask> tasks(const ImageList& list,
                              Split split) const override;
  std::vector<std::string> metrics() const override {
    return {"recall_any@1,5"};
  }
};

class VehicleIdReidProtocol final : public Protocol {
 public:
  static constexpr const char* kSummary =
      "VehicleID as re-identification: one random image of each vehicle is the "
      "gallery, the rest of the list are queries; mean of ten draws";
  using Options = NoOptions;

  explicit VehicleIdReidProtocol(const Options& = {}) {}

  std::vector<EvalTask> tasks(const ImageList& list,
                              Split split) const override;
  std::vector<std::string> metrics() const override {
    return {"recall_any@1,5"};
  }
};

}  // namespace kith
