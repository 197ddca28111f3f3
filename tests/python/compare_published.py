"""Compares kith with networks of full size as transformers, timm and torchvision
save them, with random weights.

usage: python3 tests/python/compare_published.py KITH [--device cuda] [--only NAME]

Needs torchvision, and for their networks timm and transformers. For each network it
writes a folder (or file) as the library does, runs `kith export --weights` and `kith
embed`, and prints the largest difference of unit embeddings over the largest number:
at most 1e-5 in float32; in bfloat16 (with --device cuda) 1 - cosine, at most 1e-3.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PICTURES = 4
NETWORKS = {}


def network(make):
    """`make`: folder -> (weights, backbone or None, size, images -> embeddings)"""
    NETWORKS[make.__name__] = make
    return make


def randomised(model):
    """As if trained, for otherwise all pictures are nearly the same."""
    torch.manual_seed(3)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if name.endswith("running_mean"):
                tensor.normal_(0, 0.1)
            elif name.endswith("running_var"):
                tensor.uniform_(0.8, 1.2)
            elif tensor.is_floating_point() and tensor.dim() < 2:
                tensor.add_(0.1 * torch.randn_like(tensor))
    return model.eval()


def of_transformers(kind, folder, token, size=224, **config):
    import transformers
    model = randomised(getattr(transformers, kind[0])(
        getattr(transformers, kind[1])(image_size=size, **config)))
    model.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps({
        "do_resize": True, "size": {"height": size, "width": size},
        "do_normalize": True, "image_mean": MEAN, "image_std": STD,
        "resample": 3}))
    return folder, None, size, lambda x: token(model(x))


@network
def transformers_dinov2_small(folder):
    return of_transformers(
        ("Dinov2Model", "Dinov2Config"), folder,
        lambda out: out.last_hidden_state[:, 0], patch_size=14,
        hidden_size=384, num_hidden_layers=12, num_attention_heads=6)


@network
def transformers_clip_base(folder):
    return of_transformers(
        ("CLIPVisionModelWithProjection", "CLIPVisionConfig"), folder,
        lambda out: out.image_embeds, patch_size=16)


@network
def transformers_siglip_base(folder):
    return of_transformers(("SiglipVisionModel", "SiglipVisionConfig"), folder,
                           lambda out: out.pooler_output)


@network
def transformers_convnext_tiny(folder):
    return of_transformers(("ConvNextModel", "ConvNextConfig"), folder,
                           lambda out: out.pooler_output)


def of_timm(name, folder, **options):
    import timm
    model = randomised(timm.create_model(name, num_classes=0, **options))
    timm.models.save_for_hf(model, folder, safe_serialization=True)
    size = model.pretrained_cfg["input_size"][-1]
    size = options.get("img_size", size)
    return folder, None, size, model


@network
def timm_dinov2_small(folder):
    return of_timm("vit_small_patch14_dinov2", folder)


@network
def timm_clip_base(folder):
    return of_timm("vit_base_patch16_clip_224", folder)


@network
def timm_siglip_base(folder):
    return of_timm("vit_base_patch16_siglip_224", folder)


@network
def timm_convnext_tiny(folder):
    return of_timm("convnext_tiny", folder)


@network
def timm_efficientnet_b0(folder):
    return of_timm("efficientnet_b0", folder)


def of_torchvision(name, folder):
    import torchvision
    model = randomised(getattr(torchvision.models, name)(weights=None))
    folder.mkdir()
    torch.save(model.state_dict(), folder / f"{name}.pth")
    last = model.classifier
    model.classifier = last[:2] if name.startswith("convnext") else (
        torch.nn.Flatten())
    return folder / f"{name}.pth", name, 224, model


@network
def torchvision_convnext_tiny(folder):
    return of_torchvision("convnext_tiny", folder)


@network
def torchvision_efficientnet_b0(folder):
    return of_torchvision("efficientnet_b0", folder)


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"{words[0]} failed")


def kith_embeddings(args, weights, backbone, size, folder, precision):
    model = folder / f"model-{precision}"
    # A picture has the size of the network: nothing is resized.
    options = [f"model.input.size={size}", f"model.input.resize={size}",
               f"model.input.mean={list(MEAN)}", f"model.input.std={list(STD)}",
               f"model.precision={precision}"]
    run(args.kith, "export", "--weights", weights, "--out", model,
        *(["--backbone", backbone] if backbone else []),
        *(word for option in options for word in ("--set", option)))
    run(args.kith, "embed", model, "--images", folder / "pictures.csv", "--out",
        folder / "e.npy", "--device", args.device)
    return numpy.load(folder / "e.npy").astype(numpy.float64)


def write_pictures(folder, size):
    """Noise of several sizes; returns what the network gets."""
    from PIL import Image
    draw = numpy.random.default_rng(5)
    rows, batch = ["path,label,split"], []
    for i in range(PICTURES):
        coarse = Image.fromarray(draw.integers(0, 256, (5 + i, 7, 3), "uint8"))
        fine = draw.integers(-40, 41, (size, size, 3))
        pixels = numpy.asarray(coarse.resize((size, size), Image.BICUBIC))
        pixels = numpy.clip(pixels + fine, 0, 255).astype("uint8")
        Image.fromarray(pixels).save(folder / f"{i}.png")
        rows.append(f"{i}.png,{i},test")
        batch.append((pixels / 255 - MEAN) / STD)
    (folder / "pictures.csv").write_text("\n".join(rows) + "\n")
    return torch.tensor(numpy.stack(batch)).permute(0, 3, 1, 2).float()


def compare(name, args):
    """Prints a line; False if a difference is too large."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        weights, backbone, size, model = NETWORKS[name](scratch / name)
        images = write_pictures(scratch, size)
        with torch.no_grad():
            expected = torch.nn.functional.normalize(model(images)).double()
        expected = expected.numpy()
        given = (args, weights, backbone, size, scratch)
        found = kith_embeddings(*given, "float32")
        worst = abs(found - expected).max() / abs(expected).max()
        fits, text = worst <= 1e-5, f"float32 {worst:.1e}"
        if args.device != "cpu":
            half = kith_embeddings(*given, "bf16")
            half /= numpy.linalg.norm(half, axis=1, keepdims=True)
            angle = 1 - (half * expected).sum(1).min()
            fits, text = fits and angle <= 1e-3, text + f", bf16 {angle:.1e}"
        print(f"{name}: {text}{'' if fits else '  TOO LARGE'}", flush=True)
        return fits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=(
        argparse.RawDescriptionHelpFormatter))
    parser.add_argument("kith")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", action="append", choices=list(NETWORKS))
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    failed = []
    for name in args.only or NETWORKS:
        try:
            if not compare(name, args):
                failed.append(name)
        except ImportError as error:
            print(f"{name}: skipped, {error}", flush=True)
        except Exception as error:
            failed.append(name)
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
