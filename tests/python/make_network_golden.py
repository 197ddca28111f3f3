"""Writes tests/golden/vit: vision transformers of timm, torchvision,
transformers and of the code that published them, small and with random weights.

usage: python3 tests/python/make_network_golden.py [CASE]...

Needs timm, torchvision and transformers, and for the cases of original code
PYTHONPATH with checkouts of dino, dinov2, dinov3, CLIP and unicom/unicom. meta.json
has the versions. Networks compute in float64, where their code lets them, with
weights that are float32.

A case has weights.safetensors under the names that are published, a picture of
the size that the network is made for and one of another (images, other), what
comes out (token, map, and other_token, other_map), and gradients.safetensors:
of sum(token cos(i)) + sum(map sin(i)), i the index in memory, of the first.
"""

import sys
import types

import torch
from torch import nn

from network_golden import prepare_torch, randomise, same_names, write_case

PATCH, SIZE, OTHER = 4, 16, (12, 24)
WIDTH, DEPTH, HEADS, HIDDEN = 16, 2, 2, 32
SHAPE = {"patch": PATCH, "width": WIDTH, "depth": DEPTH, "heads": HEADS,
         "hidden": HIDDEN, "grid": SIZE // PATCH}
CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


def write(name, source, options, model, forward, rename=same_names,
          has_other=True):
    package, _, rest = source.partition(" ")
    version = getattr(sys.modules.get(package), "__version__", None)
    write_case("vit", name, f"{package} {version} {rest}" if version else source,
               {**SHAPE, **options}, model, forward, SIZE,
               OTHER if has_other else None, rename)


def as_map(tokens, images):
    rows, columns = (side // PATCH for side in images.shape[2:])
    return tokens.transpose(1, 2).unflatten(2, (rows, columns))


def split_tokens(tokens, images, prefix, class_token=True):
    return (tokens[:, 0] if class_token else None,
            as_map(tokens[:, prefix:], images))


# timm


def timm_model(**options):
    from timm.models.vision_transformer import VisionTransformer
    return randomise(VisionTransformer(
        img_size=SIZE, patch_size=PATCH, embed_dim=WIDTH, depth=DEPTH,
        num_heads=HEADS, dynamic_img_size=True,
        **{"mlp_ratio": HIDDEN / WIDTH, "num_classes": 0, **options}))


@case
def timm_vit():
    model = timm_model()
    write("timm_vit", "timm VisionTransformer", {}, model,
          lambda x: split_tokens(model.forward_features(x), x, 1))


@case
def timm_registers():
    from timm.layers import SwiGLUPacked
    model = timm_model(reg_tokens=3, no_embed_class=True, init_values=1e-5,
                       mlp_ratio=2 * HIDDEN / WIDTH, mlp_layer=SwiGLUPacked,
                       act_layer=nn.SiLU)
    write("timm_registers", "timm VisionTransformer",
          {"registers": 3, "prefix_positions": False, "layer_scale": 1e-5,
           "mlp": "swiglu"}, model,
          lambda x: split_tokens(model.forward_features(x), x, 4))


@case
def timm_clip():
    model = timm_model(pre_norm=True, norm_layer=nn.LayerNorm, num_classes=12,
                       act_layer="quick_gelu")
    nn.init.zeros_(model.head.bias)

    def forward(x):
        return split_tokens(model.head(model.forward_features(x)), x, 1)

    write("timm_clip", "timm VisionTransformer",
          {"pre_norm": True, "norm_eps": 1e-5, "projection": 12,
           "activation": "quick_gelu"}, model, forward)


@case
def timm_siglip():
    model = timm_model(class_token=False, global_pool="map",
                       act_layer="gelu_tanh")

    def forward(x):
        tokens = model.forward_features(x)
        return model.pool(tokens), as_map(tokens, x)

    write("timm_siglip", "timm VisionTransformer",
          {"class_token": False, "token": "attention_pool",
           "activation": "gelu_tanh"}, model, forward)


def timm_dinov3_case(name, options, **others):
    from functools import partial
    from timm.layers import LayerNorm
    from timm.models.eva import Eva
    model = randomise(Eva(
        img_size=SIZE, patch_size=PATCH, embed_dim=WIDTH, depth=DEPTH,
        num_heads=HEADS, mlp_ratio=HIDDEN / WIDTH, num_classes=0,
        dynamic_img_size=True, init_values=1e-5, rope_type="dinov3",
        rope_temperature=100, rope_rotate_half=True, use_rot_pos_emb=True,
        use_abs_pos_emb=False, num_reg_tokens=2, use_fc_norm=False,
        norm_layer=partial(LayerNorm, eps=1e-5), **others))
    write(name, "timm Eva",
          {"registers": 2, "layer_scale": 1e-5, "norm_eps": 1e-5,
           "positions": "rotary", "qkv_bias": "no_key", **options}, model,
          lambda x: split_tokens(model.forward_features(x), x, 3))


@case
def timm_dinov3():
    timm_dinov3_case("timm_dinov3", {}, qkv_bias=False)


@case
def timm_dinov3_gated():
    timm_dinov3_case("timm_dinov3_gated", {"mlp": "swiglu"}, qkv_bias=True,
                     swiglu_mlp=True)


# torchvision


@case
def torchvision_vit():
    from torchvision.models.vision_transformer import VisionTransformer
    model = randomise(VisionTransformer(
        image_size=SIZE, patch_size=PATCH, num_layers=DEPTH, num_heads=HEADS,
        hidden_dim=WIDTH, mlp_dim=HIDDEN, num_classes=3))

    def forward(x):
        tokens = model._process_input(x)
        tokens = torch.cat([model.class_token.expand(len(x), -1, -1), tokens],
                           1)
        return split_tokens(model.encoder(tokens), x, 1)

    write("torchvision_vit", "torchvision VisionTransformer", {}, model,
          forward, has_other=False)


# The code of the publications


@case
def dino():
    from functools import partial
    import vision_transformer
    model = randomise(vision_transformer.VisionTransformer(
        img_size=[SIZE], patch_size=PATCH, embed_dim=WIDTH, depth=DEPTH,
        num_heads=HEADS, mlp_ratio=HIDDEN / WIDTH, qkv_bias=True,
        norm_layer=partial(nn.LayerNorm, eps=1e-6)))
    write("dino", "dino VisionTransformer", {"interpolation": "offset"}, model,
          lambda x: split_tokens(model.get_intermediate_layers(x)[0], x, 1))


def dinov2_forward(model):
    def forward(x):
        out = model.forward_features(x)
        return out["x_norm_clstoken"], as_map(out["x_norm_patchtokens"], x)
    return forward


def dinov2_model(**options):
    from functools import partial
    from dinov2.layers import Attention, NestedTensorBlock
    from dinov2.models.vision_transformer import DinoVisionTransformer
    return randomise(DinoVisionTransformer(
        img_size=SIZE, patch_size=PATCH, embed_dim=WIDTH, depth=DEPTH,
        num_heads=HEADS, mlp_ratio=HIDDEN / WIDTH, init_values=1.0,
        block_fn=partial(NestedTensorBlock, attn_class=Attention), **options))


@case
def dinov2():
    model = dinov2_model(block_chunks=2)
    write("dinov2", "dinov2 DinoVisionTransformer, in chunks",
          {"layer_scale": 1.0, "interpolation": "offset"}, model,
          dinov2_forward(model))


@case
def dinov2_registers():
    model = dinov2_model(block_chunks=0, ffn_layer="swiglufused",
                         num_register_tokens=2, interpolate_antialias=True,
                         interpolate_offset=0.0)
    hidden = model.blocks[0].mlp.w3.in_features
    write("dinov2_registers", "dinov2 DinoVisionTransformer",
          {"layer_scale": 1.0, "registers": 2, "prefix_positions": False,
           "mlp": "swiglu", "hidden": hidden}, model,
          dinov2_forward(model))


def dinov3_case(name, **options):
    from dinov3.models.vision_transformer import DinoVisionTransformer
    model = DinoVisionTransformer(
        img_size=SIZE, patch_size=PATCH, embed_dim=WIDTH, depth=DEPTH,
        num_heads=HEADS, ffn_ratio=HIDDEN / WIDTH, layerscale_init=1e-5,
        pos_embed_rope_dtype="fp32", norm_layer="layernormbf16",
        n_storage_tokens=2, mask_k_bias=True, **options)
    periods = model.rope_embed.periods.clone()
    model.init_weights()
    model = randomise(model)
    model.rope_embed.periods = periods
    mlp = model.blocks[0].mlp
    gated = hasattr(mlp, "w3")
    write(name, "dinov3 DinoVisionTransformer",
          {"layer_scale": 1e-5, "norm_eps": 1e-5, "registers": 2,
           "positions": "rotary", "qkv_bias": "no_key",
           "mlp": "swiglu" if gated else "plain",
           "hidden": mlp.w3.in_features if gated else HIDDEN}, model,
          dinov2_forward(model))


@case
def dinov3():
    dinov3_case("dinov3")


@case
def dinov3_gated():
    dinov3_case("dinov3_gated", ffn_layer="swiglu")


def with_text(tensors):
    """Names of a whole file of CLIP: the other half lies beside."""
    other = {"positional_embedding": torch.zeros(7, 8),
             "token_embedding.weight": torch.zeros(11, 8),
             "transformer.resblocks.0.ln_1.weight": torch.zeros(8)}
    return {**other, **within("visual.")(tensors)}


@case
def clip():
    from clip.model import VisionTransformer
    hidden = 4 * WIDTH  # as its code has it
    model = randomise(VisionTransformer(SIZE, PATCH, WIDTH, DEPTH, HEADS, 12))
    model.float()  # as its LayerNorm always is

    def forward(x):
        seen = []
        handle = model.transformer.register_forward_hook(
            lambda *call: seen.append(call[2]))
        token = model(x)
        handle.remove()
        tokens = model.ln_post(seen[0].permute(1, 0, 2)) @ model.proj
        return token, as_map(tokens[:, 1:], x)

    write("clip", "CLIP VisionTransformer",
          {"hidden": hidden, "pre_norm": True, "norm_eps": 1e-5,
           "projection": 12, "activation": "quick_gelu"}, model, forward,
          with_text, has_other=False)


@case
def unicom():
    import timm
    sys.modules.setdefault("timm.models.layers", timm.layers)
    from unicom.vision_transformer import VisionTransformer
    model = randomise(VisionTransformer(
        input_size=SIZE, patch_size=PATCH, dim=WIDTH, embedding_size=12,
        depth=DEPTH, num_heads=HEADS, mlp_ratio=HIDDEN // WIDTH))
    # Its last step is in float32, whatever the weights are.
    model.forward_features = types.MethodType(unicom_features, model)

    def forward(x):
        token = model(x)
        return token, token[:, :, None, None]

    write("unicom", "unicom VisionTransformer",
          {"class_token": False, "token": "joined", "projection": 12,
           "activation": "relu6", "qkv_bias": "none", "norm_eps": 1e-5}, model,
          forward, has_other=False)


def unicom_features(self, x):
    x = self.patch_embed(x) + self.pos_embed
    for block in self.blocks:
        x = block(x)
    return self.norm(x).flatten(1)


# transformers


def hf_config(kind, **options):
    import transformers
    return getattr(transformers, kind + "Config")(
        hidden_size=WIDTH, num_hidden_layers=DEPTH, num_attention_heads=HEADS,
        patch_size=PATCH, image_size=SIZE, **options)


def hf_model(kind, config):
    import transformers
    return randomise(getattr(transformers, kind)(config))


def before_version_5(tensors):
    """Names of ViT and DeiT in published files; version 5 renames them."""
    renamed = {}
    for name, tensor in tensors.items():
        for new, old in (("layers.", "encoder.layer."),
                         ("attention.q_proj", "attention.attention.query"),
                         ("attention.k_proj", "attention.attention.key"),
                         ("attention.v_proj", "attention.attention.value"),
                         ("attention.o_proj", "attention.output.dense"),
                         ("mlp.fc1", "intermediate.dense"),
                         ("mlp.fc2", "output.dense")):
            name = name.replace(new, old)
        renamed["vit." + name] = tensor
    return renamed


def within(prefix):
    return lambda tensors: {prefix + name: tensor
                            for name, tensor in tensors.items()}


@case
def hf_vit():
    model = hf_model("ViTModel", hf_config("ViT", intermediate_size=HIDDEN,
                                           layer_norm_eps=1e-12))
    write("hf_vit", "transformers ViTModel",
          {"norm_eps": 1e-12, "interpolation": "plain"}, model,
          lambda x: split_tokens(
              model(x, interpolate_pos_encoding=True).last_hidden_state, x, 1),
          before_version_5)


@case
def hf_deit():
    model = hf_model("DeiTModel", hf_config("DeiT", intermediate_size=HIDDEN,
                                            layer_norm_eps=1e-12))
    write("hf_deit", "transformers DeiTModel, names of version 5",
          {"norm_eps": 1e-12, "registers": 1, "interpolation": "plain"}, model,
          lambda x: split_tokens(
              model(x, interpolate_pos_encoding=True).last_hidden_state, x, 2))


@case
def hf_dinov2():
    model = hf_model("Dinov2Model",
                     hf_config("Dinov2", mlp_ratio=HIDDEN // WIDTH))
    write("hf_dinov2", "transformers Dinov2Model",
          {"layer_scale": 1.0, "interpolation": "plain"}, model,
          lambda x: split_tokens(model(x).last_hidden_state, x, 1))


@case
def hf_dinov2_registers():
    model = hf_model("Dinov2WithRegistersModel", hf_config(
        "Dinov2WithRegisters", mlp_ratio=HIDDEN // WIDTH,
        num_register_tokens=2, use_swiglu_ffn=True))
    hidden = model.encoder.layer[0].mlp.weights_out.in_features
    write("hf_dinov2_registers", "transformers Dinov2WithRegistersModel",
          {"layer_scale": 1.0, "registers": 2, "prefix_positions": False,
           "mlp": "swiglu", "hidden": hidden}, model,
          lambda x: split_tokens(model(x).last_hidden_state, x, 3))


def hf_dinov3_case(name, **options):
    model = hf_model("DINOv3ViTModel", hf_config(
        "DINOv3ViT", intermediate_size=HIDDEN, num_register_tokens=2,
        **options))
    model.rope_embeddings.inv_freq = 1 / 100 ** torch.arange(
        0, 1, 4 * HEADS / WIDTH, dtype=torch.float64)
    write(name, "transformers DINOv3ViTModel",
          {"layer_scale": 1.0, "norm_eps": 1e-5, "registers": 2,
           "positions": "rotary", "qkv_bias": "no_key",
           "mlp": "swiglu" if options else "plain"}, model,
          lambda x: split_tokens(model(x).last_hidden_state, x, 3))


@case
def hf_dinov3():
    hf_dinov3_case("hf_dinov3")


@case
def hf_dinov3_gated():
    hf_dinov3_case("hf_dinov3_gated", use_gated_mlp=True, hidden_act="silu")


@case
def hf_clip():
    model = hf_model("CLIPVisionModelWithProjection", hf_config(
        "CLIPVision", intermediate_size=HIDDEN, projection_dim=12))
    vision = model.vision_model

    def forward(x):
        out = vision(x, interpolate_pos_encoding=True)
        tokens = model.visual_projection(
            vision.post_layernorm(out.last_hidden_state))
        return (model.visual_projection(out.pooler_output),
                as_map(tokens[:, 1:], x))

    write("hf_clip", "transformers CLIPVisionModelWithProjection",
          {"pre_norm": True, "norm_eps": 1e-5, "projection": 12,
           "activation": "quick_gelu", "interpolation": "plain"}, model,
          forward)


@case
def hf_siglip():
    model = hf_model("SiglipVisionModel", hf_config(
        "SiglipVision", intermediate_size=HIDDEN))

    def forward(x):
        out = model(x, interpolate_pos_encoding=True)
        return out.pooler_output, as_map(out.last_hidden_state, x)

    write("hf_siglip", "transformers SiglipVisionModel",
          {"class_token": False, "token": "attention_pool",
           "activation": "gelu_tanh", "interpolation": "plain"}, model,
          forward, within("vision_model."))


if __name__ == "__main__":
    prepare_torch()
    for chosen in sys.argv[1:] or CASES:
        CASES[chosen]()
