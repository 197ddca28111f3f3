"""Writes tests/golden/convnet_*: small convolutional networks with random weights
under the names of their source, what they make of pictures, and gradients.

usage: python3 tests/python/make_convnet_golden.py [FAMILY]...

Needs torchvision, timm and transformers; meta.json has the versions.

Every network runs in float64 in evaluation mode. Picture i of the input is a
formula, and the gradients are those of sum(map * m) + sum(token * t), where m and
t are formulas too: wave() below. In a folder are

    weights.safetensors   as the source saves them, in float32
    expected.safetensors  map_K, token_K, gradient_K.<name of the source> of
                          picture size K
    meta.json             versions, sizes, options of kith's backbone or the
                          source's config
"""

import functools
import json
import math
import pathlib
import sys

import torch
import timm
import timm.models.convnext
import timm.models.efficientnet
import timm.models.mobilenetv3
import timm.models.regnet
import timm.models.resnet
import torchvision
import transformers
from timm.models._efficientnet_blocks import SqueezeExcite
from timm.models._efficientnet_builder import decode_arch_def, round_channels
from torch import nn
from torchvision.models.convnext import CNBlockConfig
from torchvision.models.efficientnet import (EfficientNet, FusedMBConvConfig,
                                             MBConvConfig)
from torchvision.models.mobilenetv3 import InvertedResidualConfig, MobileNetV3
from torchvision.models.regnet import BlockParams, RegNet
from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
SIZES = [(64, 64), (50, 71)]
MOST = 300_000  # Bytes of weights.


