// The way of one picture: draw, encode, decode, augment, resize.
#include <benchmark/benchmark.h>

#include "kith/data/augment.h"
#include "kith/data/glyphs.h"
#include "kith/image/colour.h"
#include "kith/image/decode.h"
#include "kith/image/encode.h"
#include "kith/image/resize.h"

namespace {

void bench_draw(benchmark::State& state) {
  int64_t image = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(kith::draw_glyph(0, 0, image++).pixels.data());
  }
}

void bench_decode_png(benchmark::State& state) {
  const auto bytes = kith::encode_png(kith::draw_glyph(0, 0, 0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(kith::decode_image(bytes, "memory").pixels.data());
  }
}

void bench_affine(benchmark::State& state) {
  const auto image = kith::draw_glyph(0, 0, 0);
  const auto step = kith::augmentation_registry().make(
      kith::parse_config("{name: affine}", "bench"), "augment");
  kith::Rng rng(0, kith::Stream::kAugment);
  for (auto _ : state) {
    benchmark::DoNotOptimize(step->apply(image, rng).pixels.data());
  }
}

void bench_resize(benchmark::State& state) {
  const auto image = kith::draw_glyph(0, 0, 0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(kith::resize(image, 32, 32).pixels.data());
  }
}

// A photograph in memory to a training image of ImageNet's size.
kith::Image photograph(int width, int height) {
  return kith::resize(kith::to_channels(kith::draw_glyph(0, 0, 0), 3), width,
                      height);
}

void bench_random_resized_crop(benchmark::State& state) {
  const auto image = photograph(270, 200);
  const auto step = kith::augmentation_registry().make(
      kith::parse_config("{name: random_resized_crop}", "bench"), "augment");
  kith::Rng rng(0, kith::Stream::kAugment);
  for (auto _ : state) {
    benchmark::DoNotOptimize(step->apply(image, rng).pixels.data());
  }
}

void bench_decode_jpeg(benchmark::State& state) {
  const auto bytes = kith::encode_jpeg(photograph(500, 375), 90);
  for (auto _ : state) {
    benchmark::DoNotOptimize(kith::decode_image(bytes, "memory").pixels.data());
  }
}

BENCHMARK(bench_draw)->Unit(benchmark::kMicrosecond);
BENCHMARK(bench_decode_png)->Unit(benchmark::kMicrosecond);
BENCHMARK(bench_affine)->Unit(benchmark::kMicrosecond);
BENCHMARK(bench_resize)->Unit(benchmark::kMicrosecond);
BENCHMARK(bench_random_resized_crop)->Unit(benchmark::kMicrosecond);
BENCHMARK(bench_decode_jpeg)->Unit(benchmark::kMicrosecond);

}  // namespace
