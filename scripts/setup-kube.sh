#!/usr/bin/env bash
# setup-kube.sh [--print] [VERSION]: a real kube-apiserver, etcd and kubectl for the tests; --print says in which
# directory, for KUBEBUILDER_ASSETS. Those of $KUBEBUILDER_ASSETS or of the PATH are used when all are there; otherwise
# they are built from the Go module proxy, once, into the user's cache directory. So is, always, another VERSION of
# Kubernetes; its etcd is the same one.
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/go-programs.sh
. "$(dirname "${BASH_SOURCE[0]}")/go-programs.sh"

readonly TOOLS=(kube-apiserver etcd kubectl)
readonly BUILT=$PROGRAMS/$KUBE_VERSION
readonly LINKED=$PROGRAMS/on-path

print=
if [[ ${1:-} == --print ]]; then
  print=yes
  shift
fi
other=${1:-}
[[ -z $other || $other =~ ^v1\.[0-9]+\.[0-9]+$ ]] || die "'$other' is neither --print nor a version such as $KUBE_VERSION"

has_all() { # has_all DIRECTORY
  local tool
  for tool in "${TOOLS[@]}"; do [[ -f $1/$tool && -x $1/$tool ]] || return 1; done
}

# KUBEBUILDER_ASSETS wants one directory; on the PATH the tools may live in several.
link_from_path() {
  local tool path
  for tool in "${TOOLS[@]}"; do have "$tool" || return 1; done
  mkdir -p "$LINKED"
  for tool in "${TOOLS[@]}"; do
    path=$(command -v "$tool")
    ln -sfn "$path" "$LINKED/$tool"
  done
}

find_or_build() { # sets assets
  if [[ -n ${KUBEBUILDER_ASSETS:-} ]] && has_all "$KUBEBUILDER_ASSETS"; then
    assets=$KUBEBUILDER_ASSETS
  elif has_all "$BUILT"; then
    assets=$BUILT
  elif link_from_path; then
    assets=$LINKED
  else
    assets=$BUILT
    timed "building kube-apiserver $KUBE_VERSION, etcd $ETCD_VERSION and kubectl for the tests" build_programs "${TOOLS[@]}"
  fi
}

build_other() { # sets assets
  local etcd
  etcd=$(realpath "$assets/etcd")
  build_programs "kube-apiserver@$other" "kubectl@$other"
  assets=$PROGRAMS/$other
  [[ $assets/etcd -ef $etcd ]] || ln -sfn "$etcd" "$assets/etcd"
}

find_or_build
[[ -z $other ]] || build_other
[[ -z $print ]] || echo "$assets"
