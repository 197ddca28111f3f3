"""The commands whose faults are tried, on data that train in a moment."""

import concurrent.futures
import dataclasses
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading

TRAIN = """\
data: {name: glyphs, classes: 4, per_class: 4}
sampler: {batch: 8, per_class: 2}
model:
  input: {size: 16}
  backbone: {name: convnet, width: 4}
  head: {dim: 8}
train: {epochs: 2, checkpoint_steps: 1}
"""

STUDY = """\
data: {name: glyphs, classes: 4, per_class: 4}
sampler: {batch: 8, per_class: 2}
model:
  input: {size: 16}
  backbone: {name: convnet, width: 4}
  head: {dim: 8}
train: {epochs: 1, steps: 2}
study:
  axes:
    - {name: t2, key: loss.t2, values: [0.05, 0.1]}
"""

# Of a network that timm has too.
PUBLISHED = """\
data: {name: glyphs, classes: 4, per_class: 2}
sampler: {batch: 4, per_class: 2}
model:
  input: {size: 32, colour: rgb}
  backbone: {name: mobilenet_v3_small}
  head: {dim: 8}
train: {epochs: 1, steps: 1}
eval: {split: none}
"""

CPU = ["--device", "cpu", "--threads", "1"]
RESUME = ["train", "--resume", "--out", "run", *CPU]


@dataclasses.dataclass
class Case:
    """A command, run in a folder that has what it `needs` of BASE."""

    command: list
    needs: list = dataclasses.field(default_factory=list)
    # What goes on after it failed, where that is not the command again.
    again: list = dataclasses.field(default_factory=list)
    # What must be possible whatever happened to it.
    check: list = dataclasses.field(default_factory=list)
    # What it takes away first: a run that goes on is not finished any more.
    gives_up: list = dataclasses.field(default_factory=list)
    # What a user must remove before it can be repeated, as its error says.
    emptied: str = ""
    # A folder that is to be the old or the new one, whatever happens.
    whole: str = ""
    # It goes on without what it cannot read, and says so.
    warns: bool = False
    # Only each so-manieth point: its trainings are tried by themselves.
    every: int = 1
    # Each so-manieth point is cheap enough for CTest; 0: none is.
    quick: int = 0


SEARCH = ["search", "--index", "i.faiss", "--image", "data/images/0000/000.png",
          *CPU]
EXPORT = ["export", "run", "--out", "exported"]
PUBLISH = ["export", "published", "--out", "exported", "--huggingface"]
MAKE = ["index", "run", "--images", "data", "--out", "i.faiss", *CPU]
INDEX = ["data", "run", "i.faiss", "i.faiss.items.csv", "i.faiss.json"]

CASES = {
    "data-make": Case(["data", "make", "glyphs", "--out", "made", "--classes",
                       "2", "--per-class", "2"], quick=11),
    "train": Case(["train", "tiny.yaml", "--out", "run", *CPU], ["tiny.yaml"],
                  again=RESUME),
    "resume": Case(["train", "--resume", "--out", "run", "--set",
                    "train.epochs=3", *CPU], ["run"],
                   gives_up=["run/metrics.json"]),
    "eval": Case(["eval", "run", "--diagnostics", "--threshold", "far=0.1",
                  "--corruptions", "jpeg", "--bootstrap", "20", *CPU],
                 ["run"]),
    "embed": Case(["embed", "run", "--images", "data", "--out", "e.npy",
                   "--ids", "ids.txt", *CPU], ["data", "run"]),
    "index-make": Case(MAKE, ["data", "run"], again=[*MAKE, "--overwrite"]),
    "index-overwrite": Case(["index", "e.npy", "--ids", "ids.txt", "--model",
                             "run", "--out", "i.faiss", "--overwrite", *CPU],
                            [*INDEX, "e.npy", "ids.txt"], check=SEARCH),
    "index-add": Case(["index", "add", "more.npy", "--ids", "more.txt", "--to",
                       "i.faiss", *CPU], [*INDEX, "more.npy", "more.txt"],
                      check=SEARCH),
    "index-remove": Case(["index", "remove", "gone.txt", "--from", "i.faiss"],
                         [*INDEX, "gone.txt"], check=SEARCH, quick=19),
    "index-export": Case(["index", "i.faiss", "--export", "shards",
                          "--shard-rows", "4", *CPU], INDEX,
                         emptied="shards"),
    "search": Case([*SEARCH, "--html", "found.html"], INDEX, warns=True),
    "report": Case(["report", "run", *CPU], ["run"], warns=True),
    "sweep": Case(["sweep", "study.yaml", "--out", "study", *CPU],
                  ["study.yaml"], every=6),
    "export": Case(EXPORT, ["run"], again=[*EXPORT, "--overwrite"], quick=19),
    "export-overwrite": Case([*EXPORT, "--overwrite"], ["run", "exported"],
                             whole="exported", warns=True, quick=29),
    "export-onnx": Case([*EXPORT, "--onnx"], ["run"],
                        again=[*EXPORT, "--onnx", "--overwrite"]),
    "export-huggingface": Case(PUBLISH, ["published"],
                               again=[*PUBLISH, "--overwrite"]),
}


