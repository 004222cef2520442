#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configure and build; from the release preset, bin/ gets the programs that were built.
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

(($# > 0)) || die "usage: build.sh PRESET [TARGET...]"
preset=$1
shift
cd "$ROOT"

configure() {
  local log
  if ! log=$(cmake --preset "$preset" 2>&1); then
    printf '%s\n' "$log" >&2
    die "cmake could not configure '$preset': see above; scripts/setup-packages.sh installs what is usually missing"
  fi
}

# One at a time in a build directory, because ninja itself does not see to that: .ci/run has two stages that build.
exclusively() {
  mkdir -p "build/$preset"
  exec {lock}>"build/$preset/.lock"
  flock "$lock"
}

compile() { # compile TARGET...
  local arguments=(--build "build/$preset")
  (($# == 0)) || arguments+=(--target "$@")
  # Batches are large: with ninja's own default, two more than there are cores, they slow each other down.
  arguments+=(--parallel "${JOBS:-$(nproc)}")
  cmake "${arguments[@]}" >&2 || die "the build of '$preset' failed: see the first error above"
}

# A running program can be replaced, but not written to: install makes a new file.
publish() {
  local program
  for program in build/release/src/{app/kindlb,agent/kindlb-agent,echo/kindlb-echo}; do
    [[ -f $program ]] || continue
    mkdir -p bin
    cmp -s "$program" "bin/${program##*/}" || install -m 755 "$program" bin/
  done
}

exclusively
configure
# A dry run tells whether there is anything to say.
if [[ $(ninja -C "build/$preset" -n "$@" 2>/dev/null) != *'no work to do'* ]]; then
  timed "building $preset" compile "$@"
fi
[[ $preset != release ]] || publish
