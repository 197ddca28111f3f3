#!/usr/bin/env python3
"""Times kith on a GPU beside PyTorch, eager and compiled (torch.compile).

  training   kith: images a second of `kith train`, from the median of its warm
             steps: JPEG files decoded, random crops, the network with GeM or
             class token and 512 dimensions, RS@k, Adam; in chunks.
             PyTorch: forward and backward of torchvision's or timm's network
             without its last layer, on one chunk that is there; no files, no
             loss, no optimiser.
  inference  kith: `kith embed`, the time of a long list less that of a short
             one, with decoding and resizing the files and writing embeddings.
             PyTorch: the compiled network in eval() on a batch that is there.

Both compute in bfloat16 (PyTorch: autocast, channels last; on a CPU float32)
and keep the statistics of batch norm. One process of PyTorch a network, then
kith, on the same GPU; each number is the median of --repeat runs (default:
one).
"""

import argparse
import concurrent.futures
import contextlib
import csv
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


@dataclasses.dataclass
class Network:
    batch: int
    chunk: int
    steps: int  # of kith's training
    images: int  # of kith's embedding
    pooling: str
    library: str = "torchvision"  # or timm; kith has both's names
    size: int = 224


NETWORKS = {
    "mobilenet_v2": Network(392, 392, 150, 60000, "gem"),
    "resnet50": Network(1600, 400, 24, 40000, "gem"),
    "vit_b_16": Network(400, 200, 50, 16000, "class_token"),
}
# Vision transformers of other widths, run where they are named (--only).
MORE = {
    "vit_tiny_patch16_224": Network(400, 400, 60, 40000, "class_token",
                                    "timm"),
    "vit_small_patch16_224": Network(400, 400, 50, 30000, "class_token",
                                     "timm"),
    "vit_base_patch16_224": Network(400, 200, 40, 16000, "class_token",
                                    "timm"),
    "vit_large_patch16_224": Network(200, 100, 30, 6000, "class_token",
                                     "timm"),
}
ALL = NETWORKS | MORE
WARM_UP = 3  # steps, in which a GPU prepares itself
PER_CLASS = 4


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kith", default="build/release/kith",
                        help="the program (default: %(default)s)")
    parser.add_argument("--data", metavar="FOLDER", type=pathlib.Path,
                        help="with dataset.csv (path,label,split) and its "
                        "images;\nwithout it photographs are made")
    parser.add_argument("--only", choices=list(ALL), action="append",
                        metavar="NAME", help="this network; may be repeated: "
                        + ", ".join(NETWORKS) + ";\nand with timm "
                        + ", ".join(MORE))
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--steps", type=int,
                        help="of a training (default: about 10 s of an H200)")
    parser.add_argument("--images", type=int,
                        help="that are embedded (default: a few seconds)")
    parser.add_argument("--skip-inference", action="store_true")
    parser.add_argument("--skip-training", action="store_true")
    parser.add_argument("--json", metavar="FILE",
                        help="writes the numbers of every run")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--small", action="store_true",
                        help="a few pictures of 64 px: tries this program")
    parser.add_argument("--self-test", action="store_true",
                        help="tries what needs neither kith nor PyTorch")
    parser.add_argument("--torch", choices=list(ALL),
                        help=argparse.SUPPRESS)  # one run of PyTorch's side
    args = parser.parse_args()
    for name in ("repeat", "steps", "images"):
        value = getattr(args, name)
        if value is not None and value < 1:
            parser.error(f"--{name} must be at least 1, not {value}")
    if args.steps is not None and args.steps <= WARM_UP:
        parser.error(f"--steps must be more than {WARM_UP}: the first "
                     f"{WARM_UP} do not count")
    return args


def network_of(name, args):
    """What is run, by the options."""
    network = dataclasses.replace(ALL[name])
    if args.small:
        network = dataclasses.replace(network, batch=16, chunk=8, steps=6,
                                      images=32)
        # A vision transformer has one size.
        network.size = 224 if network.pooling == "class_token" else 64
    network.steps = args.steps or network.steps
    if args.skip_training:
        network.steps = WARM_UP + 1  # for a model to embed with
    network.images = args.images or network.images
    return network


def say(text):
    print(text, file=sys.stderr, flush=True)


# PyTorch's side, a process of its own.

def torch_network(name, device):
    import torch
    if ALL[name].library == "timm":
        import timm
        network = timm.create_model(name, num_classes=0)
    else:
        import torchvision
        network = getattr(torchvision.models, name)(weights=None)
    for last in ("fc", "classifier", "heads"):
        if hasattr(network, last):
            setattr(network, last, torch.nn.Identity())
    network.train()
    for part in network.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.eval()
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    return network.to(device).to(memory_format=torch.channels_last)


