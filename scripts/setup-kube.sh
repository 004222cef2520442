#!/usr/bin/env bash
# setup-kube.sh [--print]: a real kube-apiserver, etcd and kubectl for the tests; --print says in which directory, for
# KUBEBUILDER_ASSETS. Those of $KUBEBUILDER_ASSETS or of the PATH are used when all are there; otherwise they are built
# from the Go module proxy, once, into the user's cache directory.
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly KUBE_VERSION=v1.36.3
readonly ETCD_VERSION=v3.6.8
readonly GO_NEEDED=1.26.0 # the go line of k8s.io/kubernetes' go.mod
readonly TOOLS=(kube-apiserver etcd kubectl)
readonly BUILT=$CACHE/kube/$KUBE_VERSION
readonly LINKED=$CACHE/kube/on-path

print=
case ${1:-} in
  '') ;;
  --print) print=yes ;;
  *) die "unknown option $1: use --print or nothing" ;;
esac

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

at_least() { # at_least VERSION MINIMUM
  [[ $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$2" ]]
}

# Toolchains are modules too: any go that speaks to the module proxy can fetch a newer one, checksum database included.
# Go 1.21 does this by itself, but Debian 12 has 1.19, and a GOTOOLCHAIN=local would forbid it.
fetch_toolchain() { # sets go
  local module source
  module=golang.org/toolchain@v0.0.1-go$GO_NEEDED.linux-$(go env GOARCH)
  # Not in the caller's folder: a go.mod there has no say in this.
  source=$(cd / && GOFLAGS='' GO111MODULE=on go mod download -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",\?$/\1/p')
  [[ -d $source ]] || die "cannot fetch Go $GO_NEEDED from the module proxy: check the network, or install it yourself"
  # Modules carry no execute bits, and the module cache is read-only: work on a copy.
  rm -rf "$toolchain.tmp" "$toolchain"
  mkdir -p "$(dirname "$toolchain")"
  cp -r "$source" "$toolchain.tmp"
  chmod -R u+w "$toolchain.tmp"
  find "$toolchain.tmp/bin" "$toolchain.tmp/pkg/tool" -type f -exec chmod 755 {} +
  mv "$toolchain.tmp" "$toolchain"
}

choose_go() { # sets go
  local toolchain=$CACHE/go/$GO_NEEDED
  go=$toolchain/bin/go
  [[ -x $go ]] && return
  have go || require_packages golang-go
  local found
  found=$(GOTOOLCHAIN=local go version | sed 's/^go version go\([0-9.]*\).*/\1/')
  if at_least "$found" "$GO_NEEDED"; then
    go=$(command -v go)
  else
    timed "fetching Go $GO_NEEDED (this machine has $found)" fetch_toolchain
  fi
}

# k8s.io/kubernetes names its staging modules by folder; outside its own tree they are the published v0.x ones.
kube_go_mod() {
  local go_mod
  go_mod=$(cd "$work" && "$go" mod download -json "k8s.io/kubernetes@$KUBE_VERSION" | sed -n 's/^\t"GoMod": "\(.*\)",\?$/\1/p')
  [[ -f $go_mod ]] || die "cannot fetch Kubernetes $KUBE_VERSION from the Go module proxy: check the network"
  printf 'module kindlb/kube\n\ngo %s\n\nrequire k8s.io/kubernetes %s\n\n' "$GO_NEEDED" "$KUBE_VERSION"
  sed -n "s|^\t\(k8s.io/[a-z0-9-]*\) => ./staging/.*|replace \1 => \1 v0.${KUBE_VERSION#v1.}|p" "$go_mod"
}

etcd_go_mod() {
  printf 'module kindlb/etcd\n\ngo %s\n\nrequire go.etcd.io/etcd/server/v3 %s\n' "$GO_NEEDED" "$ETCD_VERSION"
}

# In a module of its own, so that versions are exactly those named above; moved into place only when complete.
compile() { # compile TOOL MODULE PACKAGE
  local flags="-s -w" version=k8s.io/component-base/version
  local numbers=${KUBE_VERSION#v}
  flags+=" -X $version.gitVersion=$KUBE_VERSION -X $version.gitMajor=${numbers%%.*}"
  flags+=" -X $version.gitMinor=$(cut -d. -f2 <<<"$numbers")"
  (cd "$work/$2" && "$go" build -ldflags "$flags" -o "$work/bin/$1" "$3") >"$work/log" 2>&1 || {
    grep -v ' downloading ' "$work/log" | tail -n 15 >&2
    die "building $1 failed: see the lines above"
  }
  mv "$work/bin/$1" "$BUILT/$1"
}

build() { # build TOOL
  [[ ! -x $BUILT/$1 ]] || return 0
  local module=kube package=k8s.io/kubernetes/cmd/$1
  if [[ $1 == etcd ]]; then module=etcd package=go.etcd.io/etcd/server/v3; fi
  mkdir -p "$work/bin" "$work/$module"
  # Written elsewhere first: go reads the go.mod of the folder it runs in, also a half-written one.
  "${module}_go_mod" >"$work/go.mod.$module"
  mv "$work/go.mod.$module" "$work/$module/go.mod"
  timed "building $1" compile "$1" "$module" "$package"
}

build_all() {
  has_all "$BUILT" && return
  local go tool
  choose_go
  mkdir -p "$BUILT"
  # On the same file system as the result: the last step of each build is a rename.
  work=$(mktemp -d "$CACHE/kube/build.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  export GOTOOLCHAIN=local GOFLAGS='-mod=mod -trimpath -buildvcs=false' GOWORK=off GO111MODULE=on CGO_ENABLED=0
  for tool in "${TOOLS[@]}"; do build "$tool"; done
}

if [[ -n ${KUBEBUILDER_ASSETS:-} ]] && has_all "$KUBEBUILDER_ASSETS"; then
  assets=$KUBEBUILDER_ASSETS
elif has_all "$BUILT"; then
  assets=$BUILT
elif link_from_path; then
  assets=$LINKED
else
  assets=$BUILT
  with_lock kube timed "building kube-apiserver $KUBE_VERSION, etcd $ETCD_VERSION and kubectl for the tests" build_all
fi
[[ -z $print ]] || echo "$assets"
