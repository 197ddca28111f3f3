#pragma once

#include <string>

#include "kith/data/data_set.h"

namespace kith {

/// The data sets of the literature, read from the files as they are published:
///
///     Cub200DataSet birds({.path = "CUB_200_2011"});

struct Cub200Options {
  std::string path = {};
  bool crop_boxes = false;

  void describe(OptionSet& set);
};

/// Caltech-UCSD Birds 200-2011. Labels are the published class numbers, from 1;
/// train_test_split.txt, which splits images and not classes, is not used.
class Cub200DataSet final : public FileDataSet {
 public:
  static constexpr const char* kSummary =
      "CUB-200-2011 as published: classes 1-100 train, 101-200 test";
  static constexpr DataSetTraits kTraits = {
      .layouts = {{"images.txt", "image_class_labels.txt"}},
      .published = PublishedCounts{5864, 100, 5924, 100,
                                   "the usual split of CUB-200-2011 by class"}};
  using Options = Cub200Options;

  explicit Cub200DataSet(Options options);
};

struct Cars196Options {
  std::string path = {};
  bool crop_boxes = false;

  void describe(OptionSet& set);
};

/// Stanford Cars. Labels are the published class numbers, from 1; the published
/// division of images, which has all classes on both sides, is not used.
class Cars196DataSet final : public FileDataSet {
 public:
  static constexpr const char* kSummary =
      "Cars196 (Stanford Cars) as published: classes 1-98 train, 99-196 test";
  static constexpr DataSetTraits kTraits = {
      .layouts = {{"cars_annos.mat"},
                  {"devkit/cars_train_annos.mat"},
                  {"anno_train.csv", "names.csv"}},
      .published = PublishedCounts{8054, 98, 8131, 98,
                                   "the usual split of Cars196 by class"}};
  using Options = Cars196Options;

  explicit Cars196DataSet(Options options);
};

struct SopOptions {
  std::string path = {};

  void describe(OptionSet& set);
};

/// Stanford Online Products. Labels are the published class numbers, from 1.
class SopDataSet final : public FileDataSet {
 public:
  static constexpr const char* kSummary =
      "Stanford Online Products as published: 11318 classes train, 11316 test";
  static constexpr DataSetTraits kTraits = {
      .layouts = {{"Ebay_train.txt", "Ebay_test.txt"},
                  {"Info_Files/Ebay_train.txt", "Info_Files/Ebay_test.txt"}},
      .recall_at = "1,10,100,1000",
      .published = PublishedCounts{59551, 11318, 60502, 11316,
                                   "Ebay_train.txt and Ebay_test.txt"}};
  using Options = SopOptions;

  explicit SopDataSet(Options options);
};

struct InShopOptions {
  std::string path = {};
  std::string images = "auto";
  bool crop_boxes = false;

  void describe(OptionSet& set);
};

/// In-Shop Clothes Retrieval of DeepFashion. The label of "id_00000002" is 2;
/// the category is the folder above the item: "WOMEN/Dresses".
class InShopDataSet final : public FileDataSet {
 public:
  static constexpr const char* kSummary =
      "In-Shop Clothes (DeepFashion) as published: train, query and gallery";
  static constexpr DataSetTraits kTraits = {
      .layouts = {{"Eval/list_eval_partition.txt"},
                  {"list_eval_partition.txt"}},
      .protocol = "inshop",
      .recall_at = "1,10,20,30,40,50",
      .published = PublishedCounts{
          25882, 3997, 14218 + 12612, 3985,
          "list_eval_partition.txt: 14218 query and 12612 gallery images in "
          "test"}};
  using Options = InShopOptions;

  explicit InShopDataSet(Options options);
};

struct VehicleIdOptions {
  std::string path = {};

  void describe(OptionSet& set);
};

/// PKU VehicleID. Labels are the published numbers of vehicles; the category
/// is the number of the vehicle's model, empty for vehicles without one. An
/// image that is in several test lists is one item.
class VehicleIdDataSet final : public FileDataSet {
 public:
  static constexpr const char* kSummary =
      "PKU VehicleID as published: train list; small, medium and large lists "
      "test";
  static constexpr DataSetTraits kTraits = {
      .layouts = {{"train_test_split/train_list.txt",
                   "train_test_split/test_list_800.txt"}},
      .protocol = "vehicleid",
      .recall_at = "1,5",
      .published = PublishedCounts{
          110178,
          13134,
          0,
          0,
          "Patel et al., CVPR 2022, Table 1: 40365 test images, the sum of "
          "the three lists",
          {{"large", 20038}, {"medium", 12995}, {"small", 7332}}}};
  using Options = VehicleIdOptions;

  explicit VehicleIdDataSet(Options options);
};

struct INaturalistOptions {
  std::string path = {};