def torch_rate(call, images, args):
    """Images a second, and the most memory in MB, after warming up."""
    import torch
    repeat = 2 if args.small else 20
    is_gpu = args.device == "cuda"

    def wait():
        if is_gpu:
            torch.cuda.synchronize()

    for _ in range(1 if args.small else 5):
        call()
    wait()
    if is_gpu:
        torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    for _ in range(repeat):
        call()
    wait()
    rate = images * repeat / (time.perf_counter() - begin)
    peak = torch.cuda.max_memory_allocated() >> 20 if is_gpu else 0
    return {"rate": rate, "memory_mb": peak}


def run_torch(name, args):
    """Prints one line of JSON: rate and memory by what was run."""
    import torch
    network = network_of(name, args)
    images = network.chunk
    x = torch.randn(images, 3, network.size, network.size, device=args.device)
    x = x.to(memory_format=torch.channels_last)
    can_compile = hasattr(torch, "compile")
    results = {}

    def autocast():
        # PyTorch has not every layer in bfloat16 on a CPU.
        return (torch.autocast("cuda", torch.bfloat16)
                if args.device == "cuda" else contextlib.nullcontext())

    for what in (["eager"] + ["compiled"] * can_compile) * (
            not args.skip_training):
        model = torch_network(name, args.device)
        run = torch.compile(model) if what == "compiled" else model

        def train():
            model.zero_grad(set_to_none=True)
            with autocast():
                y = run(x)
            y.float().square().mean().backward()

        results[what] = torch_rate(train, images, args)
        del model, run, train
    if can_compile and not args.skip_inference:
        run = torch.compile(torch_network(name, args.device).eval())

        def infer():
            with torch.no_grad(), autocast():
                run(x)

        results["inference"] = torch_rate(infer, images, args)
    print(json.dumps(results))


def torch_results(name, args):
    command = [sys.executable, __file__, "--torch", name, "--device",
               args.device]
    command += ["--small"] * args.small
    command += ["--skip-inference"] * args.skip_inference
    command += ["--skip-training"] * args.skip_training
    return json.loads(run(command)[0].splitlines()[-1])


# kith's side.

class Failed(Exception):
    """A program did not do what it was asked to."""


def run(command):
    """What it writes: standard output and standard error."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)}:\n{done.stderr.strip()}")
    return done.stdout, done.stderr


def make_photograph(file, number):
    """A JPEG of 270 x 200 pixels: smooth noise of three sizes, so that it takes
    about the bytes of a small photograph."""
    import random
    from PIL import Image
    draw = random.Random(number)
    picture = None
    for width, height, share in ((9, 7, 1), (34, 25, 0.4), (135, 100, 0.2)):
        noise = Image.frombytes("RGB", (width, height),
                                draw.randbytes(width * height * 3))
        noise = noise.resize((270, 200), Image.BICUBIC)
        picture = noise if picture is None else Image.blend(picture, noise,
                                                            share)
    picture.save(file, quality=90)


def make_photographs(folder, count):
    """[(file, label)]"""
    folder.mkdir()
    files = [folder / f"{i:05}.jpg" for i in range(count)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(make_photograph, files, range(count)))
    return [(file, i // PER_CLASS) for i, file in enumerate(files)]


def read_images(folder):
    """[(file, label)] of dataset.csv."""
    path = folder / "dataset.csv"
    try:
        with open(path, newline="", encoding="utf-8") as file:
            return [((folder / row["path"]).resolve(), row["label"])
                    for row in csv.DictReader(file)]
    except OSError as error:
        raise Failed(f"{path}: {error.strerror}") from None
    except KeyError as error:
        raise Failed(f"{path}: there is no column {error}; its first line must "
                     "be path,label,split") from None


def classes_of_four(images):
    """Lists of four files of one class each; what is left over is left out."""
    by_label = {}
    for file, label in images:
        by_label.setdefault(label, []).append(file)
    return [files[i:i + PER_CLASS] for files in by_label.values()
            for i in range(0, len(files) - PER_CLASS + 1, PER_CLASS)]


def write_list(file, rows, split):
    with open(file, "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["path", "label", "split"])
        writer.writerows([path, label, split] for path, label in rows)


def again_and_again(items, count):
    return [items[i % len(items)] for i in range(count)]


def recipe_of(name, network, images, precision="bf16"):
    """The text of a recipe. YAML reads JSON."""
    return json.dumps({
        "data": {"name": "csv", "path": str(images)},
        "sampler": {"name": "class_balanced", "batch": network.batch,
                    "per_class": PER_CLASS},
        "augment": [{"name": "random_resized_crop", "size": network.size},
                    {"name": "flip"}],
        "model": {
            "bn": "stats",
            "precision": precision,
            "input": {"size": network.size, "resize": network.size * 8 // 7,
                      "colour": "rgb", "mean": [0.485, 0.456, 0.406],
                      "std": [0.229, 0.224, 0.225]},
            "backbone": {"name": name},
            "head": {"dim": 512, "pooling": network.pooling,
                     "layer_norm": "before"}},
        # Random weights give all pictures nearly the same embedding, so that
        # every rank is about half the batch. With t1: 1 the sigmoid of such a
        # rank is exactly 0 from batches of some hundreds on, no gradient is
        # left, and a training without one is refused. The arithmetic is the
        # same with any t1.
        "loss": {"name": "recall_at_k", "t1": 1000, "t2": 0.01},
        "optimizer": {"name": "adam", "lr": 1e-4, "weight_decay": 4e-4},
        "train": {"epochs": 1, "steps": network.steps,
                  "sub_batch": network.chunk},
        "eval": {"split": "none"}}, indent=1)


def training_result(log):
    """Rate and memory of the lines of a run's log."""
    steps = [record for record in map(json.loads, log)
             if record["kind"] == "step"]
    warm = [step for step in steps[WARM_UP:]
            if "sampler" not in step["seconds"]]
    if not warm:
        raise Failed(f"no warm step among {len(steps)}: more --steps are "
                     "needed")
    seconds = statistics.median(step["seconds"]["total"] for step in warm)
    return {"rate": warm[0]["images"] / seconds,
            "memory_mb": max(max(step["peak_mb"].values())
                             for step in steps),
            "seconds": {name: statistics.median(step["seconds"][name]
                                                for step in warm)
                        for name in warm[0]["seconds"]}}


