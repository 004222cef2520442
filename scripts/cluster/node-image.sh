#!/usr/bin/env bash
# node-image.sh [--print|--names]: the image of kind's nodes. --print also prints its name; --names only prints the names
# that it may have. It is kindest/node of our Kubernetes version where that can be pulled. Otherwise it is built the way kind
# builds it, from the Go module proxy and Debian packages, and agnhost, which the tests need, is preloaded into it, too.
# shellcheck source=scripts/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly OFFICIAL=kindest/node:$KUBE_VERSION
readonly SUITE=bookworm # the last one whose systemd boots on cgroup v1, too
readonly NODE_PACKAGES=(bash ca-certificates conntrack curl e2fsprogs ethtool iproute2 iptables jq kmod mount nftables
  pigz procps runc systemd tcpdump util-linux)
readonly POD_PACKAGES=(bash conntrack curl dnsutils iproute2 iptables kmod netcat-openbsd nftables procps wget)
readonly NODE_PROGRAMS=(kubeadm kubelet kubectl containerd containerd-shim-runc-v2 ctr host-local loopback portmap ptp)
readonly POD_PROGRAMS=(agnhost coredns etcd kube-apiserver kube-controller-manager kube-proxy kube-scheduler)

mode=${1:-}
[[ $mode =~ ^(|--print|--names)$ ]] || die "unknown option $mode: use --print, --names or nothing"

