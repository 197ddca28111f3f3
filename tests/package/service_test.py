"""The systemd service: systemd understands every line, and finds the service shut
in; its command line is one that `kith serve` takes.

usage: service_test.py BUILD_FOLDER SOURCE_FOLDER

Nothing is started. Exit status 77 (skipped) where there is no systemd 250.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
UNIT = "kith-serve@.service"
EXPOSURE = 15  # tenths; 100 is a service with all rights of root


def analyze(*arguments):
    result = subprocess.run(["systemd-analyze", *map(str, arguments)],
                            text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False)
    return result.returncode, result.stdout


def skip_without_systemd():
    reason = None
    if shutil.which("systemd-analyze") is None:
        reason = "no systemd-analyze"
    elif int(re.search(r"systemd (\d+)", analyze("--version")[1])[1]) < 250:
        reason = "systemd is older than 250"
    if reason is not None:
        print("skipped: " + reason)
        sys.exit(1 if os.environ.get("CI") == "true" else SKIPPED)


def write_unit(folder, text):
    folder.mkdir()
    path = folder / UNIT.replace("@", "@birds")
    path.write_text(text, "utf-8")
    return path


def check_command(program, text):
    """Every option is one of `kith serve`."""
    command = re.search(r"^ExecStart=kith (.+)$", text, re.M)[1]
    words = command.split()
    result = subprocess.run([program, words[0], "--help"], text=True,
                            capture_output=True, check=True)
    for word in words:
        if word.startswith("--"):
            assert re.search(rf"^  (\S+,)?{word}\b", result.stdout, re.M), word


def main(build, source):
    skip_without_systemd()
    program = (pathlib.Path(build) / "kith").resolve()
    text = (pathlib.Path(source) / "cmake" / UNIT).read_text("utf-8")
    check_command(program, text)
    # systemd finds an installed kith by its name.
    here = text.replace("ExecStart=kith ", f"ExecStart={program} ")
    assert here != text
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        unit = write_unit(folder / "right", here)
        code, said = analyze("verify", "--man=no", unit)
        assert code == 0 and said == "", (code, said)
        code, said = analyze("security", "--offline=true", "--no-pager",
                             f"--threshold={EXPOSURE}", unit)
        assert code == 0, said
        print(said.strip().splitlines()[-1])
        # A fault is found.
        wrong = write_unit(folder / "wrong", here.replace(
            "ProtectHome=yes", "ProtectHouse=yes"))
        assert "ProtectHouse" in analyze("verify", "--man=no", wrong)[1]


if __name__ == "__main__":
    main(*sys.argv[1:])
