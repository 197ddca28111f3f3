#pragma once

// All of kith, in the order in which data walks through it. What is here, and
// what it includes, is installed; other headers are for kith itself.

// clang-format off

// Configuration, devices, messages.
#include "kith/core/config.h"             // YAML with lines, overrides
#include "kith/core/registry.h"           // parts by name, and their options
#include "kith/core/unknown_name.h"       // the error of a name there is not
#include "kith/core/other_names.h"        // what other libraries call parts
#include "kith/core/device.h"             // CPU threads, GPUs
#include "kith/core/log.h"                // where messages go
#include "kith/core/progress.h"           // where progress goes
#include "kith/distributed/join.h"        // processes that compute together

// Files and pictures.
#include "kith/io/tensor_io.h"            // .npy files as tensors
#include "kith/io/safetensors.h"          // tensors with names
#include "kith/io/csv.h"                  // tables
#include "kith/image/decode.h"            // image files to pictures
#include "kith/image/encode.h"            // and back

// Data.
#include "kith/data/data_set.h"           // image lists and pictures
#include "kith/data/file_sets.h"          // lists and folders of your own
#include "kith/data/published_sets.h"     // CUB, Cars, SOP, In-Shop, ...
#include "kith/data/generated_sets.h"     // glyphs, landmarks, points
#include "kith/data/write_set.h"          // as files for others
#include "kith/data/check.h"              // what is wrong with one
#include "kith/data/near_duplicates.h"    // between its splits
#include "kith/data/augment.h"            // random changes of training images
#include "kith/data/augmentations.h"      // those there are
#include "kith/data/corruptions.h"        // damages to measure robustness with
#include "kith/data/loader.h"             // decoding ahead

// Batches.
#include "kith/samplers/sampler.h"        // which images make one
#include "kith/samplers/class_balanced.h" // m images of each of K classes
#include "kith/samplers/uniform.h"        // without a look at classes
#include "kith/samplers/spc.h"            // m images of classes drawn anew
#include "kith/samplers/spc_random.h"     // one class mate, the rest uniform
#include "kith/samplers/whole_classes.h"  // all images of random classes
#include "kith/samplers/category_hard.h"  // classes of one category
#include "kith/samplers/pool/distance_matching.h" // like its distances
#include "kith/samplers/pool/frechet.h"   // or its Gaussian
#include "kith/samplers/pool/greedy_coreset.h" // that cover much

// Networks.
#include "kith/models/embedding_net.h"    // backbone and head, or your own
#include "kith/models/backbones.h"        // those there are
#include "kith/models/weights.h"          // pretrained ones

// Tuples of a batch.
#include "kith/ops/pairwise.h"            // distances and similarities
#include "kith/miners/miner.h"            // which tuples a loss sees
#include "kith/miners/random.h"           // any
#include "kith/miners/batch_hard.h"       // the hardest of each anchor
#include "kith/miners/batch_easy_hard.h"  // easy, hard or semi-hard pairs
#include "kith/miners/semihard.h"         // FaceNet
#include "kith/miners/softhard.h"         // between random and hard
#include "kith/miners/distance_weighted.h" // uniform in distance
#include "kith/miners/multi_similarity.h" // of that loss
#include "kith/miners/triplet_margin.h"   // all of a kind
#include "kith/miners/rho_distance.h"     // some turned round

// Losses.
#include "kith/losses/loss.h"             // what a loss is
#include "kith/losses/row_loss.h"         // one over all pairs, with kernels
#include "kith/losses/class_vectors.h"    // one with a vector per class
#include "kith/losses/recall_at_k.h"      // RS@k
#include "kith/losses/smooth_ap.h"        // Smooth-AP
#include "kith/losses/fast_ap.h"          // FastAP
#include "kith/losses/ap_quantised.h"     // average precision in bins
#include "kith/losses/histogram.h"        // overlap of two histograms
#include "kith/losses/nt_xent.h"          // InfoNCE over labelled pairs
#include "kith/losses/supcon.h"           // supervised contrastive
#include "kith/losses/contrastive.h"      // pairs within and beyond a margin
#include "kith/losses/triplet.h"          // given triplets
#include "kith/losses/triplet_all.h"      // all of the batch
#include "kith/losses/margin.h"           // with a boundary, learnt or not
#include "kith/losses/margin_all.h"       // all of the batch
#include "kith/losses/multi_similarity.h" // pairs weighted by their rivals
#include "kith/losses/circle.h"           // weights by how far to go
#include "kith/losses/lifted.h"           // log of sums, Hermans et al.
#include "kith/losses/lifted_structure.h" // Song et al.
#include "kith/losses/npair.h"            // one negative a class
#include "kith/losses/npairs_all.h"       // all pairs of the batch
#include "kith/losses/angular.h"          // angles at the negative
#include "kith/losses/angular_all.h"      // all of the batch
#include "kith/losses/quadruplet.h"       // two negatives
#include "kith/losses/snr.h"              // triplets by signal to noise
#include "kith/losses/snr_contrastive.h"  // pairs by signal to noise
#include "kith/losses/proxy_nca.h"        // a proxy per class
#include "kith/losses/proxy_nca_pp.h"     // the same, improved
#include "kith/losses/proxy_anchor.h"     // proxies as anchors
#include "kith/losses/norm_softmax.h"     // classification of unit vectors
#include "kith/losses/cosface.h"          // with a margin of cosine
#include "kith/losses/arcface.h"          // with a margin of angle
#include "kith/losses/soft_triple.h"      // several centres a class
#include "kith/losses/hist.h"             // a hypergraph of tuples

