#include "kith/eval/embed_image.h"

#include <torch/torch.h>

#include "kith/eval/embed.h"

namespace kith {
namespace {

class OneImage final : public DataSet {
 public:
  explicit OneImage(const Image& image) : image_(image) {
    list_.items.emplace_back();
  }

 protected:
  StoredImage read(int64_t) const override { return image_; }

 private:
  const Image& image_;
};

}  // namespace

Tensor embed_image(EmbeddingNet& net, const Image& image,
                   const DescriptorOptions& descriptor) {
  EmbedOptions options;
  options.batch = 1;
  options.descriptor = descriptor;
  return embed(net, OneImage(image), {0}, options, silent_progress())
      .squeeze(0)
      .to(torch::kCPU, torch::kFloat);
}

}  // namespace kith
