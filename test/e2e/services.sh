#!/usr/bin/env bash
# services.sh: what the official tests of Kubernetes lack, on the cluster of $KUBECONFIG, which kindlb must serve.
# shellcheck source=test/e2e/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

test_mixed_protocols_on_one_port() {
  server web
  service web 'ports:' '- {name: a, port: 80, targetPort: 8080}' '- {name: b, port: 80, targetPort: 8080, protocol: UDP}'
  serving web
  local address
  address=$(address_of web)
  answers_tcp "$address" 80 || fail "no answer by TCP at once"
  answers_udp "$address" 80 || fail "no answer by UDP at once"
}

test_udp_source_ranges() {
  local address elsewhere='192.0.2.0/24, 2001:db8::/32'
  server web
  service web "$UDP" "loadBalancerSourceRanges: [$elsewhere]"
  serving web
  address=$(address_of web)
  never answers_udp "$address" 80
  service web "$UDP" "loadBalancerSourceRanges: [$elsewhere, $(range_of_host "$address")]"
  eventually answers_udp "$address" 80
}

# range_of_host ADDRESS: the host's own address on the way there, and no other.
range_of_host() {
  local own
  own=$(ip route get "$1" | sed -n 's/.* src \([^ ]*\).*/\1/p')
  if [[ $own == *:* ]]; then echo "$own/128"; else echo "$own/32"; fi
}

test_other_class_is_left_alone() {
  server web
  service theirs "$TCP" 'loadBalancerClass: example.com/other'
  service ours "$TCP"
  serving ours # by then, theirs has been seen as well
  [[ -z $(of_service theirs '{.metadata.finalizers}{.status.conditions}{.status.loadBalancer.ingress}') ]] ||
    fail "a Service of another class was touched"
  [[ -z $(kubectl get events --field-selector involvedObject.name=theirs --output name) ]] ||
    fail "a Service of another class got an Event"
}

test_own_class_is_served() {
  server web
  service web "$TCP" 'loadBalancerClass: kindlb.dev/envoy'
  serving web
  answers_tcp "$(address_of web)" 80 || fail "no answer"
}

test_no_node_ports() {
  server web
  service web "$TCP" 'allocateLoadBalancerNodePorts: false'
  serving web
  [[ -z $(of_service web '{.spec.ports[0].nodePort}') ]] || fail "it has a node port"
  answers_tcp "$(address_of web)" 80 || fail "no answer"
}

readonly KUBELET=10250 # the port that every node has open

# connects PORT: of a node, from a pod of the cluster. refuses PORT: the node can be reached, and that port cannot.
connects() {
  kubectl exec deployment/web -- /agnhost connect --timeout=2s "$(in_url "$(node_address)"):$1" >/dev/null 2>&1
}
refuses() { connects "$KUBELET" && ! connects "$1"; }

node_address() { kubectl get node --output jsonpath='{.items[0].status.addresses[0].address}'; }

# KEP-3622 and KEP-4144, as far as the API goes: servers that know the fields keep them, others drop them, and in both cases
# kube-proxy is told to leave the Service alone, so that cluster IP, node port and health check port lead nowhere. (The
# cluster IP is not asked: without kube-proxy such a packet leaves the machine.)
without_kube_proxy() { # without_kube_proxy NAME LINE...
  validate=ignore service "$@"
  kubectl label service "$1" service.kubernetes.io/service-proxy-name=nobody >/dev/null
}

test_needs_no_cluster_ip() {
  server web
  without_kube_proxy web "$TCP" 'allocateLoadBalancerClusterIP: false'
  serving web
  answers_tcp "$(address_of web)" 80 || fail "no answer"
  local port
  port=$(of_service web '{.spec.ports[0].nodePort}')
  [[ -z $port ]] || eventually refuses "$port"
}

test_needs_no_health_check_node_port() {
  server web
  without_kube_proxy web "$TCP" 'externalTrafficPolicy: Local' 'allocateLoadBalancerHCNodePort: false'
  serving web
  answers_tcp "$(address_of web)" 80 || fail "no answer"
  local port
  port=$(of_service web '{.spec.healthCheckNodePort}')
  [[ -z $port ]] || eventually refuses "$port"
}

test_node_port_path() {
  server web
  service web "$TCP"
  kubectl annotate service web kindlb.dev/datapath=nodeport >/dev/null
  serving web
  eventually answers_tcp "$(address_of web)" 80
}

annotated() { kubectl annotate --overwrite service "$@" >/dev/null; }

test_conditions_tell_the_life_of_a_service() {
  server web
  kubectl create service loadbalancer held --tcp 80:8080 --dry-run=client --output yaml |
    kubectl annotate --local --filename - kindlb.dev/fault-provisioning-delay=10s --output yaml | apply
  eventually has_status held Provisioning 'True Provisioning'
  has_status held Serving 'False Provisioning' || fail "Serving is not False while it is being made"
  serving held
  has_status held Provisioning 'False Complete' || fail "Provisioning is not over"
  annotated held kindlb.dev/fault-provisioning-delay- 'kindlb.dev/fault-infrastructure=quota exceeded'
  eventually has_status held Serving 'False Infrastructure'
  annotated held kindlb.dev/fault-infrastructure-
  serving held
}

test_required_features() {
  server web
  service web "$TCP" 'externalTrafficPolicy: Local'
  serving web
  has_status web Degraded 'True ExternalTrafficPolicyNotSupported' || fail "it does not say that it is degraded"
  annotated web kindlb.dev/required-load-balancer-features=ExternalTrafficPolicy
  eventually has_status web Serving 'False Unsupported'
  [[ -z $(of_service web '{.status.loadBalancer.ingress}') ]] || fail "it is refused, and has an address"
  annotated web kindlb.dev/required-load-balancer-features=SessionAffinity
  serving web
  answers_tcp "$(address_of web)" 80 || fail "no answer"
}

# has_proxy NAME: a container bears the Service's name.
has_proxy() { [[ -n $(docker ps --all --quiet --filter "name=^kindlb-.*-$namespace-$1-") ]]; }

test_deletion_frees_everything() {
  server web
  service web "$TCP"
  serving web
  local address
  address=$(address_of web)
  answers_tcp "$address" 80 || fail "no answer"
  has_proxy web || fail "its proxy cannot be found"
  kubectl delete service web --timeout "${PATIENCE}s" >/dev/null
  never answers_tcp "$address" 80
  ! has_proxy web || fail "its proxy is still there"
}

test_dual_stack() {
  [[ $(command "$KUBECTL" get node --output jsonpath='{.items[0].spec.podCIDRs}') == *,* ]] || skip "not a dual-stack cluster"
  server web
  service web 'ipFamilyPolicy: RequireDualStack' 'ports:' '- {name: a, port: 80, targetPort: 8080}' \
    '- {name: b, port: 80, targetPort: 8080, protocol: UDP}'
  serving web
  local index address
  for index in 0 1; do
    address=$(address_of web "$index")
    answers_tcp "$address" 80 || fail "no answer by TCP from $address"
    answers_udp "$address" 80 || fail "no answer by UDP from $address"
  done
}

test_ipv6_only() {
  [[ $(command "$KUBECTL" get node --output jsonpath='{.items[0].spec.podCIDRs}') == *:* ]] || skip "no IPv6 in this cluster"
  server web
  service web "$TCP" 'ipFamilies: [IPv6]'
  serving web
  answers_tcp "$(address_of web)" 80 || fail "no answer"
}

run_tests "$@"
