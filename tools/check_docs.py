#!/usr/bin/env python3
"""Checks what the docs say of other files: links, examples, folders.

usage: check_docs.py [ROOT]     check the checkout at ROOT (default: .)

- A link to a file of the checkout, or to a heading, has its target.
- A block of C++ below a line that ends in "(../examples/FILE.cpp):" stands in
  that file as it is.
- The score of README.md and docs/claims.md is that of the table of claims.
- The folders of docs/architecture.md and what each may use are those of
  tools/check_layers.py.

Exit status 1 with one line FILE:LINE: reason for each fault.
"""

import pathlib
import re
import sys

sys.dont_write_bytecode = True
from check_layers import ALLOWED  # noqa: E402

LINK = re.compile(r"\]\(([^()\s]+)\)")
QUOTED = re.compile(r"\]\((\S+\.cpp)\):$")
VERDICTS = ["confirmed", "refuted", "undecided", "not tried"]
SCORE = re.compile(", ".join(rf"(\d+) {verdict}" for verdict in VERDICTS))
ROOM = re.compile(r"^\| `kith/(\w+)` \|.*\| ([^|]+) \|$")


def without_code(lines):
    """The lines, with those of code blocks made empty."""
    code, out = False, []
    for line in lines:
        fence = line.startswith("```")
        out.append("" if code or fence else line)
        code ^= fence
    return out


def anchors(path):
    """The headings of a page as GitHub links to them, and its own anchors."""
    text = path.read_text(encoding="utf-8")
    found = set(re.findall(r'<a id="([^"]+)">', text))
    for line in without_code(text.split("\n")):
        if line.startswith("#"):
            title = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            found.add(title.replace(" ", "-"))
    return found


def check_links(page, lines):
    for number, line in enumerate(without_code(lines), 1):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            path = page.parent / name if name else page
            if not path.exists():
                yield number, f"there is no {target}"
            elif anchor and anchor not in anchors(path):
                yield number, f"there is no heading #{anchor} in {name or 'it'}"


def check_quotes(page, lines):
    for number, line in enumerate(lines, 1):
        match = QUOTED.search(line)
        if not match or lines[number:number + 2] != ["", "```cpp"]:
            continue
        end = lines.index("```", number + 2)
        code = [text.strip() for text in lines[number + 2:end]]
        source = (page.parent / match[1]).read_text(encoding="utf-8")
        # Pieces that "// ..." divides; a page may indent less.
        for piece in "\n".join(code).split("\n// ...\n"):
            known = "\n".join(text.strip() for text in source.split("\n"))
            if piece not in known:
                yield number + 2, f"is not in {match[1]} as it stands here"


def count_verdicts(text):
    """How many rows of the table of claims have each verdict, its 4th cell."""
    rows = [line.split(" | ") for line in text.split("\n")
            if line.startswith("| ")]
    cells = [row[3] for row in rows if len(row) == 5]
    return [sum(cell.startswith(verdict) for cell in cells)
            for verdict in VERDICTS]


def check_score(root, lines):
    text = (root / "docs/claims.md").read_text(encoding="utf-8")
    counted = count_verdicts(text)
    score = SCORE.search(" ".join(lines))
    if not score or [int(n) for n in score.groups()] != counted:
        yield 1, "the score of docs/claims.md is " + ", ".join(
            f"{n} {verdict}" for n, verdict in zip(counted, VERDICTS))


def check_rooms(lines):
    rooms = {}
    for number, line in enumerate(lines, 1):
        match = ROOM.match(line)
        if match:
            rooms[match[1]] = set(re.findall(r"\w+", match[2]))
            if rooms[match[1]] != ALLOWED.get(match[1]):
                yield number, (f"tools/check_layers.py lets kith/{match[1]} use"
                               f" {' '.join(ALLOWED.get(match[1], ['nothing']))}")
    for room in ALLOWED.keys() - rooms.keys():
        yield 1, f"has no row for kith/{room}"


def main(arguments):
    if len(arguments) > 1 or any(a.startswith("-") for a in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0] if arguments else ".")
    pages = sorted(root.glob("*.md")) + sorted(root.glob("docs/**/*.md"))
    faults = 0
    for page in pages:
        lines = page.read_text(encoding="utf-8").split("\n")
        found = [*check_links(page, lines), *check_quotes(page, lines)]
        if page == root / "docs/architecture.md":
            found += check_rooms(lines)
        if page in (root / "README.md", root / "docs/claims.md"):
            found += check_score(root, lines)
        for number, reason in found:
            print(f"{page.relative_to(root)}:{number}: {reason}")
        faults += len(found)
    print(f"{len(pages)} pages, {faults} faults")
    return 1 if faults or not pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
