#!/usr/bin/env bash
# create.sh [NAME] [ipv4|dual|ipv6] [WORKERS] [iptables|nftables]: a kind cluster for the tests, by default kind, ipv4, 2
# workers, iptables. One of that name and kind that is already there is used as it is. The last line, on stdout, is what
# to tell the shell: export KUBECONFIG=...
# shellcheck source=scripts/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly READY_TIMEOUT=300s
# What kubelet, containerd, systemd and the control plane take; without, they fail now and again, and say nothing clear.
readonly INOTIFY_OF_CONTROL_PLANE=30 INOTIFY_OF_WORKER=15

name=${1:-kind} family=${2:-ipv4} workers=${3:-2} proxy=${4:-iptables}
[[ $name =~ ^[a-z0-9][a-z0-9.-]*$ ]] || die "'$name' cannot be a cluster's name: use a-z, 0-9, '.' and '-'"
[[ $family =~ ^(ipv4|dual|ipv6)$ ]] || die "unknown family '$family': use ipv4, dual or ipv6"
[[ $workers =~ ^[0-9]$ ]] || die "'$workers' is no number of workers: use 0 to 9"
[[ $proxy =~ ^(iptables|nftables)$ ]] || die "unknown mode of kube-proxy '$proxy': use iptables or nftables"

config() {
  local worker
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
- role: control-plane
EOF
  for ((worker = 0; worker < workers; worker++)); do echo '- role: worker'; done
}

# Where nodes need a runtime of their own, kind talks to the engine through a client that adds it.
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
    die "root has $used of $limit inotify instances, and these nodes need $needed: delete another cluster, or" \
      "'sysctl fs.inotify.max_user_instances=512'"
}

create() {
  local image log
  check_inotify
  "$HERE/runtime.sh" on
  image=$("$HERE/node-image.sh" --print)
  config >"$unfinished"
  log=$(run_kind create cluster --name "$name" --image "$image" --config "$unfinished" --kubeconfig "$kubeconfig" 2>&1) || {
    tail -n 30 <<<"$log" >&2
    die "kind could not make the cluster: see above"
  }
  mv "$unfinished" "$configuration"
}

# kind waits for the control plane only.
wait_until_ready() {
  "$kubectl" wait node --all --for=condition=Ready --timeout="$READY_TIMEOUT" >/dev/null ||
    die "the nodes of $name did not get ready: see 'kubectl describe nodes'"
  "$kubectl" --namespace kube-system wait pod --all --for=condition=Ready --timeout="$READY_TIMEOUT" >/dev/null ||
    die "the pods of $name did not get ready: see 'kubectl -n kube-system get pods'"
}

exists() { grep -qxF -- "$name" <<<"$("$kind" get clusters --quiet)"; }

reuse() {
  # A cluster made by other means is none of our business; ours must be what was asked for.
  [[ ! -f $configuration ]] || config | cmp -s - "$configuration" ||
    die "there is a cluster $name of another kind: choose another NAME, or 'make cluster-delete NAME=$name' first"
  "$kind" export kubeconfig --quiet --name "$name" --kubeconfig "$kubeconfig"
  say "using the cluster $name that is there"
}

make_or_reuse() {
  mkdir -p "$CLUSTERS"
  if exists && [[ -f $unfinished ]]; then
    timed "removing what an interrupted run left of $name" "$kind" delete cluster --quiet --name "$name" --kubeconfig "$kubeconfig"
  fi
  if exists; then
    reuse
  else
    rm -f "$configuration"
    timed "making the cluster $name ($family, $proxy, $workers workers)" create
  fi
}

"$ROOT/scripts/setup-docker.sh"
build_programs kubectl
kind=$(kind_program)
kubectl=$(program_path kubectl)
configuration=$CLUSTERS/$name.yaml unfinished=$CLUSTERS/$name.unfinished
kubeconfig=$(kubeconfig_of "$name")
export KUBECONFIG=$kubeconfig
with_lock clusters make_or_reuse
timed "waiting for nodes and system pods" wait_until_ready
echo "export KUBECONFIG=$kubeconfig"
