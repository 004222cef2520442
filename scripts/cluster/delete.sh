#!/usr/bin/env bash
# delete.sh [NAME]: removes a kind cluster (by default kind). With the last one, the engine's configuration is restored.
# shellcheck source=scripts/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

name=${1:-kind}
check_name "$name"

remove() {
  local kubeconfig others
  kubeconfig=$(kubeconfig_of "$name")
  "$kind" delete cluster --quiet --name "$name" --kubeconfig "$kubeconfig"
  rm -f "$kubeconfig" "$CLUSTERS/$name".{yaml,unfinished}
  others=$(clusters)
  [[ -n $others ]] || "$HERE/runtime.sh" off
}

docker version >/dev/null 2>&1 || die "the Docker engine does not answer: run scripts/setup-docker.sh first"
kind=$(kind_program)
mkdir -p "$CLUSTERS"
with_lock clusters timed "deleting the cluster $name" remove