class Program:
    """The program under test, on one thread."""

    def __init__(self, path):
        self.path = str(pathlib.Path(path).resolve())
        self.environment = dict(os.environ, OMP_NUM_THREADS="1")

    def run(self, arguments, folder, before=(), **variables):
        """Runs it in a folder; `before` begins the command line."""
        return subprocess.run([*before, self.path, *arguments], cwd=folder,
                              env=self.environment | variables,
                              capture_output=True, text=True, errors="replace",
                              timeout=300, check=False)

    def must(self, arguments, folder):
        done = self.run(arguments, folder)
        if done.returncode != 0:
            raise SystemExit(f"kith {' '.join(arguments)}: exit code "
                             f"{done.returncode}\n{done.stderr}")
        return done


def parsed(parser, known):
    """The flags; behind those of the parser come commands that are known."""
    parser.add_argument("commands", nargs="*", metavar="COMMAND",
                        help=f"by default all: {', '.join(known)}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    flags = parser.parse_intermixed_args()
    if not os.access(flags.program, os.X_OK):
        parser.error(f"{flags.program} is no program: build kith first")
    for name in flags.commands:
        if name not in known:
            parser.error(f"no command {name!r} is tried, only "
                         f"{', '.join(known)}")
    return flags


def side_by_side(jobs, names, what, work):
    """Calls work(name, folder, tell), which gives how many of `what` it tried
    and how many were bad. Returns the exit code."""
    lock = threading.Lock()

    def tell(text):
        with lock:
            print(text, flush=True)

    # In memory, where there is room for that: a disk waits at every fsync.
    parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    root = pathlib.Path(tempfile.mkdtemp(prefix="kith-faults-", dir=parent))

    def one(name):
        try:
            return work(name, root / name, tell)
        finally:
            shutil.rmtree(root / name, ignore_errors=True)

    try:
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            found = list(pool.map(one, names))
    finally:
        shutil.rmtree(root, ignore_errors=True)
    bad = sum(each[1] for each in found)
    print(f"all: {sum(each[0] for each in found)} {what}, {bad} bad")
    return 1 if bad else 0


def make_base(program, base, names):
    """What the named cases need, made once."""
    needed = {need for name in names for need in CASES[name].needs}
    base.mkdir(parents=True)
    (base / "tiny.yaml").write_text(TRAIN)
    (base / "study.yaml").write_text(STUDY)
    (base / "published.yaml").write_text(PUBLISHED)
    if needed & {"data", "i.faiss"}:
        program.must(["data", "make", "glyphs", "--out", "data", "--classes",
                      "2", "--per-class", "2"], base)
    if "run" in needed:
        program.must(["train", "tiny.yaml", "--out", "run", *CPU], base)
    if "published" in needed:
        program.must(["train", "published.yaml", "--out", "published", *CPU],
                     base)
    if "exported" in needed:
        # With one more file, so that what is half of both is neither.
        program.must([*EXPORT, "--onnx"], base)
    if "i.faiss" in needed:
        for images, out, ids in (("data", "e.npy", "ids.txt"),
                                 ("data/images/0001", "more.npy", "no.txt")):
            program.must(["embed", "run", "--images", images, "--out", out,
                          "--ids", ids, *CPU], base)
        program.must(["index", "run", "--images", "data", "--out", "i.faiss",
                      *CPU], base)
        (base / "more.txt").write_text("more 0\nmore 1\n")
        (base / "gone.txt").write_text("data/images/0000/001.png\n")


def fresh(base, folder, needs):
    """Makes `folder` anew, with what is needed of the base."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for need in needs:
        if (base / need).is_dir():
            shutil.copytree(base / need, folder / need)
        else:
            shutil.copy(base / need, folder / need)
