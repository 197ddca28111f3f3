#pragma once

#include <cstddef>
#include <functional>
#include <type_traits>

#include "kith/core/tensor.h"
#include "kith/distributed/batch_lanes.h"
#include "kith/ops/cpu_level.h"
#include "kith/ops/row_kernels.h"
#include "kith/ops/row_layout.h"

namespace kith {

/// A loss that is a function of the rows of a similarity matrix, as the engine
/// takes it: its parameters and its kernels for this machine.
struct RowLoss {
  const void* params = nullptr;
  size_t param_bytes = 0;
  RowKernels<float> cpu_float;
  RowKernels<double> cpu_double;
  RowKernels<float> cuda_float;
  RowKernels<double> cuda_double;
  /// Similarities stand for squared distances: s = 1 - |x - y|^2 / 2, with the
  /// gradient of the distance, also for vectors that are not unit.
  bool euclidean = false;
};

/// `params` must outlive the loss.
template <class Params>
RowLoss make_row_loss(const Params& params) {
  RowLoss loss;
  static_assert(std::is_trivially_copyable_v<Params>);
  loss.params = &params;
  loss.param_bytes = sizeof params;
  switch (cpu_level()) {
    case CpuLevel::kPlain:
      loss.cpu_float = PlainRows<Params, float>::kernels;
      loss.cpu_double = PlainRows<Params, double>::kernels;
      break;
    case CpuLevel::kAvx2:
      loss.cpu_float = Avx2Rows<Params, float>::kernels;
      loss.cpu_double = Avx2Rows<Params, double>::kernels;
      break;
    case CpuLevel::kAvx512:
      loss.cpu_float = Avx512Rows<Params, float>::kernels;
      loss.cpu_double = Avx512Rows<Params, double>::kernels;
      break;
  }
  loss.cuda_float = CudaRows<Params, float>::kernels;
  loss.cuda_double = CudaRows<Params, double>::kernels;
  return loss;
}

/// Makes the loss of these parameters, which it holds. Kernels are chosen at
/// each call, for the level of the processor in use may change.
template <class Params>
std::function<RowLoss()> row_maker(const Params& params) {
  return [params] { return make_row_loss(params); };
}

struct RowInput {
  Tensor rows;        ///< [R, D] float32 or float64: the queries
  Tensor row_labels;  ///< [R] int64, any order
  /// The database, if the queries are not their own.
  Tensor columns;        ///< [C, D]
  Tensor column_labels;  ///< [C]
  Tensor self;           ///< [R] which column is the query itself, or -1
  Tensor target;         ///< [R] the one positive of a query, or undefined: all
  MixedPairs mixed;      ///< SiMix; only without a database
  bool normalize = false;  ///< Divide rows and columns by their norms first.
  /// How ranks divide the walks; null, or with a database: every rank walks
  /// all.
  const BatchLanes* lanes = nullptr;
};

/// How matrix products are computed on a GPU; elsewhere in the vectors' type.
enum class RowProducts {
  kFloat32,
  /// Similarities are off by at most about 1e-3. Those of many unit vectors
  /// are computed as with kFloat16, which is nearer and faster.
  kTf32,
  /// Vectors rounded to float16, for unit vectors: similarities are off by
  /// about 1e-5 (5e-4 at most). The slopes are rounded to bfloat16 for the
  /// gradient, and so are the vectors there.
  kFloat16,
  /// Vectors as sums of two bfloat16, of whose four products the three large
  /// ones count: similarities are off by about 1e-6 (1e-5 at most). The
  /// gradient is that of kFloat16.
  kBf16Split,
};

struct RowLimits {
  /// For blocks of similarities and tables of the pairs within classes; besides
  /// these the engine needs O(M D).
  int64_t memory_mb = 512;
  RowProducts products = RowProducts::kFloat32;
  int64_t edge = 0;  ///< Most rows and columns of a block; 0: by the budget.
};

struct RowOutput {
  Tensor value;  ///< scalar, of the input's type
  /// [R, D], if wanted; where ranks divide the walks, zero but for the rows of
  /// this rank.
  Tensor row_gradient;
  Tensor column_gradient;         ///< [C, D], if wanted and there is a database
  int64_t rows = 0;               ///< Rows, virtual ones among them.
  int64_t without_positives = 0;  ///< Rows without one, which are left out.
};

/// Value and gradient of a row loss.
///
/// Rows and columns are sorted by label, so that each row's class is one range
/// of columns. What happens within classes is O(sum of squared class sizes) and
/// is done pair by pair; the rest, the negatives, is walked twice in blocks of
/// similarities:
///
///     S = X_I X_J^T                  first walk: what each row must know
///     W_IJ = dL/dS_IJ + dL/dS_JI^T   second walk
///     dX_I += W_IJ X_J,  dX_J += W_IJ^T X_I
///
/// Since S is symmetric a block I <= J serves its rows and its columns: 2
/// products of M x M x D in all, and 1.5 where several blocks fit into the
/// budget and are kept. With a database both walks take all blocks, rows' side
/// only, and on a GPU the first walk does for losses that count in bins. Extra
/// memory is the budget and O(M D); errors say what to change if the classes'
/// tables do not fit.
///
/// Several lanes: every rank knows all vectors and labels. It walks the rows of
/// its lanes over all columns; what the rows then know (fields and notes) is
/// gathered, so that every rank can close all rows and has their totals and
/// values; the second walk takes the rows' side of all blocks, 3 products of M
/// x M x D divided by the ranks; and the gradient of a row is sent to the rank
/// whose example it is. Nothing of size M x D is added up between ranks.
RowOutput run_rows(const RowLoss& loss, const RowInput& input,
                   const RowLimits& limits, bool with_gradient);

class RowReplay;

/// The same as a differentiable function of rows and columns: computes the
/// gradient with the value if it is needed, and refuses a second derivative.
/// `replay`, if given, is of the losses that come here one after the other.
RowOutput differentiable_rows(const RowLoss& loss, const RowInput& input,
                              const RowLimits& limits,
                              RowReplay* replay = nullptr);

}  // namespace kith
