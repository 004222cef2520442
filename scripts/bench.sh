#!/usr/bin/env bash
# bench.sh [ARGUMENT...]: build the release with its benchmarks and run each; arguments go to all of them.
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$ROOT"
scripts/setup-packages.sh
scripts/build.sh release
found=
for program in build/release/test/bench/*_bench; do
  [[ -x $program ]] || continue
  found=yes
  timed "${program##*/}" "$program" "$@"
done
[[ -n $found ]] || die "no benchmark was built: they live in test/bench"
