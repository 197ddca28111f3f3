// Readers of files from elsewhere, with files made to cost more than their
// size; more are in tests/data and tests/train.

#include "tests/support/reader_bounds.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "kith/core/config.h"
#include "kith/core/json.h"
#include "kith/io/npy.h"
#include "kith/io/pth.h"
#include "kith/io/safetensors.h"
#include "tests/support/deflated.h"
#include "tests/support/pth_files.h"

namespace kith {
namespace {

using std::string_view_literals::operator""sv;
using Files = std::vector<HostileFile>;

constexpr size_t kMega = 1'000'000;

void read_json(const std::string& path) {
  try {
    parse_json(read_file(path, 1 << 28));
  } catch (const nlohmann::ordered_json::exception& error) {
    throw DataError(error.what());
  }
}

Files json_files() {
  const auto keys = [] {
    return "{" +
           numbered(kMega,
                    [](const std::string& i) { return "\"" + i + "\":0,"; }) +
           "\"\":0}";
  };
  const auto file = [](const std::string& name, const auto& bytes,
                       const std::string& error = "") {
    return HostileFile{"json_" + name, "x.json", bytes, read_json, error};
  };
  return {
      file("keys", keys),
      file(
          "nested", [] { return std::string(kMega, '['); }, "nested too deep"),
      file(
          "nested_objects", [] { return repeated("{\"a\":", kMega); },
          "nested too deep"),
      file("lists", [] { return "[" + repeated("[],", kMega) + "0]"; }),
      file("texts", [] { return "[" + repeated("\"\",", kMega) + "0]"; }),
      file("objects",
           [] { return "[" + repeated("{\"a\":0},", kMega) + "0]"; }),
      // As the first of a growing object it must not be copied as that grows.
      file("first_is_large",
           [=] {
             std::string text = keys();
             for (int i = 0; i < 40; ++i) {
               text = "{\"x\":" + text +
                      numbered(10'000,
                               [](const std::string& k) {
                                 return ",\"" + k + "\":0";
                               }) +
                      "}";
             }
             return text;
           }),
      file(
          "too_many", [] { return "[" + repeated("0,", 33 * kMega) + "0]"; },
          "too many values"),
      file(
          "twice", [] { return R"({"a": 1, "b": 2, "a": 3})"; },
          "appears twice"),
      file(
          "number", [] { return std::string(kMega, '1'); }, "not JSON"),
  };
}

Files yaml_files() {
  const std::string large = "too large or too deeply nested";
  const auto file = [](const std::string& name, const auto& bytes,
                       const std::string& error = "") {
    // yaml-cpp reads a line of brackets to its end before it says anything.
    return HostileFile{
        "yaml_" + name, "x.yaml",
        bytes,          [](const std::string& path) { load_config(path); },
        error,          400};
  };
  return {
      file(
          "keys",
          [] {
            return numbered(kMega,
                            [](const std::string& i) { return i + ": 0\n"; });
          },
          large),
      file(
          "list", [] { return "a: [" + repeated("b,", kMega) + "]\n"; }, large),
      file(
          "nested", [] { return repeated("[", kMega); }, large),
      file(
          "nested_keys", [] { return repeated("? ", kMega); }, large),
      file(
          "dashes", [] { return repeated("- ", kMega); }, large),
      // "Billion laughs".
      file(
          "aliases",
          [] {
            std::string text = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
            for (char c = 'b'; c < 'm'; ++c) {
              const std::string before = {'*', static_cast<char>(c - 1), ','};
              text += std::string({c, ':', ' ', '&', c}) + " [" +
                      repeated(before, 30) + "]\n";
            }
            return text;
          },
          large),
      file(
          "long_alias",
          [] {
            return "a: &a " + std::string(kMega / 2, 'x') + "\nb: [" +
                   repeated("*a,", kMega / 10) + "]\n";
          },
          large),
      file("anchors",
           [] {
             return "a:\n" + numbered(kMega, [](const std::string& i) {
                      return "- &a" + i + " x\n";
                    });
           }),
      file("text", [] { return "a: " + std::string(kMega, 'x') + "\n"; }),
      file(
          "too_long", [] { return "a: " + std::string(5 * kMega, 'x'); },
          "bytes"),
      // The configuration in a checkpoint, which is no file.
      {"yaml_of_checkpoint", "x.yaml",
       [] { return "a: [" + repeated("b,", 5 * kMega) + "]\n"; },
       [](const std::string& path) {
         parse_config(read_file(path, 1 << 24), path);
       },
       "at most 4194304 are accepted"},
  };
}

void open_npy(const std::string& path) { read_npy(path); }

std::string npy_file(const std::string& header) {
  std::string bytes("\x93NUMPY\2\0"sv);
  return bytes + little_endian(static_cast<uint32_t>(header.size())) + header;
}

void open_safetensors(const std::string& path) {
  const SafetensorsFile file(path);
}

std::string safetensors_file(const std::string& header) {
  return little_endian<uint64_t>(header.size()) + header;
}

Files arrays() {
  return {
      {"npy_size", "x.npy",
       [] {
         return npy_file(
             "{'descr': '<f4', 'fortran_order': False, 'shape': "
             "(1000000, 1000000, 1000000), }");
       },
       open_npy, "truncated"},
      {"npy_shape", "x.npy",
       [] {
         return npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                         repeated("1,", kMega) + "), }");
       },
       open_npy, "64 dimensions"},
      {"npy_header", "x.npy", [] { return npy_file(std::string(kMega, ' ')); },
       open_npy, "bad npy header"},
      {"safetensors_length", "x.safetensors",
       [] { return little_endian<uint64_t>(~uint64_t{0} >> 1) + "{}"; },
       open_safetensors, "at most"},
      {"safetensors_tensors", "x.safetensors",
       [] {
         return safetensors_file(
             "{" +
             numbered(
                 kMega,
                 [](const std::string& i) {
                   return "\"" + i +
                          R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)";
                 }) +
             R"("x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})");
       },
       open_safetensors},
      {"safetensors_metadata", "x.safetensors",
       [] {
         return safetensors_file("{\"__metadata__\":{" +
                                 numbered(kMega,
                                          [](const std::string& i) {
                                            return "\"" + i + "\":\"\",";
                                          }) +
                                 "\"\":\"\"}}");
       },
       open_safetensors},
      {"safetensors_nested", "x.safetensors",
       [] { return safetensors_file(std::string(kMega, '[')); },
       open_safetensors, "bad safetensors header"},
      {"safetensors_shape", "x.safetensors",
       [] {
         return safetensors_file(R"({"x":{"dtype":"F32","shape":[)" +
                                 repeated("1,", kMega));
       },
       open_safetensors, "64 dimensions"},
  };
}

