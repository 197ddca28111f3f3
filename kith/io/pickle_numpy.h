#pragma once

#include <string>

#include "kith/io/array.h"
#include "kith/io/pickle.h"

namespace kith {

/// Whether an object of a pickle is a NumPy array or a NumPy number.
bool is_numpy(const Pickle& pickle, const PickleNode& node);

/// A NumPy array, or a NumPy number as an array without dimensions, where its
/// elements lie in the pickle, which must outlive the view. They may lie at any
/// address: copy them with memcpy.
///
/// Little-endian int32, int64, float32 and float64 in C order, as NumPy before
/// and since 2.0 pickles them with protocols 0 to 5. DataError that starts with
/// `where` for anything else, and for data that is not as long as the shape.
ArrayView numpy_view(const Pickle& pickle, const PickleNode& node,
                     const std::string& where);

}  // namespace kith