// Training.
#include "kith/train/optimizers.h"        // SGD, Adam, AdamW
#include "kith/train/schedules.h"         // learning rates
#include "kith/train/multistage.h"        // batches of any size
#include "kith/train/trainer.h"           // the loop
#include "kith/train/experiment.h"        // selection, then the final run
#include "kith/run/run_folder.h"          // where a run keeps what
#include "kith/run/run_log.h"             // what its steps took
#include "kith/run/run_metrics.h"         // what it found
#include "kith/run/checkpoint.h"          // safe, resumable
#include "kith/run/choose_checkpoint.h"   // last, best or an epoch
#include "kith/train/model_embedding.h"   // as the run was evaluated
#include "kith/train/export_model.h"      // for use elsewhere
#include "kith/train/export_huggingface.h" // for timm and torchvision
#include "kith/onnx/export_onnx.h"        // for clients of ONNX

// Search.
#include "kith/index/rows.h"              // embeddings in memory or in a file
#include "kith/index/flat.h"              // exact
#include "kith/index/ranks.h"             // exact ranks
#include "kith/index/reranked.h"          // and after re-ranking
#include "kith/index/rerankers.h"         // by expansion or k-reciprocal
#include "kith/index/kinds.h"             // exact, ivf_pq, hnsw
#include "kith/index/stored_index.h"      // vectors with their images
#include "kith/index/search_reranked.h"   // re-ranked as well
#include "kith/index/flat_file.h"         // any number of vectors in a file
#include "kith/index/recall.h"            // of what is exact
#include "kith/index/export_shards.h"     // for other vector stores

// Evaluation.
#include "kith/eval/embed.h"              // images to embeddings
#include "kith/eval/embed_image.h"        // one image to its embedding
#include "kith/eval/embed_blocks.h"       // more than fits in memory
#include "kith/eval/whitening.h"          // of embeddings
#include "kith/eval/embedded_split.h"     // a split under a protocol
#include "kith/eval/evaluate.h"           // embeddings to metrics
#include "kith/eval/metrics.h"            // each of them
#include "kith/eval/protocols.h"          // who is searched among whom
#include "kith/eval/evaluator.h"          // a network to metrics
#include "kith/eval/decision.h"           // thresholds and what they do
#include "kith/eval/diagnostics.h"        // what goes wrong
#include "kith/eval/corruption_suite.h"   // how robust it is

// Many trainings.
#include "kith/study/study.h"             // what they differ in
#include "kith/study/sweep.h"             // running them
#include "kith/study/results.h"           // what they found
#include "kith/study/table.h"             // rows of it
#include "kith/study/figure.h"            // pictures of it
#include "kith/study/study_page.h"        // a page of it
#include "kith/study/folds.h"             // networks of folds
#include "kith/study/recipes.h"           // published settings
#include "kith/study/config_keys.h"       // every key of a configuration

// Uses of a run.
#include "kith/use/evaluate_run.h"        // metrics, corruptions
#include "kith/use/score_files.h"         // metrics of embeddings in files
#include "kith/use/contact_sheet.h"       // what augmentations make of images
#include "kith/use/embed_images.h"        // descriptors
#include "kith/use/export_run.h"          // a network for use elsewhere
#include "kith/use/make_index.h"          // of images or embeddings
#include "kith/use/change_index.h"        // adding and removing
#include "kith/use/index_model.h"         // the network that made it
#include "kith/use/search_index.h"        // for images or embeddings
#include "kith/report/run_record.h"       // what a run's folder says
#include "kith/report/make_report.h"      // a page of runs
#include "kith/chart/chart.h"             // lines as SVG
#include "kith/serve/search_service.h"    // searches of many threads in batches
#include "kith/serve/routes.h"            // what kith serve answers
#include "kith/serve/http_server.h"       // to whom
#include "kith/use/serve_index.h"         // all three with an index and its model
// clang-format on
