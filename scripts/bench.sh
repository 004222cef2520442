#!/usr/bin/env bash
# bench.sh [ARGUMENT...]: build the release with its benchmarks and run each against real Docker, Envoy and
# kube-apiserver; arguments go to all of them. If one fails (idle_bench has limits), the others still run.
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$ROOT"
scripts/setup-packages.sh
scripts/setup-docker.sh
scripts/setup-envoy.sh
KUBEBUILDER_ASSETS=$(scripts/setup-kube.sh --print)
export KUBEBUILDER_ASSETS KINDLB_ENVOY_IMAGE=$ENVOY_IMAGE
scripts/build.sh release
found=
failed=
measure() { "$@" || failed+=" ${1##*/}"; }
for program in build/release/test/bench/*_bench; do
  [[ -x $program ]] || continue
  found=yes
  timed "${program##*/}" measure "$program" "$@"
done
[[ -n $found ]] || die "no benchmark was built: see test/bench/CMakeLists.txt"
if [[ -n $failed ]]; then
  say "failed:$failed"
  exit 1
fi
