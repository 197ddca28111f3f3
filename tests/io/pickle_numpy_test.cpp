#include "kith/io/pickle_numpy.h"

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/file.h"
#include "kith/io/byte_stream.h"
#include "tests/support/expect_error.h"
#include "tests/support/pickles.h"

namespace kith {
namespace {

using ::testing::ElementsAre;

template <typename T>
std::vector<T> elements(const ArrayView& view) {
  std::vector<T> values(static_cast<size_t>(view.byte_size()) / sizeof(T));
  if (!values.empty()) {
    std::memcpy(values.data(), view.data, values.size() * sizeof(T));
  }
  return values;
}

/// dtype('<code>') of this byte order, in protocol 0.
std::string dtype(const std::string& code, const std::string& order = "<") {
  return "cnumpy\ndtype\n(V" + code + "\nI00\nI01\ntR(I3\nV" + order +
         "\nNNNI-1\nI-1\nI0\ntb";
}

/// An array as NumPy describes it: shape and contents are instructions.
std::string array(const std::string& shape, const std::string& type,
                  const std::string& data, const std::string& fortran = "I00\n",
                  const std::string& core = "core") {
  return "cnumpy." + core +
         ".multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntVb\ntR(I1\n" +
         shape + type + fortran + data + "tb.";
}

/// Bytes in protocol 3.
std::string bytes(const std::string& text) {
  return "C" + std::string(1, static_cast<char>(text.size())) + text;
}

/// _frombuffer(data, dtype, shape, order)
std::string buffer(const std::string& order) {
  return "cnumpy.core.numeric\n_frombuffer\n(" + bytes("abcdefgh") +
         dtype("i4") + "(I2\nt" + "V" + order + "\ntR.";
}

template <typename... Parts>
void expect_array_refused(const std::string& pickled, const Parts&... parts) {
  const Pickle pickle = parse_pickle(pickled);
  expect_error<DataError>(
      [&] { numpy_view(pickle, pickle.root(), "a.pkl: x"); }, "a.pkl: x",
      parts...);
}

TEST(PickleNumpy, ReadsArraysOfBothNamesOfNumpyCore) {
  for (const char* core : {"core", "_core"}) {
    const Pickle pickle = parse_pickle(
        array("(I2\nt", dtype("i4"),
              bytes(raw({"\x05\0\0\0\xff\xff\xff\xff", 8})), "I00\n", core));
    ASSERT_TRUE(is_numpy(pickle, pickle.root()));
    const ArrayView view = numpy_view(pickle, pickle.root(), "x");
    EXPECT_EQ(view.dtype, DType::kI32);
    EXPECT_THAT(view.shape, ElementsAre(2));
    EXPECT_THAT(elements<int32_t>(view), ElementsAre(5, -1));
  }
}

TEST(PickleNumpy, ReadsPython2StringsAsBytes) {
  const Pickle pickle = parse_pickle(array(
      "(I1\nI1\nt", dtype("f8"), "S'\\x00\\x00\\x00\\x00\\x00\\x00\\xf8?'\n"));
  const ArrayView view = numpy_view(pickle, pickle.root(), "x");
  EXPECT_THAT(view.shape, ElementsAre(1, 1));
  EXPECT_THAT(elements<double>(view), ElementsAre(1.5));
}

TEST(PickleNumpy, ReadsNumbersAndBuffers) {
  const Pickle number =
      parse_pickle("cnumpy.core.multiarray\nscalar\n(" + dtype("f4") +
                   bytes(raw({"\0\0\x20\x40", 4})) + "tR.");
  ASSERT_TRUE(is_numpy(number, number.root()));
  const ArrayView view = numpy_view(number, number.root(), "x");
  EXPECT_TRUE(view.shape.empty());
  EXPECT_THAT(elements<float>(view), ElementsAre(2.5f));

  const Pickle pickle = parse_pickle(buffer("C"));
  EXPECT_THAT(numpy_view(pickle, pickle.root(), "x").shape, ElementsAre(2));
  expect_array_refused(buffer("F"), "Fortran order");
}

TEST(PickleNumpy, OtherObjectsAreNotNumpy) {
  for (const char* text : {"N.", "(I1\nt.", "cnumpy\ndtype\n(Vi8\ntR."}) {
    const Pickle pickle = parse_pickle(text);
    EXPECT_FALSE(is_numpy(pickle, pickle.root())) << text;
  }
}

TEST(PickleNumpy, RefusesWhatItCannotRead) {
  const std::string eight = bytes("abcdefgh");
  expect_array_refused(array("(I1\nt", dtype("i8"), eight, "I01\n"),
                       "Fortran order", "ascontiguousarray");
  expect_array_refused(array("(I1\nt", dtype("i8", ">"), eight), "big-endian");
  expect_array_refused(array("(I1\nt", dtype("O8"), "(lN"), "'O8'", "int32");
  expect_array_refused(array("(I1\nt", dtype("U2"), eight), "'U2'", "float64");
  expect_array_refused(array("(I1\nt", "Vi8\n", eight), "not a dtype");
  expect_array_refused(array("(I1\nt", dtype("i8"), "I5\n"), "not bytes");
  expect_array_refused(array("I1\n", dtype("i8"), eight), "shape");
  expect_array_refused(array("(Vx\nt", dtype("i8"), eight), "integers");
}

TEST(PickleNumpy, RefusesContentsOfAnotherSizeThanTheShape) {
  const std::string eight = bytes("abcdefgh");
  for (const char* shape :
       {"(I2\nt", "(I0\nt", "(I-1\nt", "(I-1\nI-1\nt",
        "(I4611686018427387904\nI4\nt", "(I9223372036854775807\nt"}) {
    expect_array_refused(array(shape, dtype("i8"), eight),
                         "do not fit its shape");
  }
  std::string deep = "(";
  for (int i = 0; i < 65; ++i) deep += "I1\n";
  expect_array_refused(array(deep + "t", dtype("i8"), eight), "64 axes");
}

TEST(PickleNumpy, RefusesArraysThatAreDescribedInAnotherWay) {
  const std::string start =
      "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntVb\ntR";
  expect_array_refused(start + ".", "no contents");
  expect_array_refused(start + "(I1\ntb.", "as NumPy does");
  expect_array_refused(start + "Nb.", "as NumPy does");
  expect_array_refused("cnumpy.core.multiarray\nscalar\n(tR.", "as NumPy does");
  expect_array_refused("cnumpy.core.numeric\n_frombuffer\n(NtR.",
                       "as NumPy does");
  expect_array_refused("cnumpy\ndtype\n(Vi8\ntR.", "not a NumPy array");
}

}  // namespace
}  // namespace kith
