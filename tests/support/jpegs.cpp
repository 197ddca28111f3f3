#include "tests/support/jpegs.h"

#include <cstdio>  // jpeglib.h needs it
#include <cstdlib>
#include <functional>

#include <jpeglib.h>

namespace kith {
namespace {

/// What a test asks for is right: an error of libjpeg ends the program.
std::string written(const std::function<void(jpeg_compress_struct&)>& write) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  errors.emit_message = [](j_common_ptr, int) {};  // large quantisations
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  write(info);
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const std::string bytes(reinterpret_cast<const char*>(buffer), size);
  std::free(buffer);
  return bytes;
}

void set_up(jpeg_compress_struct& info, int width, int height, int channels,
            const JpegKind& kind) {
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = channels;
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  if (kind.rgb) jpeg_set_colorspace(&info, JCS_RGB);
  jpeg_set_quality(&info, kind.quality, TRUE);
  if (channels == 3) {
    info.comp_info[0].h_samp_factor = kind.across;
    info.comp_info[0].v_samp_factor = kind.down;
  }
  info.restart_in_rows = kind.restart_rows;
  if (kind.progressive) jpeg_simple_progression(&info);
}

/// A scan a component, which the library must not forget before it is done.
void set_scans(jpeg_compress_struct& info, const JpegKind& kind) {
  static constexpr jpeg_scan_info kScans[3] = {
      {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
  if (kind.one_scan) return;
  info.scan_info = kScans;
  info.num_scans = info.num_components;
}

}  // namespace

std::string jpeg_bytes(const Image& image, const JpegKind& kind) {
  return written([&](jpeg_compress_struct& info) {
    set_up(info, image.width, image.height, image.channels, kind);
    set_scans(info, kind);
    jpeg_start_compress(&info, TRUE);
    if (!kind.exif.empty()) {
      jpeg_write_marker(&info, JPEG_APP0 + 1,
                        reinterpret_cast<const JOCTET*>(kind.exif.data()),
                        static_cast<unsigned>(kind.exif.size()));
    }
    for (int y = 0; y < image.height; ++y) {
      // The interface is not const-correct; libjpeg only reads.
      JSAMPROW row = const_cast<uint8_t*>(image.row(y));
      jpeg_write_scanlines(&info, &row, 1);
    }
  });
}

std::string random_jpeg(int width, int height, const JpegKind& kind,
                        int largest, int quantum, Rng& rng) {
  const auto around_zero = [&] {
    return static_cast<JCOEF>(static_cast<int64_t>(rng.below(
                                  static_cast<uint64_t>(2 * largest + 1))) -
                              largest);
  };
  jvirt_barray_ptr arrays[3];  // until the library is done
  return written([&](jpeg_compress_struct& info) {
    set_up(info, width, height, 3, kind);
    unsigned table[DCTSIZE2];
    for (int number = 0; number < 2; ++number) {
      for (unsigned& value : table) {
        value = 1 + static_cast<unsigned>(
                        rng.below(static_cast<uint64_t>(quantum)));
      }
      jpeg_add_quant_table(&info, number, table, 100, FALSE);
    }
    info.optimize_coding = TRUE;
    const auto common = reinterpret_cast<j_common_ptr>(&info);
    const auto up = [](int size, int factor, int most) {
      const int blocks =
          (size * factor + most * DCTSIZE - 1) / (most * DCTSIZE);
      return (blocks + factor - 1) / factor * factor;
    };
    JDIMENSION sides[3][2];
    for (int k = 0; k < 3; ++k) {
      const jpeg_component_info& part = info.comp_info[k];
      sides[k][0] =
          static_cast<JDIMENSION>(up(width, part.h_samp_factor, kind.across));
      sides[k][1] =
          static_cast<JDIMENSION>(up(height, part.v_samp_factor, kind.down));
      arrays[k] = info.mem->request_virt_barray(
          common, JPOOL_IMAGE, TRUE, sides[k][0], sides[k][1],
          static_cast<JDIMENSION>(part.v_samp_factor));
    }
    jpeg_write_coefficients(&info, arrays);
    for (int k = 0; k < 3; ++k) {
      for (JDIMENSION y = 0; y < sides[k][1]; ++y) {
        JBLOCKROW row =
            info.mem->access_virt_barray(common, arrays[k], y, 1, TRUE)[0];
        for (JDIMENSION x = 0; x < sides[k][0]; ++x) {
          // Some of one row of numbers, some of few and some of many.
          const uint64_t count = rng.below(2) == 0 ? 8 : 1 + rng.below(64);
          for (uint64_t i = 0; i < count; ++i) row[x][i] = around_zero();
        }
      }
    }
  });
}

}  // namespace kith
