#!/usr/bin/env bash
# run.sh [FLAG...]: what `make run` starts. Where there is a kind cluster (or a flag names one), `kindlb run`; where
# there is none, the sandbox, so that there is something to see. (`kindlb run` itself waits for clusters.)
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly KINDLB=$ROOT/bin/kindlb

# Flags that the sandbox does not have, or that are about the command itself.
for_run() { # for_run FLAG...
  local flag
  for flag; do
    case $flag in
      --kubeconfig | --kubeconfig=* | --context | --context=* | --network | --network=* | --on-exit | --on-exit=* | \
        -h | --help) return 0 ;;
    esac
  done
  return 1
}

have_cluster() { [[ -n $(docker ps --all --quiet --filter label=io.x-k8s.kind.cluster 2>/dev/null) ]]; }

if for_run "$@" || have_cluster; then exec "$KINDLB" run "$@"; fi
say "no kind cluster found: starting the sandbox instead (to serve a cluster, run 'kind create cluster' first)"
exec "$KINDLB" sandbox "$@"
