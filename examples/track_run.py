#!/usr/bin/env python3
"""Sends runs of kith to MLflow or Weights & Biases.

usage: track_run.py mlflow|wandb RUN... [--project NAME]

RUN is what `kith train --out` wrote, finished or not. Its configuration becomes
parameters; steps (loss, learning rate, images a second) and evaluations become
metrics, by the number of the step; config.yaml and metrics.json become files. A run
that is sent again becomes another one.

Where to and with what key the other program says: MLFLOW_TRACKING_URI (default:
./mlruns or what MLflow has now), WANDB_API_KEY or `wandb login`, WANDB_MODE=offline.
TensorBoard needs none of this: it reads the folder.
"""

import argparse
import json
import math
import pathlib
import sys

import yaml  # both programs bring it

FILES = ("config.yaml", "metrics.json")


def flat(tree, above=""):
    """{"loss.k": "[1, 2, 4]"} of {"loss": {"k": [1, 2, 4]}}"""
    result = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            result.update(flat(value, f"{above}{key}."))
        else:
            result[above + key] = value
    return result


def read_config(run):
    path = run / "config.yaml"
    try:
        return flat(yaml.safe_load(path.read_text("utf-8")))
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}: not a folder that kith train wrote")


def metrics_of(record):
    """What a line of log.jsonl measured; {} of other lines."""
    if record["kind"] == "step":
        numbers = {f"train/{key}": record[key]
                   for key in ("loss", "lr", "grad_norm") if key in record}
        seconds = record["seconds"]["total"]
        if seconds > 0:
            numbers["train/images_per_second"] = record["images"] / seconds
    elif record["kind"] == "eval":
        metrics = record["metrics"].get("metrics", {})
        numbers = {f"eval/{record['split']}/{key}": value
                   for key, value in metrics.items()}
    else:
        numbers = {}
    return {key: float(value) for key, value in numbers.items()
            if isinstance(value, (int, float)) and math.isfinite(value)}


def read_log(run):
    """(step, epoch, numbers) of every line that measured something; a last line
    that is being written is left out."""
    path = run / "log.jsonl"
    if not path.exists():
        sys.exit(f"{path}: no such file: the run has not begun")
    lines = path.read_text("utf-8").split("\n")
    for line in lines[:-1]:  # what follows the last line feed is no line yet
        record = json.loads(line)
        numbers = metrics_of(record)
        if numbers:
            yield record["step"], record["epoch"], numbers


def send_to_mlflow(run, project):
    import mlflow
    from mlflow.entities import Metric, Param
    mlflow.set_experiment(project)
    with mlflow.start_run(run_name=run.name) as active:
        client = mlflow.MlflowClient()
        number = active.info.run_id
        # A batch takes 100 parameters, or 1000 metrics; a value 6000 letters.
        params = [Param(key, str(value)[:6000])
                  for key, value in read_config(run).items()]
        for i in range(0, len(params), 100):
            client.log_batch(number, params=params[i:i + 100])
        # The log has no times of day: a step stands for a millisecond.
        metrics = [Metric(key.replace("@", "_at_"), value, step, step)
                   for step, _, numbers in read_log(run)
                   for key, value in numbers.items()]
        for i in range(0, len(metrics), 1000):
            client.log_batch(number, metrics=metrics[i:i + 1000])
        for name in FILES:
            if (run / name).exists():
                mlflow.log_artifact(str(run / name))


def send_to_wandb(run, project):
    import wandb
    with wandb.init(project=project, name=run.name,
                    config=read_config(run)) as active:
        together = {}  # what is of one step is sent at once
        for step, epoch, numbers in read_log(run):
            together.setdefault(step, {"epoch": epoch}).update(numbers)
        for step, numbers in together.items():
            active.log(numbers, step=step)
        for name in FILES:
            if (run / name).exists():
                active.save(str(run / name), base_path=str(run), policy="now")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=(
        argparse.RawDescriptionHelpFormatter))
    parser.add_argument("to", choices=["mlflow", "wandb"])
    parser.add_argument("runs", nargs="+", type=pathlib.Path, metavar="RUN")
    parser.add_argument("--project", default="kith",
                        help="MLflow: the experiment (default: %(default)s)")
    args = parser.parse_args()
    send = send_to_mlflow if args.to == "mlflow" else send_to_wandb
    for run in args.runs:
        run = run.resolve()
        read_config(run)  # nothing is begun for what is no run
        try:
            send(run, args.project)
        except ImportError as error:
            sys.exit(f"track_run.py: {error}: pip install {args.to}")
        print(f"sent {run} to {args.to}")


if __name__ == "__main__":
    main()
