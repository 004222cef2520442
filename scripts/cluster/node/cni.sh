#!/bin/bash
# The pod network of one node, in the place of kindnetd (which is in no package registry), to the same effect: a CNI
# configuration with this node's pod ranges, a route to those of every other node, and this node's address for what
# leaves the pod network. Both families. NetworkPolicies are not enforced.
set -euo pipefail

# The control plane itself, since the Service's address needs a kube-proxy that may not be there yet.
export KUBERNETES_SERVICE_HOST=${CONTROL_PLANE_ENDPOINT%:*} KUBERNETES_SERVICE_PORT=${CONTROL_PLANE_ENDPOINT##*:}
readonly COLUMNS='{.metadata.name}|{.spec.podCIDRs[*]}|{.status.addresses[?(@.type=="InternalIP")].address}{"\n"}'

family() { if [[ $1 == *:* ]]; then echo ip6; else echo ip; fi; }

masquerade() { # masquerade SUBNET...
  local subnet
  {
    printf 'add table inet kindlb-cni\nflush table inet kindlb-cni\ntable inet kindlb-cni {\n chain postrouting {\n'
    printf '  type nat hook postrouting priority srcnat + 10\n  fib daddr type local return\n'
    for subnet; do printf '  %s daddr %s return\n' "$(family "$subnet")" "$subnet"; done
    for subnet; do printf '  meta nfproto %s masquerade\n' "$(family "$subnet" | sed 's/^ip$/ipv4/; s/^ip6$/ipv6/')"; done
    printf ' }\n}\n'
  } | nft -f -
}

list() { # list FORMAT RANGE...: comma-separated
  local format=$1 all
  shift
  # shellcheck disable=SC2059
  all=$(printf "$format," "$@")
  echo "${all%,}"
}

default_route() { if [[ $1 == *:* ]]; then echo '::/0'; else echo '0.0.0.0/0'; fi; }

configure() { # for pods on this node; a node that was just added may have no range yet
  ((${#ranges[@]})) || return 0
  local range routes=()
  for range in "${ranges[@]}"; do routes+=("$(default_route "$range")"); done
  cat >/etc/cni/net.d/.kindnet <<EOF
{"cniVersion": "0.3.1", "name": "kindnet", "plugins": [
  {"type": "ptp", "ipMasq": false, "mtu": $(</sys/class/net/eth0/mtu),
   "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam-state",
            "ranges": [$(list '[{"subnet": "%s"}]' "${ranges[@]}")], "routes": [$(list '{"dst": "%s"}' "${routes[@]}")]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
EOF
  mv /etc/cni/net.d/.kindnet /etc/cni/net.d/10-kindnet.conflist
}

route() { # to the pods of another node
  local range address
  for range in "${ranges[@]}"; do
    for address in "${addresses[@]}"; do
      [[ $(family "$range") != $(family "$address") ]] || ip route replace "$range" via "$address"
    done
  done
}

IFS=, read -ra subnets <<<"$POD_SUBNET"
masquerade "${subnets[@]}"
while true; do
  kubectl get nodes --watch --output "jsonpath=$COLUMNS" | while IFS='|' read -r name ranges addresses; do
    read -ra ranges <<<"$ranges"
    read -ra addresses <<<"$addresses"
    if [[ $name == "$NODE_NAME" ]]; then configure; else route; fi
  done || true
  sleep 1
done
