"""The bill of materials names everything that the built files are linked with and
that was compiled into them, with version and licence.

usage: bill_test.py BUILD_FOLDER SOURCE_FOLDER
"""

import json
import pathlib
import sys

from run_path_test import NEEDED, dynamic_entries, is_elf

FILES = ("kith", "libkith_program.so", "libkith.so", "libkith_base.so",
         "libkith_ops.so")


def needed(build):
    """The libraries of others that files of kith name."""
    paths = [path for name in FILES for path in build.rglob(name)
             if is_elf(path) and "_CPack_Packages" not in path.parts]
    assert len(paths) >= 4, paths
    names = {text for path in paths for tag, text in dynamic_entries(path)
             if tag == NEEDED}
    return names - set(FILES)


def value(component, name):
    values = [item["value"] for item in component["properties"]
              if item["name"] == name]
    assert len(values) == 1, component
    return values[0]


def main(build, source):
    build = pathlib.Path(build)
    bill = json.loads((build / "kith.cdx.json").read_text("utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert bill["metadata"]["component"]["name"] == "kith", bill["metadata"]
    components = bill["components"]
    refs = [component["bom-ref"] for component in components]
    assert len(set(refs)) == len(refs), refs
    assert bill["dependencies"] == [{"ref": "kith", "dependsOn": refs}]
    for component in components:
        assert component.get("version"), (component, "has no version")
        assert component["purl"].startswith("pkg:"), component
        assert component.get("licenses"), (
            component, "has no licence: add it to cmake/KithSbom.cmake")

    linked = {value(component, "kith:file") for component in components
              if value(component, "kith:use") == "linked"}
    assert linked == needed(build), linked ^ needed(build)
    inside = {component["name"] for component in components
              if value(component, "kith:use") == "compiled in"}
    assert inside >= {"nlohmann-json", "CLI11"}, inside
    notices = (pathlib.Path(source) / "cmake/copyright").read_text("utf-8")
    for name in inside:
        assert f"\nFiles: {name}\n" in notices, (
            name, "is compiled in: cmake/copyright must say so")
    print(f"{len(linked)} libraries linked; compiled in: "
          + ", ".join(sorted(inside)))


if __name__ == "__main__":
    main(*sys.argv[1:])
