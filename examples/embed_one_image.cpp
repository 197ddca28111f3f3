// Embeds one image with a trained network and prints the embedding.
//
// usage: embed_one_image MODEL IMAGE
//
// MODEL is a folder that `kith export` wrote, a run's folder or a checkpoint.
#include <cstdio>
#include <exception>

#include "kith/kith.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: embed_one_image MODEL IMAGE\n");
    return 2;
  }
  try {
    const auto model = kith::load_model(argv[1], kith::parse_device("cpu"));
    const kith::Image image = kith::decode_image(argv[2]);
    const kith::Tensor vector = kith::embed_image(model, image);
    for (int64_t i = 0; i < vector.size(0); ++i) {
      std::printf("%.9g\n", vector[i].item<float>());
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "embed_one_image: %s\n", error.what());
    return 1;
  }
}
