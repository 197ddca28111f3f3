#!/usr/bin/env python3
"""Times kith on the CPU beside plain PyTorch with the same number of threads.

  train  a step of the demo (recipes/glyphs.yaml: four convolutions of 64
         channels with batch norm, GeM, Adam, 400 pictures of 32 x 32).
         kith: the median step of `kith train`, with loader and loss.
         PyTorch: forward, backward and step of Adam of the same network on a
         batch that is there; no loader, no loss.
  embed  MobileNetV2 with random weights on pictures of 224 x 224.
         kith: `kith embed`, the time of a long list less that of a short one,
         with decoding and resizing the files and writing the embeddings.
         PyTorch: torchvision's network in eval() and inference_mode() on a
         batch that is there.

PyTorch runs in both orders of memory, as it comes (contiguous) and with the
channels last; the faster of the two counts. For `embed` what
torch.jit.optimize_for_inference makes of the frozen network is printed too.
Runs alternate; each number is the median of --repeat runs. On a machine that
others use, --processor-time with --threads 1 says more than the clock on the
wall. Needs PyTorch and torchvision.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

MODES = {"train": ["contiguous", "channels_last"],
         "embed": ["contiguous", "channels_last", "optimize_for_inference"]}
PLAIN = ["contiguous", "channels_last"]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kith", default="build/release/kith",
                        help="the program (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--steps", type=int, default=14,
                        help="of a training (%(default)s)")
    parser.add_argument("--batch", type=int, default=32,
                        help="pictures that are embedded at a time "
                        "(%(default)s)")
    parser.add_argument("--batches", type=int, default=12,
                        help="of an embedding (%(default)s)")
    parser.add_argument("--processor-time", action="store_true",
                        help="of all threads, instead of time")
    parser.add_argument("--only", choices=list(MODES))
    parser.add_argument("--torch", nargs=2, metavar=("WHAT", "MODE"),
                        help=argparse.SUPPRESS)  # one run of PyTorch's side
    return parser.parse_args()


def median_time(work, count, args):
    """Seconds of a call, without the first two."""
    clock = time.process_time if args.processor_time else time.perf_counter
    times = []
    for _ in range(count):
        begin = clock()
        work()
        times.append(clock() - begin)
    return statistics.median(times[2:])


def demo_network():
    import torch
    from torch import nn

    class Network(nn.Module):
        def __init__(self, width=64, dim=128):
            super().__init__()
            channels = [1] + 3 * [width]
            self.convolutions = nn.ModuleList(
                nn.Conv2d(c, width, 3, padding=1, bias=False)
                for c in channels)
            self.norms = nn.ModuleList(nn.BatchNorm2d(width) for _ in channels)
            self.power = nn.Parameter(torch.full((1,), 3.0))
            self.linear = nn.Linear(width, dim)

        def forward(self, x):
            for i in range(4):
                x = self.convolutions[i](x)
                if i < 3:
                    x = nn.functional.max_pool2d(x, 2)
                x = nn.functional.relu(self.norms[i](x), inplace=True)
            x = x.clamp(min=1e-6).pow(self.power).mean((2, 3))
            x = self.linear(x.pow(1 / self.power))
            return nn.functional.normalize(x)

    return Network()


def torch_train(mode, args):
    """Seconds a step."""
    import torch
    network, batch = demo_network(), torch.randn(400, 1, 32, 32)
    if mode == "channels_last":
        network = network.to(memory_format=torch.channels_last)
        batch = batch.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    gradient = torch.randn(400, 128) / 400

    def step():
        optimizer.zero_grad(set_to_none=True)
        network(batch).backward(gradient)
        optimizer.step()

    return median_time(step, args.steps, args)


def torch_embed(mode, args):
    """Seconds a picture."""
    import torch
    import torchvision
    network = torchvision.models.mobilenet_v2()
    network.classifier = torch.nn.Linear(1280, 128)
    network.eval()
    batch = torch.randn(args.batch, 3, 224, 224)
    if mode == "channels_last":
        network = network.to(memory_format=torch.channels_last)
        batch = batch.contiguous(memory_format=torch.channels_last)
    if mode == "optimize_for_inference":
        traced = torch.jit.freeze(torch.jit.trace(network, batch))
        network = torch.jit.optimize_for_inference(traced)
    with torch.inference_mode():
        seconds = median_time(lambda: network(batch), args.batches, args)
        return seconds / args.batch


def run_torch(what, mode, args):
    """Seconds, measured in a process of its own."""
    command = [sys.executable, __file__, "--torch", what, mode,
               "--threads", str(args.threads), "--steps", str(args.steps),
               "--batch", str(args.batch), "--batches", str(args.batches)]
    if args.processor_time:
        command.append("--processor-time")
    environment = dict(os.environ, OMP_NUM_THREADS=str(args.threads))
    return float(run(command, env=environment))


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stderr.strip()}")
    return done.stdout


def run_kith(args, *words):
    """Seconds of the whole program."""
    def clock():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (used.ru_utime + used.ru_stime if args.processor_time
                else time.perf_counter())
    begin = clock()
    run([args.kith, *words, "--device", "cpu", "--threads", str(args.threads)])
    return clock() - begin


def kith_train(args, folder):
    """Seconds a step: the median without the first two; of processor time, for
    which the log has no number, the mean."""
    recipe = pathlib.Path(__file__).parent.parent / "recipes" / "glyphs.yaml"

    def train(steps):
        out = pathlib.Path(tempfile.mkdtemp(dir=folder)) / "run"
        seconds = run_kith(args, "train", recipe, "--out", out, "--set",
                           f"train.steps={steps}", "--set", "eval.split=none")
        return seconds, out

    whole, out = train(args.steps)
    if args.processor_time:
        return (whole - train(2)[0]) / (args.steps - 2)
    records = map(json.loads, (out / "log.jsonl").read_text().splitlines())
    steps = [r["seconds"]["total"] for r in records if r["kind"] == "step"]
    return statistics.median(steps[2:])


SIX = """\
data: {name: glyphs}
sampler: {batch: 8, per_class: 2}
model:
  input: {size: 224, colour: rgb}
  backbone: {name: mobilenet_v2}
  head: {dim: 128, pooling: average, layer_norm: none}
