#!/usr/bin/env bash
# e2e.sh [PART...]: end-to-end tests of kindlb on a real kind cluster, and a table with every test. Parts: official, all
# tests of Kubernetes for LoadBalancers, which run beside the others; conformance, those of KEP-4631; services, what both
# lack; clusters, several clusters at once. Logs of what failed are kept. By environment: NAME, FAMILY, WORKERS and PROXY of
# the cluster (see cluster/create.sh; one that is there is used, and left there), ARGS, flags for kindlb, PROCS, how many
# tests of the first two parts run at a time, and of the official ones FOCUS, a regular expression of names.
# shellcheck source=scripts/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/cluster/lib.sh"

readonly PARTS=(official conformance services clusters)
# The tests of rolling updates take some 10 minutes each, whatever the provider. Less than CI gives all of this, so that
# there is a table also when one hangs.
readonly TIMEOUT=40m
readonly START_SECONDS=60
readonly STOP_SECONDS=60

name=${NAME:-kind}
out=$ROOT/build/e2e/$name
kindlb=''   # its process
official='' # that of the official tests, and of a process group that has all of them

# stop TARGET PROCESS: SIGTERM to the target, a process or its group, and SIGKILL if that does not end the process. Fails as
# the process did.
stop() {
  local i
  kill -- "$1" 2>/dev/null || true
  for ((i = 0; i < STOP_SECONDS * 5; i++)); do
    kill -0 "$2" 2>/dev/null || break
    sleep 0.2
  done
  if kill -KILL -- "$1" 2>/dev/null; then say "process $2 did not stop within $STOP_SECONDS seconds: killed"; fi
  wait "$2"
}

stop_official_tests() {
  local process=$official
  official=''
  [[ -z $process ]] || stop "-$process" "$process" || true
}

# stop_kindlb: fails unless it was still running, and stopped without an error.
stop_kindlb() {
  local process=$kindlb status=0
  [[ -n $process ]] || return 0
  kindlb=''
  stop "$process" "$process" || status=$?
  ((status == 0)) || say "kindlb exited with code $status: see $out/kindlb.log"
  return "$status"
}

# The signal that interrupts us may come twice, for example from make: the second one must not cut this short.
stop_all() {
  trap '' INT TERM
  stop_official_tests
  stop_kindlb || true
}

# in_session COMMAND...: becomes the command, in a session of its own. What interrupts us reaches it once, by stop: kindlb
# takes a second signal as a request to leave its proxies behind. If we are killed, it ends as well.
in_session() { exec setsid setpriv --pdeathsig TERM "$@"; }

start_kindlb() { # sets kindlb
  local arguments i
  read -ra arguments <<<"${ARGS:-}"
  in_session "$ROOT/bin/kindlb" run --on-exit delete --log-level debug "${arguments[@]}" >"$out/kindlb.log" 2>&1 &
  kindlb=$!
  trap stop_all EXIT
  # Not the default: the part that is running would end early and count as ok.
  trap 'exit 130' INT
  trap 'exit 143' TERM
  for ((i = 0; i < START_SECONDS * 5; i++)); do
    kill -0 "$kindlb" 2>/dev/null || break
    ! grep -q 'managing [0-9]* Services' "$out/kindlb.log" || return 0
    sleep 0.2
  done
  tail -n 15 "$out/kindlb.log" >&2
  die "kindlb does not serve the cluster $name: see $out/kindlb.log"
}

# The tests are told nothing about the provider: what they know of it, they read from the cluster. They mostly wait, above
# all for rolling updates: the other parts run meanwhile.
start_official_tests() { # sets official
  say "=== official, in the background; to watch it: tail -f $out/official.log"
  in_session "$(program_path ginkgo)" run --procs "${PROCS:-4}" --focus "${FOCUS:-\[sig-network\] LoadBalancers}" \
    --timeout "$TIMEOUT" --no-color --silence-skips --json-report report.json --output-dir "$out" \
    "$(program_path e2e.test)" -- --kubeconfig "$(kubeconfig_of "$name")" --provider skeleton \
    --num-nodes "${WORKERS:-2}" --report-dir "$out" --disable-log-dump >"$out/official.log" 2>&1 &
  official=$!
}

