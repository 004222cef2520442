#!/usr/bin/env bash
# full.sh: everything that .ci/run runs, and what takes too long for it: every provider profile, one more version of
# Kubernetes, every fault, and the cluster tests on three kinds of cluster. Clusters that it makes are removed however it ends.
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/stages.sh
. "$ROOT/scripts/stages.sh"

readonly STAGES=(setup build e2e without-docker e2e-dual e2e-nftables clean-up faults with-docker)
readonly CLUSTERS=(full full-dual full-nftables e2e-other) # `faults` has one of its own, and removes it
readonly PARTS_OF_OTHERS='official conformance services' # what several clusters have in common is the same for all kinds

announce() {
  cat >&2 <<END
full: about 100 minutes with warm caches, 135 without; Ctrl-C stops it at any time and removes what it made. It runs
  setup, build    what the other stages need (from empty caches: 10 minutes)
  e2e             the cluster tests, on IPv4 and iptables (14 minutes)
  without-docker  beside them: script checks, unit and wire tests, also under the sanitizers
  e2e-dual        the cluster tests on a dual-stack cluster (14 minutes)
  e2e-nftables    the cluster tests where kube-proxy uses nftables (14 minutes)
  faults          every fault under traffic, with a proxy each and with shared ones (35 minutes)
  with-docker     contract and integration tests, with every provider profile, and those about kube-apiserver and kubectl
                  once more with the oldest Kubernetes that works and the oldest supported one (25 minutes)
END
}

run() {
  stage setup 60m make test PARTS=setup && stage build 30m make build || return
  begin_quietly without-docker 90m make test PARTS='build previous older-kube scripts unit wire asan tsan'
  begin_cluster_tests e2e 90m full
  await e2e || true
  FAMILY=dual PARTS=$PARTS_OF_OTHERS begin_cluster_tests e2e-dual 90m full-dual
  await e2e-dual || true
  PROXY=nftables PARTS=$PARTS_OF_OTHERS begin_cluster_tests e2e-nftables 90m full-nftables
  await e2e-nftables || true
  clean_up || true
  stage faults 90m scripts/faults.sh || true
  KINDLB_FULL=1 stage with-docker 120m make test PARTS='build contract integration compat compat-supported' || true
  await || true
}

cd "$ROOT"
unset PARTS FOCUS PROCS ARGS FAMILY WORKERS PROXY
announce
run_stages run