def kith_train(name, network, classes, args, folder):
    """Trains a model in folder/run. One epoch has all the steps, so that none
    waits for a checkpoint."""
    wanted = network.batch // PER_CLASS
    chosen = again_and_again(classes, wanted * (network.steps + 1))
    write_list(folder / "train.csv",
               [(file, label) for label, files in enumerate(chosen)
                for file in files], "train")
    recipe = folder / "recipe.yaml"
    precision = "bf16" if args.device == "cuda" else "float32"
    recipe.write_text(recipe_of(name, network, folder / "train.csv",
                                precision))
    run([args.kith, "train", recipe, "--out", folder / "run", "--device",
         args.device])
    return training_result((folder / "run" / "log.jsonl").read_text()
                           .splitlines())


def lines_of_embedding(log):
    """What `kith embed` says of its time, without the time of day."""
    lines = [line.split(" ", 1)[-1] for line in log.splitlines()]
    return [line for line in lines
            if line.startswith(("embedded ", "seconds: "))]


def kith_embed(network, classes, args, folder):
    """Images a second, with the model of folder/run, and what is said of the
    time of both lists."""
    files = [file for files in classes for file in files]
    batch = network.chunk
    counts = {"short": batch, "long": batch + network.images}
    seconds, said = {}, {}
    for name, count in counts.items():
        write_list(folder / f"{name}.csv",
                   [(file, 0) for file in again_and_again(files, count)],
                   "test")
        begin = time.perf_counter()
        log = run([args.kith, "embed", folder / "run", "--images",
                   folder / f"{name}.csv", "--out", folder / "e.npy",
                   "--batch", batch, "--device", args.device])[1]
        seconds[name] = time.perf_counter() - begin
        said[name] = lines_of_embedding(log)
    more = seconds["long"] - seconds["short"]
    if more <= 0:
        raise Failed(f"{network.images} more images took no longer: a larger "
                     "--images is needed")
    return {"rate": network.images / more, "seconds": seconds, "log": said}


def choose_images(names, args, scratch):
    """Classes of four files, as many as the largest batch needs."""
    batch = max(network_of(name, args).batch for name in names)
    images = (read_images(args.data) if args.data else
              make_photographs(scratch / "photographs", batch))
    classes = classes_of_four(images)
    if len(classes) < batch // PER_CLASS:
        raise Failed(f"{args.data} has {len(classes)} classes of {PER_CLASS} "
                     f"images, but a batch of {batch} needs "
                     f"{batch // PER_CLASS}")
    return classes


def compare(name, classes, args, scratch, results):
    """Puts the numbers of one run of all sides into `results`."""
    network = network_of(name, args)
    say(f"{name}: PyTorch")
    results.update(torch_results(name, args))
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        folder = pathlib.Path(folder)
        say(f"{name}: kith train")
        trained = kith_train(name, network, classes, args, folder)
        if not args.skip_training:
            results["kith"] = trained
        if not args.skip_inference:
            say(f"{name}: kith embed")
            results["embed"] = kith_embed(network, classes, args, folder)


# The table.

HEAD = """\
Training: images/s, and GPU memory in GB. Inference: images/s.

| network | batch (chunk) | eager | compiled | kith | kith / compiled \
| compiled, GB | kith, GB | inference, compiled | `kith embed` | ratio |
|---|---|---|---|---|---|---|---|---|---|---|"""