table() { jq --raw-output --arg family "${FAMILY:-ipv4}" --from-file "$ROOT/scripts/e2e-table.jq" "$out/report.json"; }

# good_table STATUS: the suite's own verdict counts, with two exceptions. A test that lost requests has failed, although it
# tolerates some; and a test that no provider can pass (see e2e-table.jq) has not.
good_table() {
  grep -q '^passed ' "$out/table" || return 1
  ! grep -Eq '^(failed|panicked|timedout|interrupted|aborted) |lost [1-9]' "$out/table" || return 1
  (($1 == 0)) || grep -q '^hopeless ' "$out/table"
}

# A file for each test that failed or lost a request, with all its output.
keep_logs() {
  local test
  mkdir -p "$out/failed"
  jq --compact-output '.[].SpecReports[] | select((.State | IN("passed", "skipped", "pending") | not) or
    (.CapturedGinkgoWriterOutput // "" | test("(Network|HTTP) errors: [1-9]")))' "$out/report.json" |
    while read -r test; do
      jq --raw-output '(.Failure | .Message, .Location.FullStackTrace), .CapturedGinkgoWriterOutput' <<<"$test" \
        >"$out/failed/$(jq --raw-output '.LeafNodeText' <<<"$test" | tr -cs '[:alnum:]\n' -).log"
    done
}

part_official() { # once the tests have ended
  [[ -s $out/report.json ]] || die "the official tests did not start: see $out/official.log"
  table | tee "$out/table"
  keep_logs
  good_table "$official_status"
}

# It fails if a test does; skips are in the table, with their reasons.
part_conformance() {
  say "to watch it: tail -f $out/conformance.log"
  "$ROOT/bin/kindlb" conformance --kubeconfig "$(kubeconfig_of "$name")" --parallel "${PROCS:-4}" \
    --junit "$out/conformance.xml" --json "$out/conformance.json" 2>"$out/conformance.log"
}

part_services() { KUBECONFIG=$(kubeconfig_of "$name") "$ROOT/test/e2e/services.sh" | tee "$out/services.log"; }
part_clusters() { KUBECONFIG=$(kubeconfig_of "$name") "$ROOT/test/e2e/clusters.sh" | tee "$out/clusters.log"; }

run_part() { # run_part PART [START]: START is when it began, if that was earlier
  local status=0 started=${2:-$SECONDS}
  say "=== $1"
  # Not `part || ...`: that would switch off errexit inside the part.
  set +e
  (
    set -e
    "part_$1"
  )
  status=$?
  set -e
  say "$1: $( ((status)) && echo FAILED || echo ok) in $(duration $((SECONDS - started)))"
  ((status == 0)) || failed+=("$1")
}

run_parts() {
  local part official_start=$SECONDS official_status=0
  [[ " ${parts[*]} " != *' official '* ]] || start_official_tests
  for part in "${parts[@]}"; do
    [[ $part == official ]] || run_part "$part"
  done
  [[ -n $official ]] || return 0
  wait "$official" || official_status=$?
  official=''
  run_part official "$official_start"
}

parts=("$@")
((${#parts[@]})) || parts=("${PARTS[@]}")
for part in "${parts[@]}"; do
  declare -F "part_$part" >/dev/null || die "unknown part '$part': use ${PARTS[*]}"
done
require_packages jq curl iproute2 python3
"$HERE/create.sh" "$name" "${FAMILY:-}" "${WORKERS:-}" "${PROXY:-}" >/dev/null
"$ROOT/scripts/setup-envoy.sh"
[[ " ${parts[*]} " != *' official '* ]] || build_programs ginkgo e2e.test
rm -rf "$out"
mkdir -p "$out"
start_kindlb
failed=()
run_parts
trap '' INT TERM
stop_kindlb || failed+=(kindlb)
((${#failed[@]} == 0)) || die "failed: ${failed[*]}; see $out"
