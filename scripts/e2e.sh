#!/usr/bin/env bash
# e2e.sh [PART...]: end-to-end tests of kindlb on a real kind cluster, and a table with every test. Parts: official, the
# tests of Kubernetes for LoadBalancers, all of them; conformance, those of KEP-4631; services, what both lack; clusters,
# several at once. Logs of what failed are kept. By environment: NAME, FAMILY, WORKERS and PROXY of the cluster (see
# cluster/create.sh; one that is there is used, and left there), ARGS, flags for kindlb, PROCS, how many tests of the first
# two parts run at a time, and of the official ones FOCUS, a regular expression of names.
# shellcheck source=scripts/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/cluster/lib.sh"

readonly PARTS=(official conformance services clusters)
# The tests of rolling updates take some 10 minutes each, whatever the provider. Less than CI gives all of this, so that
# there is a table also when one hangs.
readonly TIMEOUT=45m
readonly START_SECONDS=60
readonly STOP_SECONDS=60

name=${NAME:-kind}
out=$ROOT/build/e2e/$name
kindlb='' # its process

# stop_kindlb: SIGTERM, and SIGKILL if it does not follow. Fails unless it had been there till then, and ended well.
stop_kindlb() {
  local i process=$kindlb status=0
  [[ -n $process ]] || return 0
  kindlb=''
  kill "$process" 2>/dev/null || true
  for ((i = 0; i < STOP_SECONDS * 5; i++)); do
    kill -0 "$process" 2>/dev/null || break
    sleep 0.2
  done
  if kill -KILL "$process" 2>/dev/null; then say "kindlb does not stop (process $process): killed it"; fi
  wait "$process" || status=$?
  ((status == 0)) || say "kindlb did not end well (exit code $status): see $out/kindlb.log"
  return "$status"
}

start_kindlb() { # sets kindlb
  local arguments i
  read -ra arguments <<<"${ARGS:-}"
  # In a session of its own: what interrupts us must reach it once, by stop_kindlb; a second signal ends it at once, and its
  # proxies stay. Should we be killed, it ends as well.
  setsid setpriv --pdeathsig TERM "$ROOT/bin/kindlb" run --on-exit delete --log-level debug "${arguments[@]}" \
    >"$out/kindlb.log" 2>&1 &
  kindlb=$!
  # Whoever interrupts us may do so twice, make for one: the end is not cut short by that.
  trap 'trap "" INT TERM; stop_kindlb || true' EXIT
  # What is under way ends first; some of it takes the signal for a reason to end early, not to fail.
  trap 'exit 130' INT
  trap 'exit 143' TERM
  for ((i = 0; i < START_SECONDS * 5; i++)); do
    kill -0 "$kindlb" 2>/dev/null || break
    ! grep -q 'in charge of' "$out/kindlb.log" || return 0
    sleep 0.2
  done
  tail -n 15 "$out/kindlb.log" >&2
  die "kindlb does not serve the cluster $name: see $out/kindlb.log"
}

# Of the provider the tests are told nothing: what they know of it, they read from the cluster.
run_official_tests() {
  "$(program_path ginkgo)" run --procs "${PROCS:-4}" --focus "${FOCUS:-\[sig-network\] LoadBalancers}" --timeout "$TIMEOUT" \
    --no-color --silence-skips --json-report report.json --output-dir "$out" "$(program_path e2e.test)" -- \
    --kubeconfig "$(kubeconfig_of "$name")" --provider skeleton --num-nodes "${WORKERS:-2}" --report-dir "$out" \
    --disable-log-dump >"$out/official.log" 2>&1
}

table() { jq --raw-output --arg family "${FAMILY:-ipv4}" --from-file "$ROOT/scripts/e2e-table.jq" "$out/report.json"; }

# good_table STATUS: what the tests said of themselves goes, but for two things. Those that lost requests failed, though they
# are content with fewer; and what nobody can pass (see e2e-table.jq, which tells all else that failed) did not.
good_table() {
  grep -q '^passed ' "$out/table" || return 1
  ! grep -Eq '^(failed|panicked|timedout|interrupted|aborted) |lost [1-9]' "$out/table" || return 1
  (($1 == 0)) || grep -q '^hopeless ' "$out/table"
}

# A file for each test that failed or lost a request: all that it said.
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

part_official() {
  local status=0
  say "what the tests say meanwhile: tail -f $out/official.log"
  run_official_tests || status=$?
  [[ -s $out/report.json ]] || die "the tests did not even start: see $out/official.log"
  table | tee "$out/table"
  keep_logs
  good_table "$status"
}

# It fails if a test does; skips are in the table, with their reasons.
part_conformance() {
  say "what happens meanwhile: tail -f $out/conformance.log"
  "$ROOT/bin/kindlb" conformance --kubeconfig "$(kubeconfig_of "$name")" --parallel "${PROCS:-4}" \
    --junit "$out/conformance.xml" --json "$out/conformance.json" 2>"$out/conformance.log"
}

part_services() { KUBECONFIG=$(kubeconfig_of "$name") "$ROOT/test/e2e/services.sh" | tee "$out/services.log"; }
part_clusters() { KUBECONFIG=$(kubeconfig_of "$name") "$ROOT/test/e2e/clusters.sh" | tee "$out/clusters.log"; }

run_part() { # run_part PART
  local status=0 started=$SECONDS
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
for part in "${parts[@]}"; do run_part "$part"; done
trap '' INT TERM
stop_kindlb || failed+=(kindlb)
((${#failed[@]} == 0)) || die "failed: ${failed[*]}; see $out"
