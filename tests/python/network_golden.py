"""What the scripts share that write golden files of networks
(make_network_golden.py): random weights, and the files of a case."""

import json
import math
import pathlib
import struct

import numpy
import torch
import torch.nn.functional as F

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
SEED = 5


def attention(query, key, value, *_, **__):
    """F.scaled_dot_product_attention for torch 1."""
    weights = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return weights.softmax(-1) @ value


def prepare_torch():
    if not hasattr(F, "scaled_dot_product_attention"):
        F.scaled_dot_product_attention = attention


def randomise(model):
    """As if trained: nothing is zero or one."""
    generator = torch.Generator().manual_seed(SEED)

    def normal(shape, scale):
        return (scale * torch.randn(shape, generator=generator)).float()

    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.dim() < 2 and not name.endswith("bias"):
                new = 1 + normal(value.shape, 0.2)  # norms and LayerScale
            elif value.dim() < 2:
                new = normal(value.shape, 0.2)
            elif "token" in name or "pos" in name or "latent" in name:
                new = normal(value.shape, 0.5)
            else:
                new = normal(value.shape,
                             math.sqrt(1 / value[0].numel()))
            value.copy_(new)
        for name, value in model.named_buffers():
            if name.endswith("running_mean"):
                value.copy_(normal(value.shape, 0.2))
            elif name.endswith("running_var"):
                value.copy_(1 + normal(value.shape, 0.2).abs())
    return model.double().eval()


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        array = tensor.detach().to(torch.float32).contiguous().numpy()
        header[name] = {"dtype": "F32", "shape": list(array.shape),
                        "data_offsets": [len(data),
                                         len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def fixed(shape, function):
    return function(torch.arange(math.prod(shape),
                                 dtype=torch.float64)).view(shape)


def same_names(tensors):
    return tensors


def write_case(item, name, source, options, model, forward, size, other=None,
               rename=same_names):
    """`forward`: images -> (token or None, map [N, F, H, W]). `size` is the
    side of the pictures of the model, `other` (height, width) of others;
    `rename` makes the names of published files of those of the model."""
    folder = GOLDEN / item / name
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(SEED + 1)

    def save(file, tensor):
        if tensor is not None:
            numpy.save(folder / f"{file}.npy",
                       tensor.detach().to(torch.float32).numpy())

    kind = next(model.parameters()).dtype
    images = torch.randn((2, 3, size, size), generator=generator)
    token, features = forward(images.to(kind))
    loss = (features * fixed(features.shape, torch.sin)).sum()
    if token is not None:
        loss = loss + (token * fixed(token.shape, torch.cos)).sum()
    loss.backward()
    save("images", images)
    save("token", token)
    save("map", features)
    if other:
        images = torch.randn((2, 3, *other), generator=generator)
        with torch.no_grad():
            token, features = forward(images.to(kind))
        save("other", images)
        save("other_token", token)
        save("other_map", features)
    state = {key: value for key, value in model.state_dict().items()
             if value.is_floating_point()}
    write_safetensors(folder / "weights.safetensors", rename(state))
    gradients = {key: value.grad for key, value in model.named_parameters()
                 if value.grad is not None}
    write_safetensors(folder / "gradients.safetensors", rename(gradients))
    facts = {"item": item, "name": name, "source": source, "seed": SEED,
             "torch": torch.__version__, "options": options}
    (folder / "meta.json").write_text(json.dumps(facts, indent=1) + "\n")
    print(name, sum(f.stat().st_size for f in folder.iterdir()), "bytes")