  void describe(OptionSet& set);
};

/// iNaturalist 2018 in the split of Smooth-AP (Brown et al., ECCV 2020). A
/// class is the last two folders of a picture, "Aves/2716", numbered from 0 by
/// name over both lists; its category is the first of them.
class INaturalistDataSet final : public FileDataSet {
 public:
  static constexpr const char* kSummary =
      "iNaturalist 2018 in the split of Smooth-AP: 5690 classes train, 2452 "
      "test";
  static constexpr DataSetTraits kTraits = {
      .layouts = {{"Inat_dataset_splits/Inaturalist_train_set1.txt",
                   "Inat_dataset_splits/Inaturalist_test_set1.txt"},
                  {"Inaturalist_train_set1.txt", "Inaturalist_test_set1.txt"}},
      .recall_at = "1,4,16,32",
      .published = PublishedCounts{325846, 5690, 136093, 2452,
                                   "Patel et al., CVPR 2022, Table 1"}};
  using Options = INaturalistOptions;

  explicit INaturalistDataSet(Options options);
};

struct GldV1Options {
  std::string path = {};
  std::string list = "train.csv";
  std::string images = {};
  std::string missing = "error";
  std::string validation = {};

  void describe(OptionSet& set);
};

/// Google Landmarks, first version: a list of addresses on the web, many of
/// them dead by now, so that copies lack images. All of it is training data;
/// the validation split may be that of another set, as Patel et al. (CVPR 2022)
/// have it: queries of retrieval-SfM-120k (Sfm120kOptions::validation).
class GldV1DataSet final : public FileDataSet {
 public:
  static constexpr const char* kSummary =
      "Google Landmarks v1: train.csv and the images that could be fetched";
  static constexpr DataSetTraits kTraits = {
      .layouts = {{"train.csv", "boxes_split1.csv"}},
      .published = PublishedCounts{
          1060709, 12894, 0, 0,
          "Noh et al., ICCV 2017; Patel et al., CVPR 2022, Table 1"}};
  using Options = GldV1Options;

  explicit GldV1DataSet(Options options);
};

struct GldV2Options {
  std::string path = {};
  bool clean = true;

  void describe(OptionSet& set);
};

/// Google Landmarks, second version. The training split has landmarks for
/// labels. The test split is the index, then those queries that have right
/// answers in it, which lists say and not labels: every such image has a label
/// of its own. Queries are in the lists "public" and "private". Either split
/// may be absent; what is published of the other depends on `clean`.
class GldV2DataSet final : public FileDataSet {
 public:
  static constexpr const char* kSummary =
      "Google Landmarks v2 as published: train_clean.csv or train.csv; queries "
      "and index test";
  static constexpr DataSetTraits kTraits = {
      .layouts = {{"train_clean.csv"},
                  {"train/train_clean.csv"},
                  {"retrieval_solution_v2.1.csv"},
                  {"test/retrieval_solution_v2.1.csv"}},
      .protocol = "gldv2"};
  using Options = GldV2Options;

  explicit GldV2DataSet(Options options);
};

struct Sfm120kOptions {
  std::string path = {};
  std::string validation = "clusters";

  void describe(OptionSet& set);
};

/// retrieval-SfM-120k (Radenovic et al., TPAMI 2019): a class is a cluster, one
/// reconstruction of a place. The clusters of `val` are other places than those
/// of `train`, whatever their numbers: their labels start above those. The
/// pairs of queries and positives of `train` (qidxs, pidxs) are in
/// ImageList::pairs. With `validation: queries` the validation split is that of
/// Tolias et al. (ECCV 2020) instead: queries with lists of right answers.
class Sfm120kDataSet final : public FileDataSet {
 public:
  static constexpr const char* kSummary =
      "retrieval-SfM-120k as published: 3D models of landmarks, train and "
      "validation";
  static constexpr DataSetTraits kTraits = {
      .layouts = {{"retrieval-SfM-120k.pkl"}}};
  using Options = Sfm120kOptions;

  explicit Sfm120kDataSet(Options options);
};

struct RevisitedOptions {
  std::string path = {};
  std::string ground_truth = {};
  std::string images = "jpg";
  std::string distractors = {};
  std::string distractor_images = {};
  bool crop = true;

  void describe(OptionSet& set);
};

/// ROxford5k and RParis6k. Gallery, distractors, then queries, all in the test
/// split. Which landmark a picture shows is not annotated: every image has a
/// label of its own, its position, so that labels make no positives.
class RevisitedDataSet final : public FileDataSet {
 public:
  static constexpr const char* kSummary =
      "ROxford5k, RParis6k: queries with lists of easy, hard and junk images";
  static constexpr DataSetTraits kTraits = {
      .layouts = {{"gnd_roxford5k.pkl"}, {"gnd_rparis6k.pkl"}},
      .protocol = "revisited"};
  using Options = RevisitedOptions;

  explicit RevisitedDataSet(Options options);
};

}  // namespace kith
