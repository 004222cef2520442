#!/usr/bin/env bash
# What `make run` starts: kindlb for kind clusters where there are any, else the sandbox. Docker and kindlb are stand-ins.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

mkdir "$work"/{bin,scripts,path}
cp "$root"/scripts/{run,lib}.sh "$work/scripts"
# shellcheck disable=SC2016  # for the stand-in to expand
printf '#!/bin/sh\necho "started: $*"\n' >"$work/bin/kindlb"
chmod +x "$work/bin/kindlb"

# expect WHAT CLUSTERS FLAG...: the command that is started, with that output of `docker ps`.
expect() {
  local expected=$1 clusters=$2 actual
  shift 2
  printf '#!/bin/sh\nprintf "%s"\n' "$clusters" >"$work/path/docker"
  chmod +x "$work/path/docker"
  actual=$(PATH=$work/path:$PATH HOME=$work "$work/scripts/run.sh" "$@" 2>"$work/said")
  if [[ $actual != "started: $expected" ]]; then
    echo "FAILED: '$*' with '$clusters': $actual instead of $expected"
    failures=$((failures + 1))
  fi
}

expect 'run --strict' 8a2fd9af9958 --strict
expect 'sandbox --strict' '' --strict
[[ $(wc -l <"$work/said") == 1 && $(<"$work/said") == *'no kind cluster'* ]] ||
  { echo "FAILED: the sandbox is not announced in one line" && failures=$((failures + 1)); }
expect 'sandbox' ''
expect 'run --kubeconfig dev.yaml' '' --kubeconfig dev.yaml
expect 'run --context=dev' '' --context=dev
expect 'run --strict --on-exit delete' '' --strict --on-exit delete
expect 'run --help' '' --help

((failures == 0))
