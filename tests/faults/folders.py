"""What commands leave: compared apart from times, and whether it is whole."""

import hashlib
import json
import pathlib
import re
import struct

# Of a line of log.jsonl and of other JSON that measures.
TIMES = {"seconds", "peak_mb", "images_per_s", "wall", "time", "started",
         "ended", "made"}
EVENTS = re.compile(r"events\.out\.tfevents\..*")
TEMPORARY = re.compile(r"\.kith-\d+-\d+\.tmp")


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(each) for key, each in value.items()
                if key not in TIMES}
    if isinstance(value, list):
        return [without_times(each) for each in value]
    return value


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """The fields of a protobuf message as (number, value)."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def events(data):
    """(step, tag, value) of a TensorBoard file, without wall times."""
    found, at = {}, 0
    while at + 12 <= len(data):
        size = struct.unpack_from("<Q", data, at)[0]
        event = dict(fields(data[at + 12:at + 12 + size]))
        at += size + 16
        for number, value in fields(event.get(5, b"")):
            parts = dict(fields(value)) if number == 1 else {}
            tag = parts.get(1, b"").decode()
            if tag and not re.search("time|second|memory|images_per", tag):
                digest = hashlib.sha256(repr(sorted(parts.items())).encode())
                found[event.get(2, 0), tag] = digest.hexdigest()
    return found


def contents(path):
    """What two runs of a command must have in common of a file."""
    data = path.read_bytes()
    if path.name == "log.jsonl":
        lines = [json.loads(line) for line in data.decode().splitlines()]
        return json.dumps(without_times(lines))
    if EVENTS.fullmatch(path.name):
        return events(data)
    return b"" if path.suffix == ".log" else data


def snapshot(folder):
    """Everything below a folder by its name; event files of a run as one."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.is_dir() or path.name.endswith("lock"):
            continue
        name = str(path.relative_to(folder))
        if EVENTS.fullmatch(path.name):
            name = str(path.relative_to(folder).parent / "events")
            found.setdefault(name, {}).update(contents(path))
        else:
            found[name] = contents(path)
    return found


def differences(one, other):
    """Names of what two snapshots do not have in common."""
    return sorted(name for name in one.keys() | other.keys()
                  if one.get(name) != other.get(name))


def is_whole(path):
    """Whether a file ends as its kind does, or is one that grows by lines."""
    data = path.read_bytes()
    ends = {".json": b"}\n", ".html": b"</html>\n", ".svg": b"</svg>\n",
            ".png": b"IEND\xaeB`\x82", ".csv": b"\n", ".yaml": b"\n",
            ".md": b"\n", ".txt": b"\n"}
    if path.suffix in ends:
        return data.endswith(ends[path.suffix])
    if path.suffix == ".safetensors":
        size = struct.unpack_from("<Q", data)[0] if len(data) > 8 else 0
        if size == 0 or len(data) < 8 + size:
            return False
        header = json.loads(data[8:8 + size])
        return len(data) == 8 + size + max(
            each["data_offsets"][1] for name, each in header.items()
            if name != "__metadata__")
    return True
