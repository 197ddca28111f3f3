"""Loads single networks out of a source tree of Hugging Face's transformers
without the rest of it, which needs a newer torch than some machines have.

The modelling files are used as they are. What they import of the library itself
(base classes, decorators, containers for results) is replaced by stand-ins that
do nothing but what running a network needs.
"""

import importlib.machinery
import importlib.util
import pathlib
import sys
import types

import torch
from torch import nn

ROOT = "transformers_stub_tree"


class Result(types.SimpleNamespace):
    """Of a network: fields, and positions in the order of the fields."""

    hidden_states = None

    def __getitem__(self, index):
        return list(self.__dict__.values())[index]


class Model(nn.Module):
    def __init__(self, config=None, **_):
        super().__init__()
        self.config = config

    def post_init(self):
        pass


class Config:
    output_hidden_states = False
    return_dict = True

    def __init__(self, **values):
        for key, value in values.items():
            setattr(self, key, value)
        self.__post_init__()

    def __post_init__(self, **_):
        pass

    def set_output_features_output_indices(self, **_):
        pass


class Anything:
    """A base class without a use here, or what a type hint names."""

    def __class_getitem__(cls, _):
        return cls


def decorator(*args, **_):
    """With or without arguments; the target stays as it is."""
    if len(args) == 1 and callable(args[0]):
        return args[0]
    return lambda target: target


class StandIn(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "ACT2FN":
            return {"gelu": nn.GELU(), "relu": nn.ReLU(), "swish": nn.SiLU(),
                    "silu": nn.SiLU()}
        if name == "PreTrainedModel":
            return Model
        if name == "PreTrainedConfig":
            return Config
        if name.startswith(("BaseModelOutput", "BackboneOutput")):
            return Result
        if name == "logging":
            return types.SimpleNamespace(get_logger=lambda _: None)
        return type(name, (Anything,), {}) if name[0].isupper() else decorator


def load(source, name):
    """The classes of the network `name` below source/src/transformers/models, in
    one namespace."""
    for module in ("", ".utils", ".utils.generic", ".utils.output_capturing",
                   ".activations", ".backbone_utils", ".modeling_outputs",
                   ".modeling_utils", ".processing_utils", ".initialization",
                   ".configuration_utils", ".models", f".models.{name}"):
        full = ROOT + module
        if full not in sys.modules:
            sys.modules[full] = StandIn(full)
            sys.modules[full].__path__ = []
    hub = "huggingface_hub"
    for module in (hub, hub + ".dataclasses"):
        sys.modules.setdefault(module, StandIn(module))
    folder = pathlib.Path(source) / "src/transformers/models" / name
    found = {}
    for kind in ("configuration", "modeling"):
        full = f"{ROOT}.models.{name}.{kind}_{name}"
        spec = importlib.util.spec_from_file_location(
            full, folder / f"{kind}_{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[full] = module
        spec.loader.exec_module(module)
        found.update(vars(module))
    return types.SimpleNamespace(**found)