/// Reads all tensors, one after another.
void read_pth(const std::string& path) {
  const PthFile file(path);
  for (const PthTensor& tensor : file.tensors()) file.read(tensor);
}

/// A file of torch.save whose pickle is packed, as torch.save never does.
std::string packed_pth(const std::string& object) {
  const std::string pickle = p_pickle(object);
  return raw_zip({{"archive/data.pkl", deflated(pickle, false), 8,
                   static_cast<uint32_t>(pickle.size())}});
}

/// ('storage', FloatStorage, key, 'cpu', 0) with the key in the memo.
std::string ids_of_one_key(size_t key_bytes, size_t ids) {
  const std::string key = p_str(std::string(key_bytes, 'k'));
  const std::string first = "(" + p_str("storage") + "q\1" +
                            p_global("torch", "FloatStorage") + "q\2" + key +
                            "q\3" + p_str("cpu") + "q\4" + p_int(0) + "q\5tQ";
  return "](" + first + repeated("(h\1h\2h\3h\4h\5tQ", 13 * ids) + "e";
}

std::string one_tensor_often(size_t times) {
  RawTensor tensor;
  tensor.shape = {0};
  tensor.strides = {1};
  return "](" + p_tensor(tensor) + "q\1" + repeated("h\1", 2 * times) + "e";
}

/// Two numbers at both ends of a storage, again and again.
std::string views_with_a_gap(int64_t numel, int count) {
  std::vector<std::pair<std::string, std::string>> tensors;
  RawTensor view;
  view.storage_numel = numel;
  view.shape = {2};
  view.strides = {numel - 1};
  for (int i = 0; i < count; ++i) {
    tensors.emplace_back(std::to_string(i), p_tensor(view));
  }
  return raw_pth(p_dict(tensors),
                 {{"0", std::string(4 * static_cast<size_t>(numel), '\0')}});
}

Files pickles() {
  constexpr double kOfPickle = 300;  // a node takes 72 bytes, and grows
  const auto file = [](const std::string& name, const auto& bytes,
                       const std::string& error) {
    return HostileFile{"pth_" + name, "x.pth", bytes,
                       read_pth,      error,   kOfPickle};
  };
  return {
      file(
          "storage_key_packed",
          [] { return packed_pth(ids_of_one_key(200'000, 20'000)); },
          "at most"),
      file(
          "storage_key",
          [] { return raw_pth(ids_of_one_key(100'000, 60'000), {}); },
          "too many places"),
      file(
          "tensor_often",
          [] {
            return raw_pth(one_tensor_often(400'000), {{"0", ""}});
          },
          "too many places"),
      file(
          "views_with_a_gap", [] { return views_with_a_gap(250'000, 3'000); },
          "16 times"),
      file(
          "nothing_packed",
          [] { return packed_pth("](" + std::string(kMega, 'N') + "e"); },
          "at most"),
      file(
          "nothing",
          [] { return raw_pth("](" + std::string(kMega, 'N') + "e", {}); }, ""),
      file(
          "marks", [] { return raw_pth(std::string(kMega, '('), {}); },
          "broken pickle"),
      file(
          "nested",
          [] {
            return raw_pth(
                "](" + repeated("](", kMega) + repeated("e", kMega / 2) + "e",
                {});
          },
          "deep"),
      file(
          "memo",
          [] {
            return raw_pth("N" + numbered(kMega,
                                          [](const std::string& i) {
                                            return "p" + i + "\n";
                                          }),
                           {});
          },
          ""),
      file(
          "long_number",
          [] {
            return raw_pth("\x8b" + little_endian<uint32_t>(kMega) +
                               std::string(kMega, '\1'),
                           {});
          },
          ""),
      file(
          "text_length", [] { return raw_pth("X\xff\xff\xff\x7f", {}); },
          "truncated"),
      file(
          "entries",
          [] {
            std::vector<RawZipEntry> entries;
            for (int i = 0; i < 12'000; ++i) {
              entries.push_back({std::to_string(i), ""});
            }
            return raw_zip(entries);
          },
          "holds no data.pkl"),
  };
}

Files all_files() {
  Files all;
  for (const Files& files : {json_files(), yaml_files(), arrays(), pickles()}) {
    all.insert(all.end(), files.begin(), files.end());
  }
  return all;
}

class ReaderBounds : public testing::TestWithParam<HostileFile> {};

TEST_P(ReaderBounds, CostIsInProportion) { expect_bounded(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Files, ReaderBounds, testing::ValuesIn(all_files()),
                         [](const auto& file) { return file.param.name; });

}  // namespace
}  // namespace kith
