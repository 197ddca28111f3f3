#include "kith/io/pth.h"

#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/pth_files.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

const RawStorages& six_floats() {
  static const RawStorages storages = {{"0", raw_floats({0, 1, 2, 3, 4, 5})}};
  return storages;
}

/// A tensor in the six floats.
std::string view(const std::vector<int64_t>& shape,
                 const std::vector<int64_t>& strides, int64_t offset = 0) {
  return p_tensor({"0", 6, shape, strides, offset});
}

std::vector<float> floats(const Array& array) {
  const auto values = array.values<float>();
  return {values.begin(), values.end()};
}

class PthTest : public ::testing::Test {
 protected:
  PthFile open(const std::string& bytes) {
    return PthFile(dir_.write("a.pth", bytes));
  }
  PthFile open_dict(
      const std::vector<std::pair<std::string, std::string>>& items) {
    return open(raw_pth(p_dict(items), six_floats()));
  }
  template <typename... Parts>
  void expect_refused(const std::string& bytes, const Parts&... parts) {
    expect_error<DataError>([&] { open(bytes); }, dir_.file("a.pth"), parts...);
  }
  template <typename... Parts>
  void expect_tensor_refused(const std::string& tensor, const Parts&... parts) {
    expect_refused(raw_pth(p_dict({{"t", tensor}}), six_floats()), parts...);
  }

  TempDir dir_;
};

/// Two tensors, one of them nested, in either format.
std::string small_file(bool legacy) {
  RawTensor a{"10", 3, {3}, {1}};
  RawTensor b{"20", 4, {2, 2}, {1, 2}};
  a.legacy = b.legacy = legacy;
  const std::string object = p_dict(
      {{"epoch", p_int(7)},
       {"state_dict", p_dict({{"a", p_tensor(a)}, {"b.c", p_tensor(b)}})}});
  const RawStorages storages = {{"10", raw_floats({1, 2, 3})},
                                {"20", raw_floats({4, 5, 6, 7})}};
  return legacy ? raw_legacy_pth(object, storages, 4)
                : raw_pth(object, storages);
}

void expect_small_file(const PthFile& file) {
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors()[0].name, "state_dict/a");
  EXPECT_EQ(file.tensors()[1].path,
            (std::vector<std::string>{"state_dict", "b.c"}));
  EXPECT_EQ(floats(file.read("state_dict/a")), (std::vector<float>{1, 2, 3}));
  const Array b = file.read("state_dict/b.c");
  EXPECT_EQ(b.shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(floats(b), (std::vector<float>{4, 6, 5, 7}));
}

TEST_F(PthTest, ReadsBothFormats) {
  for (const bool legacy : {false, true}) {
    expect_small_file(open(small_file(legacy)));
  }
}

TEST_F(PthTest, NamesWhatIsMissing) {
  const PthFile file = open(small_file(false));
  EXPECT_EQ(file.find("a"), nullptr);
  expect_error<DataError>([&] { file.read("a"); }, "a.pth", "'a'", "holds 2");
}

TEST_F(PthTest, ReadsEveryDtype) {
  const std::pair<const char*, DType> types[] = {
      {"DoubleStorage", DType::kF64}, {"FloatStorage", DType::kF32},
      {"HalfStorage", DType::kF16},   {"BFloat16Storage", DType::kBF16},
      {"LongStorage", DType::kI64},   {"IntStorage", DType::kI32},
      {"ByteStorage", DType::kU8},    {"BoolStorage", DType::kBool},
  };
  for (const auto& [type, dtype] : types) {
    std::string data;
    for (int64_t i = 0; i < 2 * size_of(dtype); ++i) {
      data += static_cast<char>(i % 2);
    }
    RawTensor tensor{"k", 2, {2}, {1}};
    tensor.type = type;
    const Array array =
        open(raw_pth(p_dict({{"t", p_tensor(tensor)}}), {{"k", data}}))
            .read("t");
    EXPECT_EQ(array.dtype, dtype);
    ASSERT_EQ(array.bytes.size(), data.size());
    EXPECT_EQ(std::memcmp(array.bytes.data(), data.data(), data.size()), 0);
  }
}