def wave(shape, step):
    return torch.sin(step * torch.arange(math.prod(shape),
                                         dtype=torch.float64)).view(shape)


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        kind = {torch.float32: "F32", torch.int64: "I64"}[tensor.dtype]
        raw = tensor.contiguous().numpy().tobytes()
        header[name] = {"dtype": kind, "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def shake(model):
    """As if trained: nothing is zero or one. The numbers are float32's."""
    torch.manual_seed(7)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if not tensor.is_floating_point():
                continue
            if name.endswith("running_var"):
                tensor.uniform_(0.5, 2)
            elif name.endswith("running_mean"):
                tensor.normal_(0, 0.2)
            elif tensor.dim() > 1 and min(tensor.shape[:2]) >= 1 and (
                    tensor.numel() > max(tensor.shape)):
                tensor.normal_(0, math.sqrt(2.5 / tensor[0].numel()))
            elif name.endswith("bias"):
                tensor.normal_(0, 0.2)
            else:
                tensor.uniform_(0.5, 1.5)
    return model.float().double().eval()


def expected(model, run):
    """Values and gradients at all sizes."""
    found = {}
    names = [name for name, _ in model.named_parameters()]
    for k, size in enumerate(SIZES):
        images = wave((2, 3, *size), 0.7)
        model.zero_grad()
        outputs = run(model, images)
        loss = 0
        for name, output in zip(("map", "token"), outputs):
            found[f"{name}_{k}"] = output.detach()
            loss = loss + (output * wave(output.shape, 0.3)).sum()
        loss.backward()
        grown = [n for n in names
                 if dict(model.named_parameters())[n].grad is not None]
        for name in grown[::max(1, len(grown) // 6)] + grown[-1:]:
            found[f"gradient_{k}.{name}"] = dict(
                model.named_parameters())[name].grad.clone()
    return {name: t.float() for name, t in found.items()}


def write(item, model, run, meta):
    folder = GOLDEN / f"convnet_{item}"
    folder.mkdir(exist_ok=True)
    shake(model)
    write_safetensors(folder / "weights.safetensors", {
        n: t.float() if t.is_floating_point() else t
        for n, t in model.state_dict().items()})
    write_safetensors(folder / "expected.safetensors", expected(model, run))
    (folder / "meta.json").write_text(json.dumps(
        {"source": meta.pop("source"), "torch": torch.__version__,
         "sizes": SIZES, **meta}, indent=1) + "\n")
    size = (folder / "weights.safetensors").stat().st_size
    rest = (folder / "expected.safetensors").stat().st_size
    print(f"{item}: {size} + {rest} bytes")
    assert size < MOST and rest < MOST


def vision(item, model, run, **backbone):
    write(item + "_torchvision", model, run,
          {"source": f"torchvision {torchvision.__version__}",
           "backbone": backbone})


def from_timm(item, model, run, **backbone):
    write(item + "_timm", model, run,
          {"source": f"timm {timm.__version__}", "backbone": backbone})


def from_transformers(item, model_type, kind, **values):
    config = getattr(transformers, kind + "Config")(**values)
    model = getattr(transformers, kind + "Model")(config)

    def run(net, images):
        result = net(images)
        hidden = result.last_hidden_state
        if "convnext" not in model_type:
            return [hidden]
        if hidden.dim() == 3:  # DINOv3's: the token and positions
            token, patches = hidden[:, 0], hidden[:, 1:]
            side = [s // 32 for s in images.shape[2:]]
            hidden = patches.transpose(1, 2).unflatten(2, side)
            return [hidden, token]
        return [hidden, result.pooler_output]

    write(item + "_transformers", model, run,
          {"source": f"transformers {transformers.__version__}",
           "config": {"model_type": model_type, **values}})


def small_resnet(block, planes, depths, in_first=False, **options):
    """torchvision's network with other widths."""
    net = ResNet(block, [1, 1, 1, 1], **options)
    net.inplanes = planes[0]
    net.conv1 = nn.Conv2d(3, planes[0], 7, 2, 3, bias=False)
    net.bn1 = nn.BatchNorm2d(planes[0])
    for i, (width, depth) in enumerate(zip(planes, depths)):
        setattr(net, f"layer{i + 1}", net._make_layer(
            block, width, depth, stride=1 if i == 0 else 2))
    for module in net.modules() if in_first else ():
        if isinstance(module, Bottleneck):
            module.conv1.stride, module.conv2.stride = module.conv2.stride, (1, 1)
    net.fc = nn.Linear(planes[-1] * block.expansion, 3)
    return net


def resnet_features(net, images):
    x = net.maxpool(torch.relu(net.bn1(net.conv1(images))))
    return [net.layer4(net.layer3(net.layer2(net.layer1(x))))]


def resnets():
    widths = [8, 8, 12, 16]
    vision("resnet_basic", small_resnet(BasicBlock, widths, [1, 2, 1, 1]),
           resnet_features, name="resnet", block="basic", depths=[1, 2, 1, 1],
           stem=8, widths=widths)
    wide = [16, 16, 16, 32]
    vision("resnext", small_resnet(Bottleneck, wide, [1, 2, 1, 1], groups=4,
                                   width_per_group=16), resnet_features,
           name="resnet", depths=[1, 2, 1, 1], stem=16, widths=wide, groups=4,
           width_per_group=16)
    caffe = small_resnet(Bottleneck, widths, [1, 2, 1, 1], in_first=True)
    caffe.maxpool = nn.MaxPool2d(3, 2, 0, ceil_mode=True)
    vision("resnet_caffe", caffe, resnet_features, name="resnet",
           depths=[1, 2, 1, 1], stem=8, widths=widths, stride="1x1",
           pool="corner")
    from_timm("resnext", timm.models.resnet.ResNet(
        timm.models.resnet.Bottleneck, (1, 1, 2, 1), num_classes=3,
        stem_width=16, channels=(16, 16, 16, 24), cardinality=2, base_width=32),
        lambda net, images: [net.forward_features(images)],
        name="resnet", depths=[1, 1, 2, 1], stem=64,
        widths=[16, 16, 16, 24], groups=2, width_per_group=32)
    from_transformers("resnet", "resnet", "ResNet", embedding_size=8,
                      hidden_sizes=[32, 32, 48, 64], depths=[1, 2, 1, 1],
                      layer_type="bottleneck", downsample_in_bottleneck=True)
    from_transformers("resnet_basic", "resnet", "ResNet", embedding_size=8,
                      hidden_sizes=[8, 16, 16, 24], depths=[1, 1, 2, 1],
                      layer_type="basic")


def convnexts():
    shape = {"depths": [1, 1, 2, 1], "widths": [8, 16, 24, 32]}
    net = torchvision.models.convnext.ConvNeXt(
        [CNBlockConfig(8, 16, 1), CNBlockConfig(16, 24, 1),
         CNBlockConfig(24, 32, 2), CNBlockConfig(32, None, 1)], num_classes=3)

    def run(model, images):
        x = model.features(images)
        return [x, model.classifier[0](x.mean((2, 3), True)).flatten(1)]

    vision("convnext", net, run, name="convnext", **shape)

    def run_timm(model, images):
        x = model.forward_features(images)
        return [x, model.forward_head(x, pre_logits=True)]

    make = timm.models.convnext.ConvNeXt
    from_timm("convnext", make(
        num_classes=3, depths=(1, 1, 2, 1), dims=(8, 16, 24, 32)), run_timm,
        name="convnext", **shape)
    from_timm("convnext_v2", make(
        num_classes=3, depths=(1, 1, 2, 1), dims=(8, 16, 24, 32), use_grn=True,
        ls_init_value=None, conv_mlp=True), run_timm, name="convnext",
        layer_scale=0, response_norm=True, **shape)
    sizes = {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1]}
    from_transformers("convnext", "convnext", "ConvNext", **sizes)
    from_transformers("convnext_v2", "convnextv2", "ConvNextV2", **sizes)
    from_transformers("convnext_dinov3", "dinov3_convnext", "DINOv3ConvNext",
                      layer_norm_eps=1e-5, **sizes)


def features(net, images):
    return [net.features(images)]


def timm_features(net, images):
    return [net.forward_features(images)]


def efficientnets():
    # Stages: expand, kernel, stride, in, out, blocks.
    rows = [(1, 3, 1, 8, 8, 1), (4, 5, 2, 8, 16, 2), (3, 3, 2, 16, 24, 2)]
    shape = {"name": "efficientnet", "stem": 8, "depths": [1, 2, 2],
             "widths": [8, 16, 24], "expand": [1, 4, 3], "kernels": [3, 5, 3],
             "strides": [1, 2, 2], "last": 32}
    vision("efficientnet", EfficientNet(
        [MBConvConfig(*row) for row in rows], 0.0, num_classes=3,
        last_channel=32), features, **shape)
    vision("efficientnet_v2", EfficientNet(
        [FusedMBConvConfig(*rows[0]), FusedMBConvConfig(4, 3, 2, 8, 16, 2),
         MBConvConfig(*rows[2])], 0.0, num_classes=3, last_channel=32,
        norm_layer=lambda n: nn.BatchNorm2d(n, eps=1e-3)), features,
        **{**shape, "kernels": [3, 3, 3], "fused": 2, "bn_eps": 1e-3})
    def timm_net(definition, **options):
        return timm.models.efficientnet.EfficientNet(
            decode_arch_def(definition), num_classes=3, num_features=32,
            stem_size=8, fix_stem=True, act_layer=nn.SiLU, **options)

    from_timm("efficientnet", timm_net(
        [["ds_r1_k3_s1_e1_c8_se0.25"], ["ir_r2_k5_s2_e4_c16_se0.25"],
         ["ir_r2_k3_s2_e3_c24_se0.25"]]), timm_features, **shape)
    from_timm("tf_efficientnetv2", timm_net(
        [["cn_r1_k3_s1_e1_c8_skip"], ["er_r2_k5_s2_e4_c16"],
         ["ir_r2_k3_s2_e3_c24_se0.25"]], pad_type="same",
        norm_layer=functools.partial(nn.BatchNorm2d, eps=1e-3)), timm_features, **{
            **shape, "fused": 2, "padding": "same", "bn_eps": 1e-3})
    from_transformers(
        "efficientnet", "efficientnet", "EfficientNet", width_coefficient=0.25,
        depth_divisor=4,        depth_coefficient=1.0, hidden_dim=320, num_block_repeats=[1, 2, 1, 1, 1,
                                                                  1, 1],
        expand_ratios=[1, 2, 2, 2, 2, 1, 1], depthwise_padding=[3])


def mobilenets():
    def row(*values):
        return InvertedResidualConfig(*values, 1, 1.0)

    rows = [row(8, 3, 8, 8, True, "RE", 2), row(8, 3, 24, 16, False, "RE", 2),
            row(16, 3, 40, 16, False, "RE", 1), row(16, 5, 48, 24, True, "HS", 2)]
    shape = {"name": "mobilenet_v3", "stem": 8, "depths": [1, 2, 1],
             "widths": [8, 16, 24], "inner": [8, 24, 40, 48],
             "kernels": [3, 3, 5], "strides": [2, 2, 2], "squeeze": [1, 0, 1],
             "relu_stages": 2, "last": 144}
    vision("mobilenet_v3", MobileNetV3(rows, 16, num_classes=3), features,
           **shape)
    blocks = decode_arch_def([
        ["ds_r1_k3_s2_e1_c8_se0.25_nre"],
        ["ir_r1_k3_s2_e3_c16_nre", "ir_r1_k3_s1_e2.5_c16_nre"],
        ["ir_r1_k5_s2_e3_c24_se0.25"], ["cn_r1_k1_s1_c144"]])
    net = timm.models.mobilenetv3.MobileNetV3(
        blocks, num_classes=3, num_features=16, stem_size=8, fix_stem=True,
        pad_type="same", act_layer=nn.Hardswish, round_chs_fn=round_channels,
        norm_layer=functools.partial(nn.BatchNorm2d, eps=1e-3),
        se_layer=functools.partial(SqueezeExcite, gate_layer="hard_sigmoid",
                         force_act_layer=nn.ReLU, rd_round_fn=round_channels))
    from_timm("mobilenet_v3", net, timm_features, **shape, padding="same")


def regnets():
    params = BlockParams([1, 2, 1], [16, 24, 32], [8, 8, 8], [1.0] * 3, [2] * 3,
                         0.25)
    shape = {"name": "regnet", "stem": 8, "depths": [1, 2, 1],
             "widths": [16, 24, 32], "group_width": 8}
    vision("regnet_y", RegNet(params, num_classes=3, stem_width=8),
           lambda net, images: [net.trunk_output(net.stem(images))], **shape)
    config = timm.models.regnet.RegNetCfg(
        depth=5, w0=8, wa=8.0, wm=1.5, group_size=8, stem_width=8)
    net = timm.models.regnet.RegNet(config, num_classes=3)
    stages = [m for n, m in net.named_children() if n.startswith("s")][1:]
    from_timm("regnet_x", net, timm_features, **{
        **shape, "squeeze": 0, "depths": [len(list(s.children()))
                                          for s in stages],
        "widths": [list(s.children())[-1].conv3.conv.out_channels
                   for s in stages]})
    from_transformers("regnet", "regnet", "RegNet", embedding_size=8,
                      hidden_sizes=[16, 24, 32, 40], depths=[1, 2, 1, 1],
                      groups_width=8, layer_type="y")


FAMILIES = {family.__name__: family for family in
            (resnets, convnexts, efficientnets, mobilenets, regnets)}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or FAMILIES:
        FAMILIES[chosen]()
