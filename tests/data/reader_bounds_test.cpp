// Readers of pictures and lists, with files made to cost more than their size;
// as tests/io/reader_bounds_test.cpp.

#include "tests/support/reader_bounds.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kith/data/file_sets.h"
#include "kith/data/ground_truth.h"
#include "kith/image/decode.h"
#include "kith/io/csv.h"
#include "kith/io/mat.h"
#include "kith/io/text_rows.h"
#include "tests/support/deflated.h"
#include "tests/support/mat_writer.h"
#include "tests/support/more_pictures.h"
#include "tests/support/pth_files.h"
#include "tests/support/raw_images.h"
#include "tests/support/raw_tar.h"

namespace kith {
namespace {

using std::string_view_literals::operator""sv;
using Files = std::vector<HostileFile>;

constexpr size_t kMega = 1'000'000;

void decode_file(const std::string& path) {
  DecodeLimits limits;
  limits.max_pixels = 16'000'000;  // of 3 bytes each: within the 64 MB
  decode_image(path, limits);
}

std::string png_chunk(std::string_view type, std::string_view body) {
  std::string bytes;
  put_big_endian(bytes, static_cast<uint32_t>(body.size()), 4);
  return bytes.append(type).append(body).append(4, '\0');
}

/// A PNG of one pixel with these chunks before or behind its data.
std::string png_with(const std::string& chunks, bool behind = false) {
  std::string png = raw_png({.rows = std::string(2, '\0')});
  const size_t at = png.find(behind ? "IEND" : "IDAT") - 4;
  return repair_png(png.insert(at, chunks));
}

/// What iCCP and zTXt hold: a name, and 7 MB packed in 7 KB.
std::string packed_text() {
  return std::string("a\0\0"sv) + deflated(std::string(7 * kMega, 'x'), true);
}

std::string png_texts(bool behind) {
  return png_with(repeated(png_chunk("zTXt", packed_text()), kMega), behind);
}

std::string jpeg_segment(char marker, std::string_view body) {
  std::string bytes = {'\xff', marker};
  put_big_endian(bytes, static_cast<uint32_t>(body.size() + 2), 2);
  return bytes.append(body);
}

/// A JPEG with these segments behind its start.
std::string jpeg_with(const std::string& segments) {
  std::string jpeg = flat_jpeg({.components = "x"});
  return jpeg.insert(2, segments);
}

Files pictures() {
  std::string exif("Exif\0\0MM\0\x2a\0\0\0\x08\xff\xff"sv);
  exif += std::string(60'000, '\1');
  const auto claims = [](int side) {
    return raw_png({.width = static_cast<uint32_t>(side),
                    .height = static_cast<uint32_t>(side),
                    .rows = "\0\0"});
  };
  return {
      {"png_texts", "x.png", [] { return png_texts(false); }, decode_file},
      {"png_texts_behind", "x.png", [] { return png_texts(true); },
       decode_file},
      {"png_profile", "x.png",
       [] { return png_with(png_chunk("iCCP", packed_text())); }, decode_file},
      {"png_palettes", "x.png",
       [] {
         return png_with(numbered(kMega / 2, [](const std::string& i) {
           return png_chunk("sPLT", i + std::string("\0\x08", 2));
         }));
       },
       decode_file},
      {"png_empty_chunks", "x.png",
       [] { return png_with(repeated(png_chunk("teXt", ""), kMega / 2)); },
       decode_file},
      {"png_empty_data", "x.png",
       [] { return png_with(repeated(png_chunk("IDAT", ""), kMega / 2)); },
       decode_file},
      {"png_size", "x.png", [=] { return claims(60'000); }, decode_file,
       "too large"},
      {"png_promise", "x.png", [=] { return claims(3'900); }, decode_file,
       "cannot hold a picture of this size"},
      {"jpeg_app1", "x.jpg",
       [] { return jpeg_with(repeated(jpeg_segment('\xe1', ""), kMega)); },
       decode_file},
      {"jpeg_exif", "x.jpg",
       [=] { return jpeg_with(repeated(jpeg_segment('\xe1', exif), kMega)); },
       decode_file},
      {"jpeg_comments", "x.jpg",
       [] { return jpeg_with(repeated(jpeg_segment('\xfe', ""), kMega)); },
       decode_file},
      {"jpeg_app2", "x.jpg",
       [] { return jpeg_with(repeated(jpeg_segment('\xe2', ""), kMega)); },
       decode_file},
      {"jpeg_tables", "x.jpg",
       [] {
         return jpeg_with(repeated(
             jpeg_segment('\xdb', '\0' + std::string(64, '\1')), kMega));
       },
       decode_file},
      {"jpeg_fill", "x.jpg",
       [] { return jpeg_with(std::string(kMega, '\xff')); }, decode_file},
      {"jpeg_size", "x.jpg",
       [] {
         return flat_jpeg(
             {.components = "xxx", .width = 65'000, .height = 65'000});
       },
       decode_file, "too large"},
      {"jpeg_promise", "x.jpg",
       [] {
         return flat_jpeg(
             {.components = "xxx", .width = 4'000, .height = 4'000});
       },
       decode_file, "truncated or corrupt"},
  };
}

/// A TIFF of one grey pixel with this many tags that nobody knows, each of
/// which says it has four billion values.
std::string tiff_with_tags(int count) {
  std::string tags;
  for (int i = 0; i < count; ++i) {
    tags += little_endian(static_cast<uint64_t>(i), 2) + little_endian(12, 2) +
            little_endian(0xffffffffu, 4) + little_endian(8, 4);
  }
  return "II*" + std::string(1, '\0') + little_endian(8, 4) +
         little_endian(static_cast<uint64_t>(count), 2) + tags +
         std::string(4, '\0');
}

/// An animation whose canvas has sides of 2^24 pixels.
std::string webp_of_any_size() {
  std::string bytes = animated_webp();
  return bytes.replace(24, 6, 6, '\xff');
}

// Errors of WebP and TIFF name the file, with the libraries or without.
Files more_pictures() {
  const auto bmp = [](int side, int bits, uint32_t compression,
                      const std::string& rows) {
    return raw_bmp({.width = side,
                    .height = side,
                    .bits = bits,
                    .compression = compression,
                    .between = std::string(bits > 8 ? 0 : 1024, '\0'),
                    .rows = rows});
  };
  const auto gif = [](int screen, std::vector<int> codes) {
    return raw_gif({.screen_width = screen,
                    .screen_height = screen,
                    .codes = std::move(codes)});
  };
  return {
      {"bmp_size", "x.bmp", [=] { return bmp(60'000, 24, 0, ""); }, decode_file,
       "too large"},
      {"bmp_promise", "x.bmp", [=] { return bmp(3'900, 24, 0, ""); },
       decode_file, "ends too early"},
      {"bmp_runs_promise", "x.bmp", [=] { return bmp(3'900, 8, 1, ""); },
       decode_file, "cannot hold a picture of this size"},
      {"bmp_row_ends", "x.bmp",
       [=] { return bmp(100, 8, 1, std::string(kMega, '\0')); }, decode_file,
       "ends too early"},
      {"gif_size", "x.gif", [=] { return gif(60'000, {}); }, decode_file,
       "too large"},
      {"gif_promise", "x.gif",
       [=] {
         return gif(3'900, {4, 0, 5});
       },
       decode_file, "cannot hold a picture of this size"},
      {"gif_clear_codes", "x.gif",
       [=] { return gif(100, std::vector<int>(2 * kMega, 4)); }, decode_file,
       "end too early"},
      {"gif_extensions", "x.gif",
       [=] {
         return gif(2, {}).substr(0, 25) +
                repeated(std::string("\x21\xf9\0", 3), kMega);
       },
       decode_file, "ends too early"},
      {"webp_size", "x.webp", webp_of_any_size, decode_file, "x.webp"},
      {"webp_chunks", "x.webp",
       [] {
         const std::string chunks =
             repeated("ANMF" + little_endian(0, 4), kMega);
         return "RIFF" + little_endian(4 + chunks.size(), 4) + "WEBP" + chunks;
       },
       decode_file, "x.webp"},
      {"tiff_size", "x.tif",
       [] { return raw_tiff({.width = 60'000, .height = 60'000}); },
       decode_file, "x.tif"},
      {"tiff_promise", "x.tif",
       [] {
         return raw_tiff({.width = 3'900, .height = 3'900, .pixels = "ab"});
       },
       decode_file, "x.tif"},
      {"tiff_strip_promise", "x.tif",
       [] {
         return raw_tiff({.width = 3'900,
                          .height = 3'900,
                          .strip_bytes = 0x7fffffff,
                          .pixels = "ab"});
       },
       decode_file, "x.tif"},
      {"tiff_tags", "x.tif", [] { return tiff_with_tags(65'000); }, decode_file,
       "x.tif"},
  };
}

void read_table(const std::string& path) { read_csv(path); }

void read_rows(const std::string& path) {
  TextRows rows(path);
  while (rows.next()) {
  }
}

Files lists() {
  return {
      {"csv_header_of_commas", "x.csv", [] { return repeated(",", kMega * 4); },
       read_table, "columns, at most 10000 are accepted", 4},
      {"csv_row_of_commas", "x.csv",
       [] { return "a,b\n" + repeated(",", kMega * 4); }, read_table,
       "expected 2 columns, got", 4},
      {"csv_without_header", "x.csv", [] { return repeated(",", kMega * 4); },
       [](const std::string& path) {
         read_csv(path, {.separator = ',', .has_header = false});
       },
       "columns, at most 10000 are accepted", 4},
      {"csv_rows", "x.csv", [] { return repeated("a\n", kMega); }, read_table,
       "", 128},
      {"csv_one_after_another", "x.csv", [] { return repeated("a\n", kMega); },
       [](const std::string& path) {
         CsvRows rows(path);
         while (rows.next() != nullptr) {
         }
       },
       "", 2},
      {"csv_quote", "x.csv", [] { return "a\n\"" + repeated("\"\"", kMega); },
       read_table, "unterminated quote"},
      {"csv_blank", "x.csv", [] { return "a\n" + repeated(" \n", kMega); },
       read_table},
      {"text_words", "x.txt", [] { return repeated("a ", kMega * 4); },
       read_rows, "more than 10000 words", 2},
      {"text_rows", "x.txt", [] { return repeated("a\n", kMega); }, read_rows,
       "", 2},
  };
}

void read_truth(const std::string& path) { read_ground_truth(path); }

Files ground_truths() {
  return {
      {"truth_keys", "gnd.json",
       [] {
         return "{" +
                numbered(
                    kMega,
                    [](const std::string& i) { return "\"" + i + "\":0,"; }) +
                "\"\":0}";
       },
       read_truth, "imlist is missing"},
      {"truth_nested", "gnd.json", [] { return std::string(kMega, '['); },
       read_truth, "nested too deep"},
      {"truth_pickle", "gnd.pkl",
       [] {
         return "}(" + p_str("imlist") + "](" +
                p_str(std::string(kMega / 2, 'x')) + "q\1" +
                repeated("h\1", kMega / 2) + "eu.";
       },
       read_truth, "too large for a ground truth"},
  };
}

void read_matlab(const std::string& path) { read_mat(path, {"v"}); }

/// A file whose one variable is packed.
std::string packed_mat(const std::string& variable) {
  std::string file = mat_file({});
  const std::string packed = deflated(variable, true);
  return file + little_endian<uint32_t>(15) +
         little_endian(static_cast<uint32_t>(packed.size())) + packed;
}

Files matlab_files() {
  const auto empty_cells = [](int32_t count) {
    return mat_array(
        1, {1, count}, "v",
        repeated("\x0e\0\0\0\0\0\0\0"sv, 8 * static_cast<size_t>(count)));
  };
  return {
      {"mat_cells_packed", "x.mat",
       [=] { return packed_mat(empty_cells(1'500'000)); }, read_matlab,
       "unpacks to more than"},
      {"mat_cells", "x.mat", [=] { return mat_file({empty_cells(100'000)}); },
       read_matlab},
      {"mat_numbers", "x.mat",
       [] {
         return mat_file({mat_array(6, {1, 1'000'000}, "v",
                                    mat_element(2, std::string(kMega, '\1')))});
       },
       read_matlab},
      {"mat_size", "x.mat",
       [] {
         return mat_file(
             {mat_array(6, {2'000'000'000, 2'000'000'000}, "v", "")});
       },
       read_matlab, "an array of more than"},
      {"mat_fields", "x.mat",
       [] {
         return mat_file(
             {mat_array(2, {1, 0}, "v",
                        mat_element(5, little_endian<int32_t>(1)) +
                            mat_element(1, std::string(3 * kMega, 'f')))});
       },
       read_matlab, "cells and fields"},
      {"mat_nested", "x.mat",
       [] {
         std::string deep = mat_number(1);
         for (int i = 0; i < 2'000; ++i) deep = mat_cells({deep}, "v");
         return mat_file({deep});
       },
       read_matlab, "nested too deep"},
  };
}

Files shards() {
  const auto file = [](const std::string& name,
                       const std::vector<RawTarFile>& files, size_t times,
                       const std::string& error) {
    return HostileFile{
        "shard_" + name, "x.tar",
        [=] {
          const std::string bytes = raw_tar(files);
          return repeated(bytes.substr(0, bytes.size() - 1024), times * kMega);
        },
        [](const std::string& path) { WebDataset({.path = path}); }, error};
  };
  return {
      file("empty_files", {{"a"}, {"b"}}, 4, "is there twice"),
      file("folders", {{"a/", "", '5'}}, 4, "no pictures"),
      file("names", {{"n", std::string(kMega, 'n'), 'L'}, {"n"}}, 20,
           "is there twice"),
      file("records",
           {{"p",
             repeated(pax_record("path", "a") + pax_record("size", "0"), kMega),
             'x'},
            {"a"}},
           20, "is there twice"),
  };
}

Files all_files() {
  Files all;
  for (const Files& files : {pictures(), more_pictures(), lists(),
                             ground_truths(), matlab_files(), shards()}) {
    all.insert(all.end(), files.begin(), files.end());
  }
  return all;
}

class DataReaderBounds : public testing::TestWithParam<HostileFile> {};

TEST_P(DataReaderBounds, CostIsInProportion) { expect_bounded(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Files, DataReaderBounds,
                         testing::ValuesIn(all_files()),
                         [](const auto& file) { return file.param.name; });

}  // namespace
}  // namespace kith
