#pragma once

// All of kith, in the order in which data walks through it.

// clang-format off
#include "kith/core/config.h"           // YAML with lines, overrides
#include "kith/core/device.h"           // CPU threads, GPUs
#include "kith/core/log.h"              // where messages go
#include "kith/core/progress.h"         // where progress goes
#include "kith/io/tensor_io.h"        // .npy files as tensors
#include "kith/data/data_set.h"         // image lists and pictures
#include "kith/data/file_sets.h"        // lists and folders of your own
#include "kith/data/published_sets.h"   // CUB, Cars, SOP, In-Shop, ...
#include "kith/data/generated_sets.h"   // glyphs, landmarks, points
#include "kith/image/decode.h"           // image files to pictures
#include "kith/samplers/sampler.h"      // which images make a batch
#include "kith/data/augment.h"          // random changes of training images
#include "kith/data/augmentations.h"    // those there are
#include "kith/data/corruptions.h"      // damages to measure robustness with
#include "kith/data/loader.h"           // decoding ahead
#include "kith/models/embedding_net.h"  // backbone and head
#include "kith/models/backbones.h"      // those there are
#include "kith/models/weights.h"        // pretrained backbones
#include "kith/ops/pairwise.h"          // distances and similarities
#include "kith/miners/miner.h"          // which tuples a loss sees
#include "kith/losses/loss.h"           // objectives
#include "kith/run/run_folder.h"        // where a run keeps what
#include "kith/run/run_metrics.h"       // what it found
#include "kith/run/checkpoint.h"        // safe, resumable
#include "kith/train/export_model.h"    // for use elsewhere
#include "kith/train/model_embedding.h" // as the run was evaluated
#include "kith/train/trainer.h"         // the loop
#include "kith/train/optimizers.h"      // SGD, Adam, AdamW
#include "kith/train/schedules.h"       // learning rates
#include "kith/train/experiment.h"      // selection, then the final run
#include "kith/index/rows.h"            // embeddings in memory or in a file
#include "kith/index/flat.h"            // exact search
#include "kith/index/ranks.h"           // exact ranks
#include "kith/index/stored_index.h"    // vectors with their images
#include "kith/index/flat_file.h"       // any number of vectors in a file
#include "kith/index/recall.h"          // of what is exact
#include "kith/index/export_shards.h"   // for other vector stores
#include "kith/eval/embed.h"            // images to embeddings
#include "kith/eval/embed_image.h"      // one image to its embedding
#include "kith/eval/embed_blocks.h"     // more than fits in memory
#include "kith/eval/whitening.h"        // of embeddings
#include "kith/eval/embedded_split.h"   // a split under a protocol
#include "kith/eval/evaluate.h"         // embeddings to metrics
#include "kith/eval/metrics.h"          // each of them
#include "kith/eval/protocols.h"        // who is searched among whom
#include "kith/eval/evaluator.h"        // a network to metrics
#include "kith/study/study.h"           // many trainings, what they differ in
#include "kith/study/sweep.h"           // running them
#include "kith/use/embed_images.h"      // descriptors of a run's network
#include "kith/use/evaluate_run.h"      // metrics of a run, corruptions
#include "kith/use/make_index.h"        // of images or embeddings
#include "kith/use/change_index.h"      // adding and removing
#include "kith/use/index_model.h"       // the network that made it
#include "kith/report/run_record.h"     // what a run's folder says
#include "kith/report/make_report.h"    // the page of runs
#include "kith/serve/search_service.h"  // searches of many threads in batches
#include "kith/serve/routes.h"          // what kith serve answers
#include "kith/serve/http_server.h"     // to whom
// clang-format on