def median_of(results, what, key="rate"):
    """None if it was not run."""
    numbers = [result[what][key] for result in results if what in result]
    return statistics.median(numbers) if numbers else None


def row_of(name, network, results):
    """The line of a network, of the results of its runs."""
    def text(number, places=0):
        return "-" if number is None else f"{number:.{places}f}"

    def ratio(above, below):
        return above / below if above and below else None

    rate = {what: median_of(results, what) for what in
            ("eager", "compiled", "kith", "inference", "embed")}
    memory = {what: median_of(results, what, "memory_mb")
              for what in ("compiled", "kith")}
    cells = [name, f"{network.batch} ({network.chunk})", text(rate["eager"]),
             text(rate["compiled"]), f"**{text(rate['kith'])}**",
             text(ratio(rate["kith"], rate["compiled"]), 2),
             *(text(mb and mb * 2**20 / 1e9, 1) for mb in memory.values()),
             text(rate["inference"]), text(rate["embed"]),
             text(ratio(rate["embed"], rate["inference"]), 2)]
    return "| " + " | ".join(cells) + " |"


def print_table(names, args, scratch):
    """Each row as soon as it is there, the first failure at the end."""
    classes = choose_images(names, args, scratch)
    numbers, failure = {}, None
    print(HEAD, flush=True)
    for name in names:
        runs = numbers[name] = []
        try:
            for _ in range(args.repeat):
                runs.append({})
                compare(name, classes, args, scratch, runs[-1])
        except Failed as error:
            failure = failure or error
            say(f"{name}: failed")
        print(row_of(name, network_of(name, args), runs), flush=True)
        if args.json:
            text = json.dumps(numbers, indent=1) + "\n"
            pathlib.Path(args.json).write_text(text, encoding="utf-8")
    if failure:
        raise failure
    return 0


def self_test():
    """Rows, logs and lists that were made up."""
    results = [{"eager": {"rate": 50, "memory_mb": 0},
                "compiled": {"rate": 100, "memory_mb": 2500},
                "kith": {"rate": rate, "memory_mb": 1200},
                "inference": {"rate": 400, "memory_mb": 9},
                "embed": {"rate": 300}} for rate in (149, 151, 160)]
    network = NETWORKS["resnet50"]
    row = row_of("resnet50", network, results)
    assert row == ("| resnet50 | 1600 (400) | 50 | 100 | **151** | 1.51 | 2.6 "
                   "| 1.3 | 400 | 300 | 0.75 |"), row
    assert row.count("|") == HEAD.splitlines()[-1].count("|")
    del results[0]["compiled"]
    few = row_of("resnet50", network, [{k: results[0][k]
                                        for k in ("eager", "kith")}])
    assert few.endswith("| **149** | - | - | 1.3 | - | - | - |"), few

    log = [{"kind": "start"}] + [
        {"kind": "step", "images": 100, "peak_mb": {"loss": mb},
         "seconds": {"total": total, **more}} for total, mb, more in
        ((9, 7, {"sampler": 1}), (9, 1, {}), (9, 1, {}), (0.5, 1, {}),
         (9, 1, {"sampler": 1}), (0.5, 1, {}), (0.7, 1, {}))]
    result = training_result([json.dumps(record) for record in log])
    assert result["rate"] == 200 and result["memory_mb"] == 7, result
    try:
        training_result([json.dumps(record) for record in log[:4]])
        raise AssertionError("a log without warm steps")
    except Failed as error:
        assert "more --steps" in str(error)

    assert lines_of_embedding(
        "00:01:02 a warning\n00:01:03 embedded 8 images in 1 s\n"
        "00:01:03 seconds: model 1.5\n") == ["embedded 8 images in 1 s",
                                             "seconds: model 1.5"]

    images = [(f"{label}-{i}.jpg", label) for i in range(9) for label in "ab"]
    classes = classes_of_four(images)
    assert len(classes) == 4 and classes[0] == [f"a-{i}.jpg" for i in range(4)]
    assert again_and_again([1, 2], 3) == [1, 2, 1]
    recipe = json.loads(recipe_of("vit_b_16", NETWORKS["vit_b_16"], "x.csv"))
    assert recipe["model"]["head"]["pooling"] == "class_token"
    assert recipe["model"]["input"]["resize"] == 256


def main():
    args = parse_arguments()
    if args.self_test:
        self_test()
        return 0
    if args.torch:
        run_torch(args.torch, args)
        return 0
    names = args.only or list(NETWORKS)
    with tempfile.TemporaryDirectory() as folder:
        try:
            return print_table(names, args, pathlib.Path(folder))
        except Failed as error:
            say(f"scripts/bench-compile: {error}")
            return 1


if __name__ == "__main__":
    sys.exit(main())