train: {epochs: 1, steps: 1}
eval: {split: none}
"""


def make_model(args, folder):
    """A run of one step, and lists of files: one batch, and --batches more."""
    (folder / "six.yaml").write_text(SIX)
    run([args.kith, "train", folder / "six.yaml", "--out", folder / "model",
         "--device", "cpu"])
    run([args.kith, "data", "make", "glyphs", "--out", folder / "glyphs"])
    files = sorted((folder / "glyphs").rglob("*.png"))
    for name, batches in (("short", 1), ("long", 1 + args.batches)):
        lines = [f"{file},0,test" for file in files[:batches * args.batch]]
        (folder / f"{name}.csv").write_text("\n".join(["path,label,split", *lines]))


def kith_embed(args, folder):
    """Seconds a picture."""
    short, long = (
        run_kith(args, "embed", folder / "model", "--images",
                 folder / f"{name}.csv", "--out", folder / "e.npy", "--batch",
                 str(args.batch)) for name in ("short", "long"))
    return (long - short) / (args.batches * args.batch)


def compare(what, args, folder):
    """Prints a row a side."""
    kith = {"train": kith_train, "embed": kith_embed}[what]
    unit = {"train": "a step", "embed": "a picture"}[what]
    times = {mode: [] for mode in ["kith", *MODES[what]]}
    for _ in range(args.repeat):
        times["kith"].append(kith(args, folder))
        for mode in MODES[what]:
            times[mode].append(run_torch(what, mode, args))
    medians = {mode: statistics.median(t) for mode, t in times.items()}
    anchor = min(medians[mode] for mode in PLAIN)
    for mode, seconds in medians.items():
        side = "kith" if mode == "kith" else f"PyTorch, {mode}"
        low, high = min(times[mode]) * 1e3, max(times[mode]) * 1e3
        print(f"| {what} | {side} | {seconds * 1e3:.1f} ms {unit} "
              f"({low:.1f} to {high:.1f}) | {anchor / seconds:.2f} |",
              flush=True)


def main():
    args = parse_arguments()
    if args.torch:
        import torch
        torch.set_num_threads(args.threads)
        what, mode = args.torch
        print({"train": torch_train, "embed": torch_embed}[what](mode, args))
        return
    whats = [args.only] if args.only else list(MODES)
    clock = "processor time" if args.processor_time else "time"
    print(f"Threads: {args.threads}, {clock}; times as fast as the faster plain "
          "PyTorch.\n\n| what | side | median | times as fast |\n"
          "|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if "embed" in whats:
            make_model(args, folder)
        for what in whats:
            compare(what, args, folder)


if __name__ == "__main__":
    main()
