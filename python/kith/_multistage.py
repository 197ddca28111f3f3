"""Batches larger than memory, for any network of PyTorch."""

import contextlib
from typing import Any, Callable, Iterator, List, Tuple

import torch
from torch import Tensor


def _autocast(device: str) -> Callable[[], Any]:
    """Makes the autocast that is on now."""
    if hasattr(torch, "get_autocast_dtype"):  # torch 2.4
        enabled = torch.is_autocast_enabled(device)
        dtype = torch.get_autocast_dtype(device)
    elif device == "cuda":
        enabled = torch.is_autocast_enabled()
        dtype = torch.get_autocast_gpu_dtype()
    else:
        enabled = torch.is_autocast_cpu_enabled()
        dtype = torch.get_autocast_cpu_dtype()
    return lambda: torch.autocast(device, dtype=dtype, enabled=enabled)


def _random_state(device: torch.device) -> List[Tensor]:
    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    return states


def _set_random_state(device: torch.device, states: List[Tensor]) -> None:
    torch.set_rng_state(states[0])
    if device.type == "cuda":
        torch.cuda.set_rng_state(states[1], device)


@contextlib.contextmanager
def _second_pass(net: torch.nn.Module, device: torch.device) -> Iterator[None]:
    """Afterwards random numbers go on as before it, and what training modules
    gathered (the statistics of batch norm) counts once."""
    states = _random_state(device)
    buffers = [buffer for module in net.modules() if module.training
               for buffer in module.buffers(recurse=False)]
    before = [buffer.clone() for buffer in buffers]
    try:
        yield
    finally:
        _set_random_state(device, states)
        with torch.no_grad():
            for buffer, value in zip(buffers, before):
                buffer.copy_(value)


class _Chunks(torch.autograd.Function):
    """Embeddings of a batch, without a graph; backward makes that of a chunk
    at a time."""

    @staticmethod
    def forward(ctx: Any, net: torch.nn.Module, sub_batch: int, batch: Tensor,
                *parameters: Tensor) -> Tensor:
        ctx.net, ctx.sub_batch, ctx.batch = net, sub_batch, batch
        ctx.parameters = parameters
        ctx.autocast = _autocast(batch.device.type)
        ctx.states = []
        outputs = []
        for chunk in batch.split(sub_batch):
            ctx.states.append(_random_state(batch.device))
            outputs.append(net(chunk))
        return torch.cat(outputs)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tuple[Any, ...]:
        wanted = [p for p in ctx.parameters if p.requires_grad]
        sums: List[Any] = [None] * len(wanted)
        device = ctx.batch.device
        chunks = ctx.batch.split(ctx.sub_batch)
        gradients = gradient.split(ctx.sub_batch)
        with _second_pass(ctx.net, device):
            for chunk, states, of_chunk in zip(chunks, ctx.states, gradients):
                _set_random_state(device, states)
                with torch.enable_grad(), ctx.autocast():
                    output = ctx.net(chunk)
                parts = torch.autograd.grad(output, wanted, of_chunk,
                                            allow_unused=True)
                sums = [part if total is None else
                        total if part is None else total.add_(part)
                        for total, part in zip(sums, parts)]
        found = iter(sums)
        return (None, None, None, *(next(found) if p.requires_grad else None
                                    for p in ctx.parameters))


class Multistage(torch.nn.Module):
    """A network for batches larger than memory (Patel et al., CVPR 2022).

        net = kith.Multistage(net, sub_batch=64)
        loss(net(images), labels).backward()

    The network sees chunks, the loss the whole batch. The chunks are embedded
    without a graph; backward computes each again with one, and the same random
    numbers. Gradients of the parameters are those of one pass over the batch,
    at the cost of another forward pass; batch norm in training mode takes the
    statistics of a chunk, and gathers them once.

    Arguments:
        net: of a tensor [M, ...] makes a tensor [M, D]. The batch itself gets
            no gradient.
        sub_batch: most items of a chunk.
    """

    def __init__(self, net: torch.nn.Module, sub_batch: int):
        super().__init__()
        if sub_batch < 1:
            raise ValueError(f"sub_batch must be at least 1, got {sub_batch}")
        self.net = net
        self.sub_batch = sub_batch

    def forward(self, batch: Tensor) -> Tensor:
        if not torch.is_tensor(batch):
            raise TypeError("Multistage splits a tensor [M, ...], got a "
                            + type(batch).__name__)
        if torch.is_grad_enabled() and batch.requires_grad:
            raise ValueError("the batch requires a gradient, which Multistage "
                             "does not give: detach() it")
        return _Chunks.apply(self.net, self.sub_batch, batch,
                             *self.net.parameters())

    def extra_repr(self) -> str:
        return f"sub_batch={self.sub_batch}"
