#!/usr/bin/env bash
# test.sh [PART...]: the tests, part by part, and a summary with the time of each. Without arguments: every part but
# compat-supported, which is left to `make full`. If set-up or build fails, the run stops; other parts run even if one has
# failed.
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly PARTS=(setup build scripts unit wire contract previous older-kube integration compat asan tsan)
readonly LONG_PARTS=(compat-supported)
readonly PRESET=release
readonly OLDER_KUBE=v1.29.15    # of the oldest minor that kindlb works with, as README.md says
readonly SUPPORTED_KUBE=v1.34.4 # of the oldest minor that was supported when ours was released

# Politely: what runs beside a build, such as the cluster tests of .ci/run, looks at deadlines, and a compiler does not.
build() { nice -n 19 scripts/build.sh "$@"; } # build PRESET [TARGET...]

label() { # label PRESET LABELS [CTEST-OPTION...]
  local preset=$1 labels=$2
  shift 2
  ctest --test-dir "build/$preset" --label-regex "^($labels)\$" --output-on-failure --no-tests=error "$@"
}

sanitized() { # sanitized PRESET
  scripts/setup-packages.sh
  build "$1" tests_unit tests_wire
  # The thread sanitizer of g++ 12 does not know the memory layouts of newer kernels' address randomisation.
  local plain_layout=(setarch "$(uname -m)" --addr-no-randomize)
  "${plain_layout[@]}" true 2>/dev/null || plain_layout=()
  export -f label
  "${plain_layout[@]}" bash -euc 'label "$@"' - "$1" 'unit|wire'
}

part_setup() {
  scripts/setup-packages.sh --test
  scripts/setup-docker.sh
  scripts/setup-envoy.sh
  scripts/setup-kube.sh
  scripts/previous-release.sh --packages
}

part_build() {
  scripts/setup-packages.sh
  build "$PRESET"
}

part_scripts() {
  scripts/lint.sh shell
  label "$PRESET" scripts --parallel "$(nproc)"
}
# What `make` runs: one object per source, so that an edit compiles one file.
part_check() {
  scripts/setup-packages.sh
  build debug tests_unit
  label debug unit --parallel "$(nproc)"
}
part_unit() { label "$PRESET" unit --parallel "$(nproc)"; }
# One at a time: these look at deadlines, and share one engine.
part_wire() { label "$PRESET" wire; }
part_contract() { label "$PRESET" contract; }
# Only compiles: .ci/run has this done beside tests that wait. Whoever leaves it out waits for it in integration.
part_previous() { nice -n 19 scripts/previous-release.sh; }
# The same, for compat.
part_older-kube() { nice -n 19 scripts/setup-kube.sh "$OLDER_KUBE"; }
part_integration() {
  KUBEBUILDER_ASSETS=$(scripts/setup-kube.sh --print)
  KINDLB_PREVIOUS_RELEASE=$(scripts/previous-release.sh --print)
  export KUBEBUILDER_ASSETS KINDLB_PREVIOUS_RELEASE
  label "$PRESET" integration
}
compat() { # compat VERSION
  KUBEBUILDER_ASSETS=$(scripts/setup-kube.sh --print "$1")
  export KUBEBUILDER_ASSETS
  local version
  version=$("$KUBEBUILDER_ASSETS/kube-apiserver" --version)
  [[ $version == "Kubernetes $1" ]] || die "$KUBEBUILDER_ASSETS/kube-apiserver is $version, not $1: remove it"
  say "with $version"
  label "$PRESET" compat
}
part_compat() { compat "$OLDER_KUBE"; }
part_compat-supported() { compat "$SUPPORTED_KUBE"; }
part_asan() { sanitized asan; }
part_tsan() { sanitized tsan; }

summary=()
failed=()

run_part() { # run_part PART
  local status=0 started=$SECONDS result=ok
  say "=== $1"
  # Not `part || ...`: that would switch off errexit inside the part.
  set +e
  (
    set -e
    "part_$1"
  )
  status=$?
  set -e
  if ((status)); then
    result=FAILED
    failed+=("$1")
  fi
  summary+=("$(printf '%-12s %-7s %8s' "$1" "$result" "$(duration $((SECONDS - started)))")")
}

report() {
  printf '\n' >&2
  printf '%s\n' "${summary[@]}" >&2
  printf '%-12s %-7s %8s\n' total '' "$(duration "$SECONDS")" >&2
}

cd "$ROOT"
parts=("$@")
((${#parts[@]})) || parts=("${PARTS[@]}")
for part in "${parts[@]}"; do
  declare -F "part_$part" >/dev/null || die "unknown part '$part': use ${PARTS[*]} ${LONG_PARTS[*]}"
done
export KINDLB_ENVOY_IMAGE=$ENVOY_IMAGE
for part in "${parts[@]}"; do
  run_part "$part"
  case $part in
    setup | build) ((${#failed[@]} == 0)) || break ;;
  esac
done
report
((${#failed[@]} == 0)) || die "failed: ${failed[*]}"
