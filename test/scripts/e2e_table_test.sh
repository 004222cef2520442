#!/usr/bin/env bash
# What scripts/e2e-table.jq makes of reports: nothing that failed is left out, and only what was seen to be hopeless is
# called so.
set -euo pipefail

filter=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/scripts/e2e-table.jq
failures=0

# test_report NAME STATE [MORE-FIELDS]: of a test; the fields are JSON.
test_report() {
  jq --null-input --arg name "$1" --arg state "$2" --argjson more "${3:-{\}}" '{LeafNodeType: "It", LeafNodeText: $name,
    ContainerHierarchyTexts: ["[sig-network] LoadBalancers [Feature:LoadBalancer]"], State: $state, RunTime: 2500000000} + $more'
}

# expect WHAT FAMILY REPORTS REASONS TABLE: of a suite with these reports, and these reasons to have failed as a whole.
expect() {
  local table
  table=$(jq --slurp --argjson reasons "$4" '[{SpecReports: ., SpecialSuiteFailureReasons: $reasons}]' <<<"$3" |
    jq --raw-output --arg family "$2" --from-file "$filter")
  [[ $table != "$5" ]] || return 0
  printf 'FAILED: %s:\n%s\n' "$1" "$table"
  failures=$((failures + 1))
}

passes=$(test_report works passed)
readonly PASSES='passed   2     LoadBalancers works'

expect 'what passed, and what was skipped by itself' ipv4 \
  "$passes $(test_report odd skipped '{"Failure": {"Message": "not\n  here"}}') $(test_report unwanted skipped)" null \
  $'skipped  2     LoadBalancers odd  (not here)\n'"$PASSES"$'\n1 passed, 1 skipped'

lossy='{"CapturedGinkgoWriterOutput": "total HTTP requests: 10\nNetwork errors: 1\nHTTP errors: 2\ntotal HTTP requests: 5"}'
expect 'requests' ipv4 "$(test_report rolls passed "$lossy")" null \
  $'passed   2     LoadBalancers rolls  (15 requests, lost 3)\n1 passed'

expect 'a preparation that failed' ipv4 \
  "$passes $(test_report '' failed '{"LeafNodeType": "AfterSuite", "ContainerHierarchyTexts": null}') \
   $(test_report '' passed '{"LeafNodeType": "BeforeSuite"}')" null \
  $'failed   2     AfterSuite\n'"$PASSES"$'\n1 failed, 1 passed'

expect 'a suite that failed' ipv4 "$passes" '["Suite Timeout Elapsed"]' \
  "$PASSES"$'\nfailed   0     the suite  (Suite Timeout Elapsed)\n1 failed, 1 passed'

asks() { # asks ADDRESS SUCCESS: as its test tells it
  jq --null-input --arg seen "Health checking node, http://$1:31000/healthz, expectedSuccess $2" \
    '{CapturedGinkgoWriterOutput: $seen}'
}
readonly NODES='should only target nodes with endpoints'
expect 'it asks the other family' dual "$(test_report "$NODES" failed "$(asks '[fc00::2]' true)")" null \
  $'hopeless 2     LoadBalancers '"$NODES"$'\n1 hopeless'
expect 'it asks its own family' dual "$(test_report "$NODES" failed "$(asks 172.18.0.2 true)")" null \
  $'failed   2     LoadBalancers '"$NODES"$'\n1 failed'
expect 'it asks the other family, on nodes of one' ipv4 "$(test_report "$NODES" failed "$(asks '[fc00::2]' true)")" null \
  $'failed   2     LoadBalancers '"$NODES"$'\n1 failed'

((failures == 0))
