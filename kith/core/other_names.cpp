#include "kith/core/other_names.h"

#include <cctype>
#include <cstring>
#include <sstream>

namespace kith {
namespace {

constexpr const char* kPml = "pytorch-metric-learning";
constexpr const char* kOml = "open-metric-learning";
/// Revisiting Training Strategies and Generalization Performance in Deep
/// Metric Learning (Roth et al., ICML 2020).
constexpr const char* kRoth = "Revisiting DML (Roth et al.)";
constexpr const char* kProxyAnchor = "Proxy Anchor (Kim et al.)";
constexpr const char* kPapers = "code of its paper";
constexpr const char* kVision = "torchvision";
constexpr const char* kTorch = "PyTorch";
constexpr const char* kFaissName = "faiss";

constexpr const char* kAllOrMined =
    "the first on all triplets, the second on those of a miner";

/// Letters and digits alone, in lower case.
std::string plain_letters(const std::string& name) {
  std::string plain;
  for (const unsigned char c : name) {
    if (std::isalnum(c)) plain += static_cast<char>(std::tolower(c));
  }
  return plain;
}

}  // namespace

const std::vector<OtherName>& other_names() {
  static const std::vector<OtherName> names = {
      {"loss", "AngularLoss", kPml, "angular_all, angular",
       "the second is the angular loss plus N-pair"},
      {"loss", "ArcFaceLoss", kPml, "arcface"},
      {"loss", "CircleLoss", kPml, "circle"},
      {"loss", "ContrastiveLoss", kPml, "contrastive"},
      {"loss", "CosFaceLoss", kPml, "cosface"},
      {"loss", "CrossBatchMemory", kPml, "train.memory",
       "of any loss on rows of similarities"},
      {"loss", "FastAPLoss", kPml, "fast_ap"},
      {"loss", "GeneralizedLiftedStructureLoss", kPml, "lifted"},
      {"loss", "HistogramLoss", kPml, "histogram"},
      {"loss", "LiftedStructureLoss", kPml, "lifted_structure"},
      {"loss", "MarginLoss", kPml, "margin_all, margin", kAllOrMined},
      {"loss", "MultiSimilarityLoss", kPml, "multi_similarity"},
      {"loss", "NPairsLoss", kPml, "npairs_all, npair",
       "the first one pair per class, the second any pairs"},
      {"loss", "NTXentLoss", kPml, "nt_xent"},
      {"loss", "NormalizedSoftmaxLoss", kPml, "norm_softmax"},
      {"loss", "ProxyAnchorLoss", kPml, "proxy_anchor"},
      {"loss", "ProxyNCALoss", kPml, "proxy_nca"},
      {"loss", "SignalToNoiseRatioContrastiveLoss", kPml, "snr_contrastive"},
      {"loss", "SmoothAPLoss", kPml, "smooth_ap"},
      {"loss", "SoftTripleLoss", kPml, "soft_triple"},
      {"loss", "SupConLoss", kPml, "supcon"},
      {"loss", "TripletMarginLoss", kPml, "triplet_all, triplet", kAllOrMined},
      {"loss", "ArcFaceLoss", kOml, "arcface"},
      {"loss", "TripletLoss", kOml, "triplet"},
      {"loss", "TripletLossPlain", kOml, "triplet"},
      {"loss", "TripletLossWithMiner", kOml, "triplet",
       "the miner has a section of its own"},
      {"loss", "triplet_with_miner", kOml, "triplet",
       "the miner has a section of its own"},
      {"loss", "multisimilarity", kRoth, "multi_similarity"},
      {"loss", "proxynca", kRoth, "proxy_nca"},
      {"loss", "softmax", kRoth, "norm_softmax"},
      {"loss", "softtriplet", kRoth, "soft_triple"},
      {"loss", "MS", kProxyAnchor, "multi_similarity"},
      {"loss", "NPair", kProxyAnchor, "npair"},
      {"loss", "Proxy_Anchor", kProxyAnchor, "proxy_anchor"},
      {"loss", "Proxy_NCA", kProxyAnchor, "proxy_nca"},
      {"loss", "APLoss", kPapers, "ap_quantised"},
      {"loss", "BatchHardTripletLoss", kPapers, "triplet",
       "with the miner batch_hard"},
      {"loss", "FastAP", kPapers, "fast_ap"},
      {"loss", "InfoNCE", kPapers, "nt_xent"},
      {"loss", "ProxyNCA_prob", kPapers, "proxy_nca_pp"},
      {"loss", "ProxyNCA++", kPapers, "proxy_nca_pp"},
      {"loss", "RecallatK", kPapers, "recall_at_k"},
      {"loss", "RS@k", kPapers, "recall_at_k"},
      {"loss", "SmoothAP", kPapers, "smooth_ap"},
      {"loss", "SoftTriple", kPapers, "soft_triple"},
      {"loss", "TripletMarginLoss", kTorch, "triplet"},
      {"miner", "BatchEasyHardMiner", kPml, "batch_easy_hard"},
      {"miner", "BatchHardMiner", kPml, "batch_hard"},
      {"miner", "DistanceWeightedMiner", kPml, "distance_weighted"},
      {"miner", "MultiSimilarityMiner", kPml, "multi_similarity"},
      {"miner", "TripletMarginMiner", kPml, "triplet_margin"},
      {"miner", "AllTripletsMiner", kOml, "triplet_margin",
       "or a loss on all triplets, which needs no miner"},
      {"miner", "HardTripletsMiner", kOml, "batch_hard"},
      {"miner", "TripletMinerWithMemory", kOml, "train.memory"},
      {"miner", "distance", kRoth, "distance_weighted"},
      {"sampler", "MPerClassSampler", kPml, "class_balanced"},
      {"sampler", "BalanceSampler", kOml, "class_balanced"},
      {"sampler", "class_random", kRoth, "spc"},
      {"sampler", "disthist_batchmatch", kRoth, "distance_matching"},
      {"sampler", "fid_batchmatch", kRoth, "frechet"},
      {"sampler", "random", kRoth, "spc_random"},
      {"sampler", "RandomSampler", kTorch, "uniform"},
      {"backbone", "bninception", kPapers, "bn_inception"},
      {"data set", "CUB", kPml, "cub200"},
      {"data set", "INaturalist2018", kPml, "inaturalist"},
      {"data set", "StanfordOnlineProducts", kPml, "sop"},
      {"data set", "online_products", kRoth, "sop"},
      {"data set", "Cars", kProxyAnchor, "cars196"},
      {"data set", "ImageFolder", kVision, "folder"},
      {"augmentation", "CenterCrop", kVision, "center_crop"},
      {"augmentation", "ColorJitter", kVision, "colour_jitter"},
      {"augmentation", "GaussianBlur", kVision, "gaussian_blur"},
      {"augmentation", "RandAugment", kVision, "rand_augment"},
      {"augmentation", "RandomAffine", kVision, "affine"},
      {"augmentation", "RandomCrop", kVision, "random_crop"},
      {"augmentation", "RandomErasing", kVision, "random_erasing"},
      {"augmentation", "RandomGrayscale", kVision, "grey"},
      {"augmentation", "RandomHorizontalFlip", kVision, "flip"},
      {"augmentation", "RandomResizedCrop", kVision, "random_resized_crop"},
      {"augmentation", "RandomRotation", kVision, "affine"},
      {"augmentation", "Resize", kVision, "resize"},
      {"optimizer", "Adam", kTorch, "adam"},
      {"optimizer", "AdamW", kTorch, "adamw"},
      {"optimizer", "SGD", kTorch, "sgd"},
      {"schedule", "ConstantLR", kTorch, "constant"},
      {"schedule", "CosineAnnealingLR", kTorch, "cosine"},
      {"schedule", "CosineAnnealingWarmRestarts", kTorch, "warm_restarts"},
      {"schedule", "MultiStepLR", kTorch, "step"},
      {"schedule", "OneCycleLR", kTorch, "one_cycle"},
      {"schedule", "StepLR", kTorch, "step", "its milestones are written out"},
      {"metric", "AMI", kPml, "ami"},
      {"metric", "NMI", kPml, "nmi"},
      {"metric", "mean_average_precision", kPml, "map"},
      {"metric", "mean_average_precision_at_r", kPml, "map_at_r"},
      {"metric", "mean_reciprocal_rank", kPml, "mrr"},
      {"metric", "precision_at_1", kPml, "recall_any@1"},
      {"metric", "cmc", kOml, "recall_any"},
      {"metric", "e_recall", kRoth, "recall_any"},
      {"metric", "rho_spectrum", kRoth, "rho"},
      {"metric", "recall", kPapers, "recall_any, recall_fraction",
       "the first is Recall@k of most papers"},
      {"metric", "R", kPapers, "recall_any"},
      {"index", "IndexFlatIP", kFaissName, "exact"},
      {"index", "IndexHNSWFlat", kFaissName, "hnsw"},
      {"index", "IndexIVFPQ", kFaissName, "ivf_pq"},
      {"reranker", "re_ranking", kPapers, "k_reciprocal"},
      {"reranker", "AQE", kPapers, "query_expansion",
       "with alpha 0; QE_K is k"},
      {"reranker", "alphaQE", kPapers, "query_expansion"},
      {"reranker", "DBA", kPapers, "database_augmentation"}};
  return names;
}

std::string kith_calls_it(const std::string& kind, const std::string& name) {
  const std::string wanted = plain_letters(name);
  for (const OtherName& other : other_names()) {
    if (kind != other.kind || wanted != plain_letters(other.name)) continue;
    if (std::strchr(other.kith, '.') != nullptr) {
      return std::string("in kith it is the key '") + other.kith + "'";
    }
    std::string text;
    std::istringstream words(other.kith);
    for (std::string word; std::getline(words >> std::ws, word, ',');) {
      text += (text.empty() ? "kith calls it '" : " or '") + word + "'";
    }
    return text;
  }
  return "";
}

}  // namespace kith