# The tag tells from which recipe an image was built.
recipe() {
  {
    cat "$HERE"/node-image.sh "$HERE"/node/*
    grep '_VERSION=' "$ROOT/scripts/go-programs.sh"
  } | sha256sum | cut -c 1-12
}

debootstrap() { # debootstrap PACKAGE...: a root file system, as a tar archive
  local packages
  packages=$(
    IFS=,
    echo "$*"
  )
  as_root mmdebstrap --quiet --mode=root --variant=essential --include="$packages" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' "$SUITE" - ||
    die "mmdebstrap could not fetch Debian's packages: check the network and /etc/apt"
}

# base_image NAME PACKAGE...: an image with these packages; sets base. Kept for the next recipe with the same packages.
base_image() {
  base=kindlb/$1:$SUITE-$(sha256sum <<<"${*:2}" | cut -c 1-12)
  image_exists "$base" && return
  # Not straight into the engine: it would import a truncated archive, too.
  debootstrap "${@:2}" >"$work/$1.tar"
  docker import "$work/$1.tar" "$base" >/dev/null
  rm "$work/$1.tar"
}

take() { # take DIRECTORY PROGRAM...: copies that cost nothing where the file system can
  local program path
  mkdir -p "$1"
  for program in "${@:2}"; do
    path=$(program_path "$program")
    cp --link "$path" "$1/" 2>/dev/null || cp "$path" "$1/"
  done
}

# docker_build NAME DIRECTORY: the Dockerfile comes from stdin.
docker_build() {
  local log
  cat >"$2/Dockerfile"
  log=$(docker build --network none --tag "$1" "$2" 2>&1) || {
    tail -n 15 <<<"$log" >&2
    die "docker could not build $1: see the lines above"
  }
}

# The name and version of an image as kubeadm, or the tests, will ask for it.
wanted() { "$(program_path kubeadm)" config images list --kubernetes-version "$KUBE_VERSION" | grep "/$1:"; }
wanted_agnhost() {
  local manifest=$kube_source/test/utils/image/manifest.go
  printf '%s/agnhost:%s\n' "$(sed -n 's/.*PromoterE2eRegistry: *"\(.*\)".*/\1/p' "$manifest")" \
    "$(sed -n 's/.*configs\[Agnhost\].*"agnhost", "\(.*\)".*/\1/p' "$manifest")"
}

# program_image PROGRAM [LINE]: an image of nothing but this program; the line is the Dockerfile's last one.
program_image() {
  local name directory=$work/$1
  name=$(wanted "$1")
  [[ -d $directory ]] || take "$directory" "$1"
  docker_build "$name" "$directory" <<EOF
FROM scratch
ENV PATH=/usr/local/bin
COPY $1 /usr/local/bin/$1
${2:-}
EOF
  images+=("$name")
}

pause_image() {
  mkdir "$work/pause"
  gcc -Os -static -DVERSION="$KUBE_VERSION" -o "$work/pause/pause" "$kube_source/build/pause/linux/pause.c"
  program_image pause 'ENTRYPOINT ["/usr/local/bin/pause"]'
  # containerd's configuration, which comes from kind, names a version of its own.
  local sandbox
  sandbox=$(sed -n 's/.*sandbox_image = "\(.*\)"/\1/p' "$kind_source/images/base/files/etc/containerd/config.toml")
  docker tag "${images[-1]}" "$sandbox"
  images+=("$sandbox")
}

kube_proxy_image() {
  local name
  name=$(wanted kube-proxy)
  take "$work/kube-proxy" kube-proxy
  docker_build "$name" "$work/kube-proxy" <<EOF
FROM $base
COPY kube-proxy /usr/local/bin/kube-proxy
EOF
  images+=("$name")
}

# As the official one, but on Debian: its wget would try twenty times where busybox's gives up at once.
agnhost_image() {
  local name
  name=$(wanted_agnhost)
  take "$work/agnhost" agnhost
  cp --no-preserve=mode "$kube_source"/test/images/agnhost/porter/localhost.* "$work/agnhost/"
  docker_build "$name" "$work/agnhost" <<EOF
FROM $base
RUN echo 'tries = 1' >>/etc/wgetrc && mkdir /uploads && ln -s agnhost /agnhost-2
COPY localhost.crt localhost.key agnhost /
ENTRYPOINT ["/agnhost"]
CMD ["pause"]
EOF
  images+=("$name")
}

pod_images() { # sets images
  local base program
  images=()
  base_image pods "${POD_PACKAGES[@]}"
  pause_image
  for program in etcd kube-apiserver kube-controller-manager kube-scheduler; do program_image "$program"; done
  program_image coredns 'ENTRYPOINT ["/usr/local/bin/coredns"]'
  kube_proxy_image
  agnhost_image
}

bare_node_image() { # bare_node_image NAME: without the pods' images
  local base root=$work/node/root
  base_image node "${NODE_PACKAGES[@]}"
  mkdir -p "$work/node"
  cp -r --no-preserve=mode "$kind_source/images/base/files" "$root"
  take "$root/usr/local/bin" containerd containerd-shim-runc-v2 ctr
  take "$root/usr/bin" kubeadm kubelet kubectl
  take "$root/opt/cni/bin" host-local loopback portmap ptp
  cp "$HERE"/node/{cni,preload}.sh "$root/kind/bin/"
  mkdir "$root/kind/manifests"
  # The pod network runs in an image that every node has anyway.
  sed "s|KUBE_PROXY_IMAGE|$(wanted kube-proxy)|" "$HERE/node/cni.yaml" >"$root/kind/manifests/default-cni.yaml"
  printf %s "$KUBE_VERSION" >"$root/kind/version"
  sed "s|BASE_IMAGE|$base|" "$HERE/node/Dockerfile" | docker_build "$1" "$work/node"
}

remove_container() {
  [[ -z $container ]] || docker rm --force --volumes "$container" >/dev/null
  container=
}

# As `kind build node-image` does it: into the content store of a running containerd, then a commit.
preload() { # preload FROM TO
  local entrypoint status=0
  entrypoint=$(docker image inspect --format '{{json .Config.Entrypoint}}' "$1")
  container=$(docker run --detach --network none --security-opt seccomp=unconfined --entrypoint sleep "$1" infinity)
  docker save "${images[@]}" | docker exec --interactive "$container" /kind/bin/preload.sh >"$work/log" 2>&1 || status=$?
  # A commit takes over the container's own command, so that of the image has to be repeated.
  ((status)) || docker commit --change "ENTRYPOINT $entrypoint" --change 'CMD []' "$container" "$2" >/dev/null
  remove_container
  ((status == 0)) || {
    tail -n 15 "$work/log" >&2
    die "the node's containerd could not import the images: see the lines above"
  }
}

build() { # build NAME
  local go kube_source kind_source images
  require_packages mmdebstrap gcc libc6-dev
  build_programs "${NODE_PROGRAMS[@]}" "${POD_PROGRAMS[@]}"
  choose_go
  kube_source=$(module_part "k8s.io/kubernetes@$KUBE_VERSION" Dir)
  kind_source=$(module_part "sigs.k8s.io/kind@$KIND_VERSION" Dir)
  work=$(mktemp -d "$PROGRAMS/image.XXXXXX")
  container=
  trap 'rm -rf "$work"; remove_container' EXIT
  timed "building the images of pods" pod_images
  timed "building the node image" bare_node_image "$1-bare"
  timed "loading the images of pods into it" preload "$1-bare" "$1"
  docker image rm --no-prune "$1-bare" >/dev/null
}

make_image() { # make_image NAME; sets image
  # kind's own images need cgroup v2.
  if [[ $(docker info --format '{{.CgroupVersion}}') == 2 ]]; then
    say "looking for $OFFICIAL in an image registry"
    if pull "$OFFICIAL"; then
      image=$OFFICIAL
      return
    fi
  fi
  image_exists "$1" || timed "building $1 (6 minutes on two cores if nothing is cached)" build "$1"
}

image=kindlb/node:$KUBE_VERSION-$(recipe)
if [[ $mode == --names ]]; then
  printf '%s\n' "$OFFICIAL" "$image"
  exit
fi
if image_exists "$OFFICIAL"; then
  image=$OFFICIAL
elif ! image_exists "$image"; then
  with_lock node-image make_image "$image"
fi
[[ $mode != --print ]] || echo "$image"
