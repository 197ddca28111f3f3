"""Reads .safetensors files into tensors of PyTorch."""

import json
import pathlib
import struct

import torch

DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16,
          "BF16": torch.bfloat16, "I64": torch.int64, "I32": torch.int32,
          "U8": torch.uint8, "BOOL": torch.bool}


def read_safetensors(path):
    """Tensors by name. The format is simple enough to need no package."""
    data = pathlib.Path(path).read_bytes()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + each for each in entry["data_offsets"])
        dtype = DTYPES[entry["dtype"]]
        flat = (torch.frombuffer(bytearray(data[begin:end]), dtype=dtype)
                if end > begin else torch.empty(0, dtype=dtype))
        tensors[name] = flat.reshape(entry["shape"])
    return tensors
