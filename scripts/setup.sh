# shellcheck shell=bash
# Sourced by scripts/demo, scripts/test and others: installs what is missing on
# Debian 12, then configures and builds build/release of this checkout.
set -euo pipefail

kith_root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
kith_build=$kith_root/build/release

# Standard output is left to the program.
say() { printf '%s\n' "$*" >&2; }

# list_packages LIST...: of scripts/LIST.txt.
list_packages() {
  local lists=("${@/#/$kith_root/scripts/}")
  sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "${lists[@]/%/.txt}"
}

missing_packages() {
  local installed
  # dpkg-query fails when it does not know one of them; it lists the others.
  # shellcheck disable=SC2016,SC2046
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' \
    $(list_packages "$@") 2>/dev/null | sed -n 's/^installed //p') || true
  # One pattern a line, each a whole name; an empty one matches no package.
  list_packages "$@" | grep -vxF -e "$installed" || true
}

is_debian_12() {
  # In a subshell: the file sets NAME, VERSION and others.
  # shellcheck source=/dev/null
  [[ -r /etc/os-release ]] &&
    (. /etc/os-release && [[ ${ID:-} == debian && ${VERSION_ID:-} == 12 ]])
}

# install_packages LIST...
install_packages() {
  if [[ ${KITH_SKIP_PACKAGES:-} == 1 ]]; then
    return
  fi
  if ! is_debian_12; then
    say "This is not Debian 12, so nothing is installed. kith needs what these"
    say "Debian packages hold (docs/building.md tells about other systems):"
    list_packages "$@" | sed 's/^/  /' >&2
    say "Where all of it is present, set KITH_SKIP_PACKAGES=1 and run again."
    exit 1
  fi
  local missing
  # shellcheck disable=SC2207
  missing=($(missing_packages "$@"))
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

# configure ON|OFF: with or without what is not the program. A folder that has it
# keeps it, for the program is the same.
configure() {
  # Afterwards ninja runs CMake by itself when its files change.
  if [[ -f $kith_build/build.ninja ]] &&
     [[ $1 == OFF || $(cached KITH_BUILD_TESTS) == ON ]]; then
    return
  fi
  say "Configuring build/release"
  mkdir -p "$kith_build"
  local log=$kith_build/configure.log
  if ! (cd -- "$kith_root" && cmake --preset release -D KITH_BUILD_TESTS="$1" \
          -D KITH_BUILD_EXAMPLES="$1" -D KITH_BUILD_BENCH="$1" \
          -D KITH_BUILD_PYTHON="$1") >"$log" 2>&1; then
    cat "$log" >&2
    say "Could not configure: the reason is above."
    exit 1
  fi
}

# build MINUTES TARGET FILE: how long it takes on two cores until there is FILE.
build() {
  if [[ -f $kith_build/$3 ]]; then
    say "Building what changed"
  else
    say "Building (first time: about $1 minutes on two cores)"
  fi
  local command=(cmake --build "$kith_build" --target "$2")
  local log=$kith_build/build.log
  if ! if [[ ${CI:-} == true ]]; then
         "${command[@]}" 2>&1 | tee "$log" >&2
       else
         "${command[@]}" >&2
       fi; then
    say "Could not build: the reason is above."
    exit 1
  fi
  # No flag makes warnings errors: another flag would be another object, and CI
  # and developers share them. ccache repeats the warnings of its objects.
  if [[ ${CI:-} == true ]] && grep ': warning:' "$log" >&2; then
    say "In CI there must be no warnings."
    exit 1
  fi
}

setup_program() {
  install_packages packages
  configure OFF
  build 5 kith_program kith
}

setup_tests() {
  install_packages packages packages-test
  configure ON
  build 11 all tests/kith_tests
}
