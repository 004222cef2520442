#!/usr/bin/env bash
# faults.sh [ARGUMENT...]: cause every fault on a kind cluster under traffic, print a table with what clients and the status
# showed, and fail if a limit is broken. Arguments go to test/faults/matrix.py (--help lists them). By environment: NAME, the
# cluster (by default `faults`, made anew and removed, since a fault takes a node away; another one is used as it is, and left
# there), and WORKERS, how many nodes such a cluster gets if it is not there.
# shellcheck source=scripts/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/cluster/lib.sh"

readonly OWN=faults
name=${NAME:-$OWN}
workers=${WORKERS:-}
out=$ROOT/build/faults/$name

remove_cluster() {
  trap '' INT TERM
  "$HERE/delete.sh" "$OWN"
}

require_packages curl iproute2 python3 util-linux
if [[ $name == "$OWN" ]]; then
  workers=3
  "$HERE/delete.sh" "$OWN" # what a run that was cut off left
  trap remove_cluster EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
fi
"$HERE/create.sh" "$name" ipv4 "$workers" >/dev/null
"$ROOT/scripts/setup-envoy.sh"
rm -rf "$out"
mkdir -p "$out"
say "logs: $out"
python3 -B "$ROOT/test/faults/matrix.py" --cluster "$name" --kubeconfig "$(kubeconfig_of "$name")" \
  --kubectl "$(program_path kubectl)" --logs "$out" "$@" | tee --ignore-interrupts "$out/table"
