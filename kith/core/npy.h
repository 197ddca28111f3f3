#pragma once

#include <string>

#include "kith/core/array.h"

namespace kith {

/// Reads a NumPy .npy file, format 1, 2 or 3: '<f2', '<f4', '<f8', '<i4',
/// '<i8', '|u1' and '|b1' in C order. Everything else (big endian, objects,
/// structured, Fortran order of a matrix) is a DataError that says what to do
/// in NumPy. The header must agree with the size of the file to the byte; that
/// is checked before the data is allocated.
Array read_npy(const std::string& path);

/// Writes format 1, atomically (see write_file_atomically). NumPy has no
/// bfloat16: DataError.
void write_npy(const std::string& path, const ArrayView& array);

}  // namespace kith
