// From coefficients of JPEGs to pixels of one size, in three kernels over all
// pictures: samples of the blocks, rows that are upsampled, made RGB and
// resized across, and columns. The pictures differ in size: a picture has a
// row of the grid, whose blocks of threads share its work out among them.

#include "kith/ops/cuda/launch.cuh"
#include "kith/ops/jpeg_pixels.h"

namespace kith {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = kThreads / kBlockSide;  ///< Of samples, at once.
/// Blocks of threads a picture: enough that a small batch fills a GPU.
constexpr unsigned kShares = 32;

/// 8 coefficients, or numbers of a quantisation table, which lie together.
union Eight {
  int4 all;
  int16_t numbers[kBlockSide];
};

__device__ Eight eight_at(const uint8_t* address) {
  return {*reinterpret_cast<const int4*>(address)};
}

/// Whether a number of the 8 lanes of a block is not 0.
__device__ bool any_of_block(bool here) {
  const unsigned lanes = __ballot_sync(0xFFFFFFFF, here);
  return (lanes >> (threadIdx.x % 32 / kBlockSide * kBlockSide) & 0xFF) != 0;
}

/// A block has 8 threads, each of which does a row, a column and a row.
__global__ void __launch_bounds__(kThreads) decode_blocks(JpegPictures all) {
  // One more a row: then the columns of a warp lie in different banks.
  __shared__ int16_t shared[kBlocks][kBlockSide][kBlockSide + 2];
  const JpegPicture& picture = all.pictures[blockIdx.y];
  const int lane = threadIdx.x % kBlockSide;
  auto& block = shared[threadIdx.x / kBlockSide];
  int blocks = 0;
  for (int k = 0; k < picture.components; ++k) {
    blocks += static_cast<int>(picture.planes[k].blocks());
  }
  for (int begin = blockIdx.x * kBlocks; begin < blocks;
       begin += gridDim.x * kBlocks) {
    int index = begin + threadIdx.x / kBlockSide;
    const bool is_there = index < blocks;
    int k = 0;
    while (is_there && index >= picture.planes[k].blocks()) {
      index -= static_cast<int>(picture.planes[k++].blocks());
    }
    const JpegPlane& plane = picture.planes[k];
    Eight row = {};
    if (is_there) {
      row = eight_at(all.data + plane.coefficients +
                     (int64_t{index} * kBlockSide + lane) * sizeof(Eight));
    }
    const bool is_flat = !any_of_block(
        lane > 0 && (row.all.x | row.all.y | row.all.z | row.all.w) != 0);
    const Eight table = eight_at(all.data + picture.tables +
                                 (k * kBlockSide + lane) * sizeof(Eight));
    for (int x = 0; x < kBlockSide; ++x) {
      block[lane][x] =
          low_half(row.numbers[x] * static_cast<uint16_t>(table.numbers[x]));
    }
    __syncwarp();
    int16_t in[kBlockSide], out[kBlockSide];
    for (int y = 0; y < kBlockSide; ++y) in[y] = block[y][lane];
    inverse_dct_column(in, out);
    // Each thread writes the column that it alone has read.
    for (int y = 0; y < kBlockSide; ++y) {
      block[y][lane] = is_flat ? flat_column(in[0]) : out[y];
    }
    __syncwarp();
    for (int x = 0; x < kBlockSide; ++x) in[x] = block[lane][x];
    __syncwarp();  // before the next block's coefficients
    union {
      uint2 both;
      uint8_t samples[kBlockSide];
    } made;
    inverse_dct_row(in, made.samples);
    if (!is_there) continue;
    const int x = index % plane.blocks_across;
    const int y = index / plane.blocks_across * kBlockSide + lane;
    uint8_t* samples = all.samples + plane.coefficients / sizeof(int16_t);
    *reinterpret_cast<uint2*>(samples + (int64_t{y} * plane.blocks_across + x) *
                                            kBlockSide) = made.both;
  }
}

/// A warp has a row at a time, or of wide pictures all threads have one.
__global__ void __launch_bounds__(kThreads) resize_across(JpegPictures all) {
  __shared__ uint8_t lines[JpegPicture::kMostWidth * 3];
  const JpegPicture& picture = all.pictures[blockIdx.y];
  const int width = picture.width;
  const int rows = picture.row_count;
  const int team =
      width * (kThreads / 32) <= JpegPicture::kMostWidth ? 32 : kThreads;
  const int at_once = kThreads / team;
  const int lane = threadIdx.x % team;
  uint8_t* line = lines + threadIdx.x / team * width * 3;
  const auto* first =
      reinterpret_cast<const int32_t*>(all.data + picture.across.first);
  const auto* weights =
      reinterpret_cast<const int32_t*>(all.data + picture.across.values);
  const int taps = picture.across.taps;
  const JpegPixels pixels(all, picture);
  for (int begin = blockIdx.x * at_once; begin < rows;
       begin += gridDim.x * at_once) {
    const int y = begin + threadIdx.x / team;
    for (int x = lane; y < rows && x < width; x += team) {
      pixels.get(x, picture.first_row + y, line + 3 * x);
    }
    __syncthreads();
    uint8_t* out = all.rows + picture.rows + int64_t{y} * all.size * 3;
    for (int i = lane; y < rows && i < all.size; i += team) {
      resized_pixel(line + 3 * first[i], weights + i * taps, taps, out + 3 * i);
    }
    __syncthreads();
  }
}

/// A thread has `kBytes` neighbours of a row, read and written as one T.
template <class T>
__global__ void __launch_bounds__(kThreads) resize_down(JpegPictures all) {
  constexpr int kBytes = sizeof(T);
  const JpegPicture& picture = all.pictures[blockIdx.y];
  const auto* first =
      reinterpret_cast<const int32_t*>(all.data + picture.down.first);
  const auto* weights =
      reinterpret_cast<const int32_t*>(all.data + picture.down.values);
  const int taps = picture.down.taps;
  const int length = all.size * 3;
  const int packs = length / kBytes;
  const uint8_t* rows = all.rows + picture.rows;
  uint8_t* pixels = all.pixels + picture.position * all.size * length;
  for (int index = blockIdx.x * kThreads + threadIdx.x;
       index < all.size * packs; index += gridDim.x * kThreads) {
    const int i = index / packs;
    const int x = index % packs * kBytes;
    const uint8_t* row = rows + int64_t{first[i] - picture.first_row} * length;
    int32_t sums[kBytes];
    for (int c = 0; c < kBytes; ++c) sums[c] = kResizeHalf;
    for (int k = 0; k < taps; ++k, row += length) {
      union {
        T all;
        uint8_t bytes[kBytes];
      } source;
      source.all = *reinterpret_cast<const T*>(row + x);
      const int32_t weight = weights[i * taps + k];
      for (int c = 0; c < kBytes; ++c) sums[c] += weight * source.bytes[c];
    }
    union {
      T all;
      uint8_t bytes[kBytes];
    } made;
    for (int c = 0; c < kBytes; ++c) made.bytes[c] = resized_byte(sums[c]);
    *reinterpret_cast<T*>(pixels + int64_t{i} * length + x) = made.all;
  }
}

void to_pixels(const JpegPictures& all, void* stream) {
  if (all.count == 0) return;
  const dim3 grid(kShares, static_cast<unsigned>(all.count));
  const auto on = static_cast<cudaStream_t>(stream);
  decode_blocks<<<grid, kThreads, 0, on>>>(all);
  resize_across<<<grid, kThreads, 0, on>>>(all);
  if (all.size % 4 == 0) {
    resize_down<uint32_t><<<grid, kThreads, 0, on>>>(all);
  } else {
    resize_down<uint8_t><<<grid, kThreads, 0, on>>>(all);
  }
  check_cuda(cudaGetLastError(), "jpeg_to_pixels");
}

}  // namespace

extern const GpuJpeg gpu_jpeg = {to_pixels};

}  // namespace kith
