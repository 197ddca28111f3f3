"""Random batches, and a form with its inputs on a device."""

import json
import math

import torch

from . import LOSSES, MINERS


def form_of(name):
    kind, _, part = name.partition(":")
    return (LOSSES if kind == "loss" else MINERS).get(part)


def draw_batch(batch, dim, seed=0):
    """The unit vectors and labels of `kith bench`: 4 examples a class around a
    random centre, positives 3 standard deviations nearer than negatives."""
    torch.manual_seed(seed)
    classes = batch // 4
    labels = torch.arange(classes).repeat_interleave(4)
    labels = labels[torch.randperm(batch)]
    noise = math.sqrt(1 / min(0.5, 3 / math.sqrt(dim)) - 1)
    centres = torch.nn.functional.normalize(torch.randn(classes, dim))
    x = torch.randn(batch, dim) * (noise / math.sqrt(dim)) + centres[labels]
    return torch.nn.functional.normalize(x), labels


def draw_tuples(labels, width):
    """One tuple an anchor: the next of its class, then of two other classes."""
    if width == 0:
        return None
    order = torch.argsort(labels, stable=True)
    places = torch.arange(len(labels))
    columns = [places, places // 4 * 4 + (places + 1) % 4,
               (places + 4) % len(labels), (places + 8) % len(labels)]
    return torch.stack([order[column] for column in columns[:width]], 1)


def draw_params(form, classes, dim):
    if form.params is None:
        return {}
    torch.manual_seed(1)
    return form.params(classes, dim)


class Run:
    """A plain form with its inputs on a device; calling it runs it once."""

    def __init__(self, name, x, labels, device, dtype, widest=4):
        self.form = form_of(name)
        self.is_loss = name.startswith("loss:")
        self.x = x.to(device, dtype)
        self.labels = labels.to(device)
        tuples = draw_tuples(labels, min(self.form.width, widest))
        self.tuples = None if tuples is None else tuples.to(device)
        self.params = {
            key: value.to(device, dtype) for key, value in
            draw_params(self.form, len(labels) // 4, x.shape[1]).items()}

    def __call__(self):
        if not self.is_loss:
            with torch.no_grad():
                return self.form.run(self.x, self.labels), None
        x = self.x.detach().requires_grad_()
        params = {key: value.detach().requires_grad_()
                  for key, value in self.params.items()}
        value = self.form.run(x, self.labels, self.tuples, params)
        value.backward()
        return value.detach(), x.grad


def write_params(path, params):
    """A safetensors file."""
    header, data = {}, b""
    for key, value in params.items():
        raw = value.numpy().astype("<f8").tobytes()
        header[key] = {"dtype": "F64", "shape": list(value.shape),
                       "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
