#pragma once

#include <string>
#include <vector>

namespace kith {

// What the tests in Python have done by kith, in one program: starting LibTorch
// and compiling against it are slow. Tensors go through files.

using Arguments = std::vector<std::string>;

/// BACKBONE...: all options of each, with an empty line behind it.
void print_backbones(const Arguments& names);

/// BACKBONE WEIGHTS INPUT.npy OUT_MAP.npy [OUT_TOKEN.npy]: a backbone with the
/// weights of a file and the statistics of batch norm kept, on pictures
/// [N, C, S, S] float32.
void run_backbone(const Arguments& arguments);

/// make CONFIG ROWS.npy INDEX, or search INDEX QUERIES.npy OUT.
void use_index(const Arguments& arguments);

/// FOLDER LIST: of each item of the list "models" (name, model, and perhaps
/// onnx, other_size, exact, checkpoint) a network with random weights:
///
///     FOLDER/NAME.onnx
///     FOLDER/NAME.{1,7,other}.images.npy   so many pictures, or two of another
///                                   size, as the ONNX model takes them
///     FOLDER/NAME.{1,7,other}.embeddings.npy   what kith makes of them
///     FOLDER/NAME.{1,7}.exact.npy   with "exact", the same in double
///     FOLDER/NAME.safetensors   with "checkpoint", the model of kith
void write_onnx_models(const Arguments& arguments);

/// REQUEST.json with name, options, labels, categories, seed, epoch and, of a
/// sampler that chooses by embeddings, pool, an .npy file: the batches of the
/// epoch in JSON.
void print_plan(const Arguments& arguments);

/// CONFIG FOLDER: trains as CONFIG says, as `kith train` does.
///
///     FOLDER/plan.json   a list of {"images", "classes"} for each step
///     FOLDER/start       a run of one step with learning rate 0: its
///                        checkpoint has the weights to start from
///     FOLDER/run         the run
void train_and_plan(const Arguments& arguments);

/// Writes what read_weights makes of a file to a .safetensors file. Of two
/// lines of input, one names the first file and one the second; the answer is
/// an empty line or the error, so that one process serves many files.
void dump_weights(const Arguments& arguments);

}  // namespace kith
