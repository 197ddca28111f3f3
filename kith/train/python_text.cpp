#include "kith/train/python_text.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "kith/models/convnext.h"
#include "kith/models/vision_transformer.h"

namespace kith {
namespace {

using Lines = std::vector<std::string>;

/// Expressions of `features`, what a backbone makes of pictures.
struct FeatureText {
  std::string positions;   ///< [N, F, positions]
  std::string token = {};  ///< [N, F]; empty: there is none.
};

FeatureText feature_text(EmbeddingNet& net) {
  const Backbone& backbone = net.backbone();
  if (const auto* vit = dynamic_cast<const VisionTransformer*>(&backbone)) {
    const bool pools = vit->options().token == "attention_pool";
    return {"features[:, model.num_prefix_tokens:].transpose(1, 2)",
            pools ? "model.attn_pool(features)" : "features[:, 0]"};
  }
  if (const auto* convnext = dynamic_cast<const Convnext*>(&backbone)) {
    return {convnext->options().norm_map
                ? "model.head.norm(features).flatten(2)"
                : "features.flatten(2)",
            "model.forward_head(features, pre_logits=True)"};
  }
  return {"features.flatten(2)"};
}

void add_pooling(Lines& lines, const std::string& pooling,
                 const FeatureText& text) {
  if (pooling == "class_token") {
    lines.push_back("x = " + text.token);
    return;
  }
  lines.push_back("x = " + text.positions);
  if (pooling == "average") lines.emplace_back("x = x.mean(2)");
  if (pooling == "max") lines.emplace_back("x = x.amax(2)");
  if (pooling == "max_average") {
    lines.emplace_back("x = x.amax(2) + x.mean(2)");
  }
  if (pooling == "gem") {
    lines.emplace_back("p = head[\"gem_p\"]");
    lines.emplace_back("x = x.clamp(min=1e-6).pow(p).mean(2).pow(1 / p)");
  }
  if (pooling == "class_token_and_average") {
    lines.push_back("x = torch.cat([" + text.token + ", x.mean(2)], 1)");
  }
}

/// The steps of Head, in its order.
Lines head_lines(const HeadOptions& head, const FeatureText& text) {
  Lines lines;
  const auto add_norm = [&](const char* place) {
    if (head.layer_norm != place) return;
    lines.emplace_back(head.layer_norm_affine
                           ? "x = F.layer_norm(x, x.shape[-1:], "
                             "head[\"norm.weight\"], head[\"norm.bias\"])"
                           : "x = F.layer_norm(x, x.shape[-1:])");
  };
  add_pooling(lines, head.pooling, text);
  if (head.l2_before) lines.emplace_back("x = F.normalize(x)");
  add_norm("before");
  if (head.dim > 0) {
    lines.emplace_back(
        "x = F.linear(x, head[\"linear.weight\"], head[\"linear.bias\"])");
  }
  add_norm("after");
  lines.emplace_back(head.l2 ? "return F.normalize(x)" : "return x");
  return lines;
}

std::string numbers_text(const std::vector<double>& numbers) {
  return nlohmann::json(numbers).dump();
}

std::string timm_text(const PublishedForm& form) {
  std::string text =
      R"(model = timm.create_model(f"local-dir:{folder}", pretrained=True).eval()
prepare = timm.data.create_transform(**timm.data.resolve_model_data_config(model))


def backbone(images):
    features = model.forward_features(images)
)";
  // CLIP's projection.
  return text + (form.classes > 0 ? "    return model.head(features)\n"
                                  : "    return features\n");
}

std::string torchvision_text(const PublishedForm& form,
                             const InputOptions& input) {
  const bool is_googlenet = form.network.name == "googlenet";
  const std::string size = std::to_string(input.size);
  const std::string resized = input.resize > 0 ? std::to_string(input.resize)
                                               : "(" + size + ", " + size + ")";
  std::string text =
      "model = torchvision.models." + form.network.name + "(" +
      (is_googlenet ? "aux_logits=False, init_weights=False" : "") + ")\n";
  text += R"(# The classifier stays random, and is not used.
model.load_state_dict(load_file(f"{folder}/model.safetensors"), strict=False)
)";
  text += is_googlenet
              ? "backbone = torch.nn.Sequential(*list(model.children())[:-3])"
                ".eval()\n"
              : "backbone = model.features.eval()\n";
  text += "prepare = transforms.Compose([\n    transforms.Resize(" + resized +
          ", transforms.InterpolationMode." +
          (input.filter == "bicubic" ? "BICUBIC" : "BILINEAR") +
          "),\n    transforms.CenterCrop(" + size +
          "),\n    transforms.ToTensor(),\n    transforms.Normalize(" +
          numbers_text(input.mean) + ", " + numbers_text(input.std) + ")])\n";
  return text;
}

}  // namespace

std::string python_text(EmbeddingNet& net, const PublishedForm& form) {
  const bool is_timm = form.network.library == "timm";
  const bool has_head = !net.head().parameters().empty();
  const std::string size = std::to_string(net.input().size);
  std::string text = is_timm ? "import timm\nimport torch\n"
                             : "import torch\nimport torchvision\n";
  text += "import torch.nn.functional as F\nfrom PIL import Image, ImageOps\n";
  if (has_head || !is_timm) {
    text += "from safetensors.torch import load_file\n";
  }
  if (!is_timm) text += "from torchvision import transforms\n";
  text += "\nfolder = \"THIS_FOLDER\"\n";
  if (has_head) {
    text += "head = load_file(f\"{folder}/head.safetensors\")\n";
  }
  text += is_timm ? timm_text(form) : torchvision_text(form, net.input());
  text += "\n\ndef embed(images):\n    \"\"\"[N, " +
          std::to_string(net.input().channels()) + ", " + size + ", " + size +
          "] -> [N, " + std::to_string(net.dim()) +
          "]\"\"\"\n    features = backbone(images)\n";
  for (const std::string& line :
       head_lines(net.head().options(), feature_text(net))) {
    text += "    " + line + "\n";
  }
  const std::string mode = net.input().channels() == 1 ? "L" : "RGB";
  return text + R"(

with torch.no_grad():
    picture = ImageOps.exif_transpose(Image.open("picture.jpg")).convert(")" +
         mode + R"(")
    print(embed(prepare(picture).unsqueeze(0)))
)";
}

}  // namespace kith
