# shellcheck shell=bash
# Sourced by scripts/demo and scripts/test: installs what is missing on
# Debian 12, then configures and builds build/release of this checkout.
set -euo pipefail

kith_root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
kith_build=$kith_root/build/release

# Standard output is left to the program.
say() { printf '%s\n' "$*" >&2; }

list_packages() {
  sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' \
    "$kith_root/scripts/packages.txt"
}

missing_packages() {
  local installed
  # dpkg-query fails when it does not know one of them; it lists the others.
  # shellcheck disable=SC2016,SC2046
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' \
    $(list_packages) 2>/dev/null | sed -n 's/^installed //p') || true
  # One pattern a line, each a whole name; an empty one matches no package.
  list_packages | grep -vxF -e "$installed" || true
}

is_debian_12() {
  # In a subshell: the file sets NAME, VERSION and others.
  # shellcheck source=/dev/null
  [[ -r /etc/os-release ]] &&
    (. /etc/os-release && [[ ${ID:-} == debian && ${VERSION_ID:-} == 12 ]])
}

install_packages() {
  if [[ ${KITH_SKIP_PACKAGES:-} == 1 ]]; then
    return
  fi
  if ! is_debian_12; then
    say "This is not Debian 12, so nothing is installed. kith needs what these"
    say "Debian packages hold (docs/building.md tells about other systems):"
    list_packages | sed 's/^/  /' >&2
    say "Where all of it is present, set KITH_SKIP_PACKAGES=1 and run again."
    exit 1
  fi
  local missing
  # shellcheck disable=SC2207
  missing=($(missing_packages))
  if ((${#missing[@]} == 0)); then
    return
  fi
  local as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      say "${#missing[@]} Debian packages are missing. Run this as root:"
      say "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
      exit 1
    fi
    as_root=(sudo)
  fi
  say "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
           apt-get install -y --no-install-recommends "${missing[@]}"
       } >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    rm -f "$log"
    say "Could not install the packages: the reason is above."
    exit 1
  fi
  rm -f "$log"
}

# The value of a variable in CMake's cache, empty when there is none.
cached() {
  sed -n "s/^$1:[A-Z]*=//p" "$kith_build/CMakeCache.txt" 2>/dev/null || true
}

# configure OPTION...: of CMake, if the folder is not configured yet.
configure() {
  # Afterwards ninja runs CMake by itself when its files change.
  if [[ -f $kith_build/build.ninja ]]; then
    return
  fi
  say "Configuring build/release"
  mkdir -p "$kith_build"
  local log=$kith_build/configure.log
  if ! (cd -- "$kith_root" && cmake --preset release "$@") \
      >"$log" 2>&1; then
    cat "$log" >&2
    say "Could not configure: the reason is above."
    exit 1
  fi
}

build() {
  if [[ -f $kith_build/.ninja_log ]]; then
    say "Building what changed"
  else
    say "Building (first time: about 25 minutes on two cores)"
  fi
  if ! cmake --build "$kith_build" >&2; then
    say "Could not build: the reason is above."
    exit 1
  fi
}

setup() {
  install_packages
  configure
  build
}