TEST_F(PthTest, MakesViewsContiguous) {
  const PthFile file = open_dict({
      {"all", view({2, 3}, {3, 1})},
      {"transposed", view({3, 2}, {1, 3})},
      {"column", view({2}, {3}, 1)},
      {"expanded", view({2, 2}, {0, 1}, 4)},
      {"scalar", view({}, {}, 5)},
      {"empty", view({0, 3}, {3, 1})},
      {"empty_far", view({0}, {1}, 100)},
      {"odd_strides", view({1, 2, 1}, {99, 2, INT64_MAX}, 1)},
  });
  EXPECT_EQ(floats(file.read("all")), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(floats(file.read("transposed")),
            (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(floats(file.read("column")), (std::vector<float>{1, 4}));
  EXPECT_EQ(floats(file.read("expanded")), (std::vector<float>{4, 5, 4, 5}));
  EXPECT_EQ(floats(file.read("scalar")), (std::vector<float>{5}));
  EXPECT_EQ(file.read("scalar").shape.size(), 0u);
  EXPECT_EQ(file.read("empty").shape, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(file.read("empty_far").count(), 0);
  EXPECT_EQ(floats(file.read("odd_strides")), (std::vector<float>{1, 3}));
}

TEST_F(PthTest, FindsTensorsInListsTuplesAndParameters) {
  const std::string tensor = view({1}, {1}, 3);
  const std::string parameter =
      p_global("torch._utils", "_rebuild_parameter") +
      p_tuple({tensor, "\x88", p_global("collections", "OrderedDict") + ")R"}) +
      "R";
  const std::string subclass =
      p_global("torch._tensor", "_rebuild_from_type_v2") +
      p_tuple({p_global("torch._utils", "_rebuild_tensor_v2"),
               p_global("torch.nn.parameter", "Buffer"),
               tensor.substr(tensor.find('('),
                             tensor.rfind('R') - tensor.find('(')),
               "}"}) +
      "R";
  const PthFile file =
      open_dict({{"list", "](N" + tensor + "e"},
                 {"tuple", tensor + "\x85"},
                 {"parameter", parameter},
                 {"subclass", subclass},
                 {"options", p_global("argparse", "Namespace") + ")\x81}b"},
                 {"numbers", "}K\5" + tensor + "s"}});
  std::vector<std::string> names;
  for (const PthTensor& found : file.tensors()) {
    names.push_back(found.name);
    EXPECT_EQ(floats(file.read(found)), (std::vector<float>{3})) << found.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"list/1", "tuple/0", "parameter",
                                             "subclass", "numbers/5"}));
}

TEST_F(PthTest, ReadsRenamedAndPackedArchives) {
  const std::string object = p_dict({{"t", view({6}, {1})}});
  const std::string data = six_floats()[0].second;
  const std::string bytes =
      raw_zip({{"my model/data.pkl", raw_deflated(p_pickle(object)), 8,
                static_cast<uint32_t>(p_pickle(object).size())},
               {"my model/data/0", raw_deflated(data), 8,
                static_cast<uint32_t>(data.size())}});
  EXPECT_EQ(floats(open(bytes).read("t")),
            (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

// Listed, so that nothing is left out unseen, but not readable.
TEST_F(PthTest, ListsTensorsOfOtherKinds) {
  RawTensor complex{"0", 3, {3}, {1}};
  complex.type = "ComplexFloatStorage";
  const PthFile file = open(raw_pth(
      p_dict({{"complex", p_tensor(complex)},
              {"sparse",
               p_global("torch._utils", "_rebuild_sparse_tensor") + ")R"}}),
      six_floats()));
  ASSERT_EQ(file.tensors().size(), 2u);
  expect_error<DataError>([&] { file.read("complex"); }, "'complex'",
                          "ComplexFloatStorage");
  expect_error<DataError>([&] { file.read("sparse"); }, "'sparse'",
                          "_rebuild_sparse_tensor");
}

TEST_F(PthTest, RefusesOtherFiles) {
  expect_refused("", "not a file of torch.save");
  expect_refused("x", "not a file of torch.save");
  expect_refused("\x80\2N.", "not a file of torch.save");
  expect_refused(raw_zip({{"a/b", "x"}}), "no data.pkl");
  expect_refused(raw_zip({{"a/b/data.pkl", "N."}}), "no data.pkl");
  expect_refused(raw_zip({{"a/data.pkl", "N."}, {"b/data.pkl", "N."}}), "two");
  expect_refused(raw_zip({{"a/data.pkl", "N."}, {"a/byteorder", "big"}}),
                 "big-endian");
  EXPECT_TRUE(open(raw_zip({{"a/data.pkl", "N."}})).tensors().empty());
}

TEST_F(PthTest, RefusesGadgets) {
  for (const bool legacy : {false, true}) {
    const std::string object =
        p_dict({{"w", p_global("os", "system") + p_str("id") + "\x85R"}});
    expect_refused(legacy ? raw_legacy_pth(object, {}, 4) : raw_pth(object, {}),
                   "'os.system'", "runs nothing");
  }
  expect_refused(p_pickle(p_global("posix", "system") + p_str("id") + "\x85R"),
                 "'posix.system'");
}

TEST_F(PthTest, RefusesIdsThatAreNoStorages) {
  const std::string call = p_global("torch._utils", "_rebuild_tensor_v2");
  for (const std::string& id :
       {p_str("0"), std::string(")"), std::string("N"),
        p_tuple({p_str("module"), p_global("torch", "Tensor"), p_str("f"),
                 p_str("source"), p_int(0)}),
        p_tuple({p_str("storage"), p_str("FloatStorage"), p_str("0"),
                 p_str("cpu"), p_int(6)}),
        p_tuple({p_str("storage"), p_global("torch", "FloatStorage"),
                 p_str("0"), p_str("cpu"), p_int(-6)})}) {
    expect_tensor_refused(id + "Q", "not a storage");
    expect_tensor_refused(id + "Q0N", "not a storage");
  }
  expect_tensor_refused(p_tuple({p_str("storage"), p_global("torch", "Tensor"),
                                 p_str("0"), p_str("cpu"), p_int(6)}) +
                            "Q",
                        "'torch.Tensor' is not a type of storage");
  expect_tensor_refused(call + ")R", "'t'", "not described");
  expect_tensor_refused(
      call + p_tuple({"N", p_int(0), p_ints({6}), p_ints({1})}) + "R", "'t'",
      "not described");
}

TEST_F(PthTest, RefusesTensorsOutsideOfTheirStorage) {
  for (const std::string& tensor :
       {view({7}, {1}), view({6}, {1}, 1), view({2}, {6}), view({}, {}, 6),
        view({2, 3}, {3, 2}), view({2}, {INT64_MAX}, 1),
        view({INT64_MAX, 1}, {1, 1}), view({3, 3}, {INT64_MAX / 2, 5}),
        view({1, 1 << 20}, {0, 1}), view({1}, {1}, INT64_MAX)}) {
    expect_tensor_refused(tensor, "'t'");
  }
  expect_tensor_refused(view({INT64_MAX, INT64_MAX}, {0, 0}), "too large");
  expect_tensor_refused(view({6}, {}), "broken shape");
  expect_tensor_refused(view({6}, {1}, -1), "broken");
  expect_tensor_refused(view({-1}, {1}), "at least 0");
  expect_tensor_refused(view({2}, {-1}, 1), "at least 0");
  expect_tensor_refused(
      view(std::vector<int64_t>(65, 1), std::vector<int64_t>(65, 1)), "broken");
}

TEST_F(PthTest, RefusesTensorsThatGrowWithoutBound) {
  EXPECT_EQ(open_dict({{"t", view({1000, 1000}, {0, 0})}}).read("t").count(),
            1'000'000);
  expect_tensor_refused(view({1 << 30}, {0}), "16 times");
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 100; ++i) {
    many.emplace_back(std::to_string(i), view({1 << 20}, {0}));
  }
  expect_refused(raw_pth(p_dict(many), six_floats()), "16 times");
}

TEST_F(PthTest, RefusesStoragesOfOtherSizes) {
  expect_refused(raw_pth(p_dict({{"t", view({1}, {1})}}), {}),
                 "'archive/data/0'", "missing");
  expect_refused(
      raw_pth(p_dict({{"t", view({1}, {1})}}), {{"0", raw_floats({1, 2, 3})}}),
      "24 bytes", "has 12");
  expect_tensor_refused(p_tensor({"0", INT64_MAX, {1}, {1}}), "too large");
  RawTensor legacy{"0", 6, {1}, {1}};
  legacy.legacy = true;
  const std::string object = p_dict({{"t", p_tensor(legacy)}});
  expect_refused(raw_legacy_pth(object, {{"0", raw_floats({1})}}, 4),
                 "should have 6 elements, has 1");
  expect_refused(raw_legacy_pth(object, {{"1", raw_floats({1})}}, 4),
                 "no tensor uses storage '1'");
  expect_refused(raw_legacy_pth(object, {}, 4), "data is missing");
  RawTensor other = legacy;
  other.storage_numel = 5;
  expect_refused(
      raw_legacy_pth(p_dict({{"t", p_tensor(legacy)}, {"u", p_tensor(other)}}),
                     six_floats(), 4),
      "two different sizes");
}

TEST_F(PthTest, RefusesRepeatedNamesAndExponentialPaths) {
  expect_refused(raw_pth(p_dict({{"t", view({1}, {1})}, {"t", view({}, {})}}),
                         six_floats()),
                 "'t' appears twice");
  std::string shared = view({1}, {1});
  for (int i = 0; i < 60; ++i) shared += "2\x86";
  expect_refused(raw_pth(shared, six_floats()), "too many places");
}

TEST_F(PthTest, RefusesEveryTruncation) {
  for (const bool legacy : {false, true}) {
    const std::string good = small_file(legacy);
    const std::string path = dir_.write("a.pth", good);
    for (size_t size = good.size(); size > 0; --size) {
      std::filesystem::resize_file(path, size - 1);
      EXPECT_THROW(PthFile{path}, DataError) << legacy << " " << size - 1;
    }
  }
}

TEST_F(PthTest, DamageNeverDoesMoreThanThrowDataError) {
  std::mt19937_64 random(7);
  for (const bool legacy : {false, true}) {
    const std::string good = small_file(legacy);
    for (int i = 0; i < 400; ++i) {
      const std::string bytes = damage(good, random);
      try {
        const PthFile file = open(bytes);
        for (const PthTensor& tensor : file.tensors()) file.read(tensor);
      } catch (const DataError&) {
      }
    }
  }
}

}  // namespace
}  // namespace kith
