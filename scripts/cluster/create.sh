#!/usr/bin/env bash
# create.sh [NAME] [ipv4|dual|ipv6] [WORKERS] [iptables|nftables]: a kind cluster for the tests, by default kind, ipv4, 2
# workers, iptables. An existing one of that name and configuration is used as it is. The last line, on stdout, is a command
# for the shell: export KUBECONFIG=...
# shellcheck source=scripts/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly READY_TIMEOUT=300s
# What kubelet, containerd, systemd and the control plane need; with fewer, they fail at random and without a clear message.
readonly INOTIFY_OF_CONTROL_PLANE=30 INOTIFY_OF_WORKER=15

name=${1:-kind} family=${2:-ipv4} workers=${3:-2} proxy=${4:-iptables}
check_name "$name"
[[ $family =~ ^(ipv4|dual|ipv6)$ ]] || die "unknown family '$family': use ipv4, dual or ipv6"
[[ $workers =~ ^[0-9]$ ]] || die "invalid number of workers '$workers': use 0 to 9"
[[ $proxy =~ ^(iptables|nftables)$ ]] || die "unknown kube-proxy mode '$proxy': use iptables or nftables"

config() { # config IMAGE
  local worker image=$1
  cat <<EOF
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
networking:
  ipFamily: $family
  kubeProxyMode: $proxy
kubeadmConfigPatches:
- |
  kind: KubeletConfiguration
  failCgroupV1: false
nodes:
- {role: control-plane, image: "$image"}
EOF
  for ((worker = 0; worker < workers; worker++)); do echo "- {role: worker, image: \"$image\"}"; done
}

# Where nodes need the additional runtime, kind uses a docker client that asks for it.
run_kind() { # run_kind ARGUMENT...
  if has_runtime; then
    KINDLB_DOCKER=$(command -v docker) KINDLB_NODE_RUNTIME=$RUNTIME PATH=$HERE/engine:$PATH "$kind" "$@"
  else
    "$kind" "$@"
  fi
}

check_inotify() {
  local limit used needed=$((INOTIFY_OF_CONTROL_PLANE + INOTIFY_OF_WORKER * workers))
  limit=$(</proc/sys/fs/inotify/max_user_instances)
  used=$(as_root find /proc/[0-9]*/fd -uid 0 -lname anon_inode:inotify 2>/dev/null | wc -l) || true
  ((used + needed <= limit)) ||
    die "root uses $used of $limit inotify instances, and these nodes need $needed: delete another cluster, or run" \
      "'sysctl fs.inotify.max_user_instances=512'"
}

# Removes a cluster that was not finished, and its mark: the next cluster of that name may not be ours.
remove_unfinished() {
  [[ -f $unfinished ]] || return 0
  "$kind" delete cluster --quiet --name "$name" --kubeconfig "$kubeconfig"
  rm -f "$unfinished"
}

create() {
  local image log
  check_inotify
  "$HERE/runtime.sh" on
  image=$("$HERE/node-image.sh" --print)
  config "$image" >"$unfinished"
  trap remove_unfinished EXIT
  log=$(run_kind create cluster --name "$name" --config "$unfinished" --kubeconfig "$kubeconfig" 2>&1) || {
    tail -n 30 <<<"$log" >&2
    die "kind could not create the cluster: see above"
  }
  mv "$unfinished" "$configuration"
}

# kind waits for the control plane only.
wait_until_ready() {
  "$kubectl" wait node --all --for=condition=Ready --timeout="$READY_TIMEOUT" >/dev/null ||
    die "the nodes of $name did not become ready: see 'kubectl describe nodes'"
  "$kubectl" --namespace kube-system wait pod --all --for=condition=Ready --timeout="$READY_TIMEOUT" >/dev/null ||
    die "the pods of $name did not become ready: see 'kubectl -n kube-system get pods'"
}

exists() {
  local all
  all=$(clusters) || exit # errexit is off where this is asked
  grep -qxF -- "$name" <<<"$all"
}

# A cluster that was created by other means is used as it is; ours must have the wanted configuration.
check_kind() {
  local image images
  [[ -f $configuration ]] || return 0
  images=$("$HERE/node-image.sh" --names)
  for image in $images; do
    ! config "$image" | cmp -s - "$configuration" || return 0
  done
  die "the cluster $name exists with another configuration: choose another NAME, or run 'make cluster-delete NAME=$name' first"
}

reuse() {
  check_kind
  "$kind" export kubeconfig --quiet --name "$name" --kubeconfig "$kubeconfig"
  say "using the existing cluster $name"
}

create_or_reuse() {
  mkdir -p "$CLUSTERS"
  [[ ! -f $unfinished ]] || timed "removing the unfinished cluster $name of an earlier run" remove_unfinished
  if exists; then
    reuse
  else
    rm -f "$configuration"
    timed "creating the cluster $name ($family, $proxy, $workers workers)" create
  fi
}

"$ROOT/scripts/setup-docker.sh"
build_programs kubectl
kind=$(kind_program)
kubectl=$(program_path kubectl)
configuration=$CLUSTERS/$name.yaml unfinished=$CLUSTERS/$name.unfinished
kubeconfig=$(kubeconfig_of "$name")
export KUBECONFIG=$kubeconfig
with_lock clusters create_or_reuse
timed "waiting for nodes and system pods" wait_until_ready
echo "export KUBECONFIG=$kubeconfig"
