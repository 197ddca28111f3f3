#include "kith/image/jpeg_file.h"

#include <algorithm>
#include <cstring>

#include "kith/image/jpeg_reader.h"

namespace kith {
namespace {

constexpr size_t kBlockBytes = sizeof(JBLOCK);
constexpr size_t kTableBytes = kBlockSize * sizeof(uint16_t);

/// Of two components, how many samples one has for a sample of the other; 0 if
/// that is no whole number.
int times(int more, int fewer) {
  return fewer > 0 && more % fewer == 0 ? more / fewer : 0;
}

/// Pixels a sample of Cb or Cr, 0 if not the same for both.
int chroma_across(const jpeg_decompress_struct& info) {
  const jpeg_component_info* parts = info.comp_info;
  if (parts[1].h_samp_factor != parts[2].h_samp_factor) return 0;
  return times(parts[0].h_samp_factor, parts[1].h_samp_factor);
}

int chroma_down(const jpeg_decompress_struct& info) {
  const jpeg_component_info* parts = info.comp_info;
  if (parts[1].v_samp_factor != parts[2].v_samp_factor) return 0;
  return times(parts[0].v_samp_factor, parts[1].v_samp_factor);
}

bool has_usual_colour(const jpeg_decompress_struct& info) {
  if (info.num_components == 1) {
    return info.jpeg_color_space == JCS_GRAYSCALE;
  }
  if (info.num_components != 3 || info.jpeg_color_space != JCS_YCbCr) {
    return false;
  }
  const int across = chroma_across(info);
  const int down = chroma_down(info);
  return (across == 1 && down == 1) ||
         (across == 2 && (down == 1 || down == 2));
}

}  // namespace

JpegFile::JpegFile(std::span<const uint8_t> bytes, const std::string& name,
                   const DecodeLimits& limits)
    : reader_(std::make_unique<detail::JpegReader>(bytes, name, limits)) {
  reader_->read_header();
}

JpegFile::~JpegFile() = default;

bool JpegFile::is_usual() const {
  const jpeg_decompress_struct& info = reader_->info();
  return info.progressive_mode == FALSE && info.arith_code == FALSE &&
         info.data_precision == 8 && has_usual_colour(info) &&
         reader_->orientation() == 1 &&
         info.image_width <= JpegPicture::kMostWidth;
}

JpegPicture JpegFile::picture() const {
  const jpeg_decompress_struct& info = reader_->info();
  JpegPicture picture{};
  picture.width = static_cast<int32_t>(info.image_width);
  picture.height = static_cast<int32_t>(info.image_height);
  picture.components = info.num_components;
  const bool is_grey = info.num_components == 1;
  picture.chroma_across = is_grey ? 1 : chroma_across(info);
  picture.chroma_down = is_grey ? 1 : chroma_down(info);
  for (int k = 0; k < info.num_components; ++k) {
    const jpeg_component_info& part = info.comp_info[k];
    picture.planes[k].blocks_across =
        static_cast<int32_t>(part.width_in_blocks);
    picture.planes[k].blocks_down = static_cast<int32_t>(part.height_in_blocks);
    picture.planes[k].width = static_cast<int32_t>(part.downsampled_width);
    picture.planes[k].height = static_cast<int32_t>(part.downsampled_height);
  }
  return picture;
}

size_t JpegFile::bytes_of(const JpegPicture& picture) {
  size_t bytes = 0;
  for (int k = 0; k < picture.components; ++k) {
    bytes += kTableBytes +
             static_cast<size_t>(picture.planes[k].blocks()) * kBlockBytes;
  }
  return bytes;
}

bool JpegFile::read(JpegPicture& picture, uint8_t* memory, uint32_t place) {
  jpeg_decompress_struct& info = reader_->info();
  jvirt_barray_ptr* arrays = nullptr;
  reader_->guarded([&] { arrays = jpeg_read_coefficients(&info); });
  picture.tables = place;
  uint8_t* out = memory;
  for (int k = 0; k < picture.components; ++k) {
    const JQUANT_TBL* table = info.comp_info[k].quant_table;
    if (table != nullptr) {
      std::memcpy(out, table->quantval, kTableBytes);
    } else {  // of a component without a scan; all of its coefficients are 0
      std::memset(out, 0, kTableBytes);
    }
    out += kTableBytes;
  }
  reader_->guarded([&] {
    for (int k = 0; k < picture.components; ++k) {
      JpegPlane& plane = picture.planes[k];
      plane.coefficients = place + static_cast<uint32_t>(out - memory);
      const size_t bytes =
          static_cast<size_t>(plane.blocks_across) * kBlockBytes;
      for (int32_t y = 0; y < plane.blocks_down; ++y, out += bytes) {
        JBLOCKARRAY row = info.mem->access_virt_barray(
            reinterpret_cast<j_common_ptr>(&info), arrays[k],
            static_cast<JDIMENSION>(y), 1, FALSE);
        std::memcpy(out, row[0], bytes);
      }
    }
  });
  return reader_->orientation() == 1;
}

}  // namespace kith
