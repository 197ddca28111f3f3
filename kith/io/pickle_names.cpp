#include "kith/io/pickle_names.h"

#include <algorithm>
#include <iterator>

namespace kith::detail {
namespace {

struct Names {
  std::string_view module;
  PickleRole role;
  std::string_view names;  ///< With a space on both sides of each.
};

// Only names of types that hold data, and of functions that build such types
// from data. Nothing that could look up, import or run something belongs here,
// although nothing here is ever called.
constexpr Names kNames[] = {
    // Python; __builtin__ and copy_reg are the names of Python 2.
    {"collections", PickleRole::kDict, " OrderedDict defaultdict Counter "},
    {"collections", PickleRole::kData, " deque "},
    {"builtins", PickleRole::kDict, " dict "},
    {"builtins", PickleRole::kSet, " set frozenset "},
    {"builtins", PickleRole::kBytes, " bytes bytearray "},
    {"builtins", PickleRole::kData,
     " bool complex float int list object range slice str tuple "},
    {"__builtin__", PickleRole::kDict, " dict "},
    {"__builtin__", PickleRole::kSet, " set frozenset "},
    {"__builtin__", PickleRole::kBytes, " bytes bytearray "},
    {"__builtin__", PickleRole::kData,
     " bool complex float int list long object slice str tuple unicode "
     "xrange "},
    {"_codecs", PickleRole::kBytes, " encode "},
    {"copyreg", PickleRole::kData, " _reconstructor "},
    {"copy_reg", PickleRole::kData, " _reconstructor "},
    {"argparse", PickleRole::kData, " Namespace "},
    {"types", PickleRole::kData, " SimpleNamespace "},
    {"datetime", PickleRole::kData, " date datetime time timedelta timezone "},
    {"decimal", PickleRole::kData, " Decimal "},
    {"pathlib", PickleRole::kData,
     " Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath "},
    {"pathlib._local", PickleRole::kData,
     " Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath "},

    // NumPy before and since 2.0.
    {"numpy", PickleRole::kData,
     " bool bool_ dtype float16 float32 float64 int16 int32 int64 int8 ndarray "
     "uint16 uint32 uint64 uint8 "},
    {"numpy.core.multiarray", PickleRole::kData, " _reconstruct scalar "},
    {"numpy._core.multiarray", PickleRole::kData, " _reconstruct scalar "},
    {"numpy.core.numeric", PickleRole::kData, " _frombuffer "},
    {"numpy._core.numeric", PickleRole::kData, " _frombuffer "},

    // PyTorch; CUDA tensors of old versions have their storages in torch.cuda.
    {"torch", PickleRole::kData,
     " BFloat16Storage BoolStorage ByteStorage CharStorage "
     "ComplexDoubleStorage ComplexFloatStorage DoubleStorage FloatStorage "
     "HalfStorage IntStorage LongStorage QInt32Storage QInt8Storage "
     "QUInt8Storage ShortStorage Size Tensor bfloat16 bool complex128 "
     "complex64 device float16 float32 float64 int16 int32 int64 int8 "
     "per_channel_affine per_tensor_affine uint8 "},
    {"torch.cuda", PickleRole::kData,
     " BFloat16Storage BoolStorage ByteStorage CharStorage DoubleStorage "
     "FloatStorage HalfStorage IntStorage LongStorage ShortStorage "},
    {"torch.storage", PickleRole::kData, " UntypedStorage "},
    {"torch._utils", PickleRole::kData,
     " _rebuild_meta_tensor_no_storage _rebuild_parameter "
     "_rebuild_parameter_with_state _rebuild_qtensor "
     "_rebuild_sparse_csr_tensor _rebuild_sparse_tensor _rebuild_tensor "
     "_rebuild_tensor_v2 _rebuild_tensor_v3 "},
    {"torch._tensor", PickleRole::kData, " _rebuild_from_type_v2 "},
    {"torch.nn.parameter", PickleRole::kData, " Buffer Parameter "},
    {"torch.serialization", PickleRole::kData, " _get_layout "},
    {"torch.jit._pickle", PickleRole::kData,
     " build_boollist build_doublelist build_intlist build_tensorlist "
     "restore_type_tag "},
    {"torch.torch_version", PickleRole::kData, " TorchVersion "},

    // What PyTorch Lightning keeps beside the weights.
    {"pytorch_lightning.utilities.parsing", PickleRole::kDict,
     " AttributeDict "},
    {"lightning.pytorch.utilities.parsing", PickleRole::kDict,
     " AttributeDict "},
    {"lightning_fabric.utilities.data", PickleRole::kDict, " AttributeDict "},
    {"lightning.fabric.utilities.data", PickleRole::kDict, " AttributeDict "},
    {"pytorch_lightning.callbacks.model_checkpoint", PickleRole::kData,
     " ModelCheckpoint "},
    {"pytorch_lightning.callbacks.early_stopping", PickleRole::kData,
     " EarlyStopping "},
};

bool has_name(std::string_view names, std::string_view name) {
  if (name.empty() || name.find(' ') != std::string_view::npos) return false;
  for (size_t at = names.find(name); at != std::string_view::npos;
       at = names.find(name, at + 1)) {
    if (names[at - 1] == ' ' && names[at + name.size()] == ' ') return true;
  }
  return false;
}

/// A class of a TorchScript program: its code is elsewhere in the archive, and
/// is not read.
bool is_script_class(std::string_view module) {
  return module == "__torch__" || module.starts_with("__torch__.");
}

}  // namespace

std::optional<PickleRole> pickle_role(std::string_view module,
                                      std::string_view name) {
  if (is_script_class(module)) return PickleRole::kData;
  const auto* const found =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const Names& row) {
        return row.module == module && has_name(row.names, name);
      });
  if (found == std::end(kNames)) return std::nullopt;
  return found->role;
}

}  // namespace kith::detail
