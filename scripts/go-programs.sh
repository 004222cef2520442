# The Go programs of the tests, from the Go module proxy: each is compiled once, into the user's cache. Sourced after
# lib.sh, never run.
# shellcheck shell=bash
readonly KUBE_VERSION=v1.36.3
readonly ETCD_VERSION=v3.6.8
readonly KIND_VERSION=v0.33.0
# What kind's own node image of that version has, and the coredns that kubeadm asks for.
readonly CONTAINERD_VERSION=v2.3.4
readonly CNI_VERSION=v1.9.1
readonly COREDNS_VERSION=v1.14.2
readonly GO_NEEDED=1.26.3 # the highest go line of these modules' go.mod
readonly PROGRAMS=$CACHE/kube

# A PROGRAM below is a name, or of those of Kubernetes also NAME@VERSION, for another version than the one above.

# describe PROGRAM: sets name, module, version, package, and home, the folder that the program is kept in.
describe() {
  name=${1%@*}
  local other=${1#"$name"}
  case $name in
    kube-* | kubelet | kubeadm | kubectl) module=k8s.io/kubernetes package=$module/cmd/$name ;;
    agnhost) module=k8s.io/kubernetes package=$module/test/images/agnhost ;;
    e2e.test) module=k8s.io/kubernetes package=$module/test/e2e ;;
    ginkgo) module=k8s.io/kubernetes package=github.com/onsi/ginkgo/v2/ginkgo ;; # the one that e2e.test was made with
    etcd) module=go.etcd.io/etcd/server/v3 package=$module ;;
    kind) module=sigs.k8s.io/kind package=$module ;;
    containerd* | ctr) module=github.com/containerd/containerd/v2 package=$module/cmd/$name ;;
    host-local) module=github.com/containernetworking/plugins package=$module/plugins/ipam/$name ;;
    portmap) module=github.com/containernetworking/plugins package=$module/plugins/meta/$name ;;
    loopback | ptp) module=github.com/containernetworking/plugins package=$module/plugins/main/$name ;;
    coredns) module=github.com/coredns/coredns package=. ;;
    *) die "unknown program $1: add it to scripts/go-programs.sh" ;;
  esac
  case $module in
    k8s.io/*) version=${other#@} version=${version:-$KUBE_VERSION} home=$version ;;
    */etcd/*) version=$ETCD_VERSION home=$KUBE_VERSION ;; # together: KUBEBUILDER_ASSETS is one folder
    */kind) version=$KIND_VERSION home=kind-$version ;;
    */containerd/*) version=$CONTAINERD_VERSION home=containerd-$version ;;
    */plugins) version=$CNI_VERSION home=cni-$version ;;
    */coredns) version=$COREDNS_VERSION home=coredns-$version ;;
  esac
}

program_path() { # program_path PROGRAM
  local name module version package home
  describe "$1"
  echo "$PROGRAMS/$home/$name"
}

at_least() { # at_least VERSION MINIMUM
  [[ $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$2" ]]
}

# module_part MODULE@VERSION PART: fetches it, and prints where its Dir or GoMod is.
module_part() {
  local path
  # Not in the caller's directory: a go.mod there must not count.
  path=$(cd / && GOFLAGS='' GO111MODULE=on "$go" mod download -json "$1" | sed -n "s/^\t\"$2\": \"\(.*\)\",\?\$/\1/p")
  [[ -e $path ]] || die "cannot fetch $1 from the Go module proxy: check the network"
  echo "$path"
}

# Toolchains are modules too: any version of go can fetch a newer one from the module proxy, and checks its checksum.
# Go 1.21 does this by itself, but Debian 12 has 1.19, and a GOTOOLCHAIN=local would forbid it.
fetch_toolchain() { # fetch_toolchain DIRECTORY
  local source go=go
  source=$(module_part "golang.org/toolchain@v0.0.1-go$GO_NEEDED.linux-$(go env GOARCH)" Dir)
  # Modules carry no execute bits, and the module cache is read-only: work on a copy.
  rm -rf "$1.tmp" "$1"
  mkdir -p "$(dirname "$1")"
  cp -r "$source" "$1.tmp"
  chmod -R u+w "$1.tmp"
  find "$1.tmp/bin" "$1.tmp/pkg/tool" -type f -exec chmod 755 {} +
  mv "$1.tmp" "$1"
}

choose_go() { # sets go
  local toolchain=$CACHE/go/$GO_NEEDED
  go=$toolchain/bin/go
  require_packages ca-certificates # for the module proxy
  [[ -x $go ]] && return
  have go || require_packages golang-go
  local found
  found=$(GOTOOLCHAIN=local go version | sed 's/^go version go\([0-9.]*\).*/\1/')
  if at_least "$found" "$GO_NEEDED"; then
    go=$(command -v go)
  else
    timed "fetching Go $GO_NEEDED (this machine has $found)" fetch_toolchain "$toolchain"
  fi
}

# A module of our own that requires the wanted one, so that versions are exactly those named above. k8s.io/kubernetes
# names its staging modules by folder; outside its own tree they are the published v0.x ones.
go_mod() {
  printf 'module kindlb/programs\n\ngo %s\n\nrequire %s %s\n\n' "$GO_NEEDED" "$module" "$version"
  [[ $module == k8s.io/kubernetes ]] || return 0
  local theirs
  theirs=$(module_part "$module@$version" GoMod)
  sed -n "s|^\t\(k8s.io/[a-z0-9-]*\) => ./staging/.*|replace \1 => \1 v0.${version#v1.}|p" "$theirs"
}

make_module() { # make_module DIRECTORY
  [[ ! -f $1/go.mod ]] || return 0
  mkdir -p "$1"
  # Written elsewhere first: go reads the go.mod of the folder it runs in, also a half-written one.
  go_mod >"$1.go.mod"
  mv "$1.go.mod" "$1/go.mod"
  [[ $package != . ]] || cp "$ROOT/scripts/cluster/node/${module##*/}.go" "$1/main.go"
}

linker_flags() {
  local variable=k8s.io/component-base/version numbers=${version#v}
  printf -- '-s -w'
  case $module in
    k8s.io/*)
      printf -- ' -X %s.gitVersion=%s -X %s.gitMajor=%s' "$variable" "$version" "$variable" "${numbers%%.*}"
      printf -- ' -X %s.gitMinor=%s' "$variable" "$(cut -d. -f2 <<<"$numbers")"
      ;;
    */containerd/*) printf -- ' -X %s/version.Version=%s' "$module" "$version" ;;
  esac
}

# Moved into place only when complete.
compile() { # compile NAME DIRECTORY
  # containerd's snapshotters that kind never uses; no other module has these tags
  local command=(build -tags 'no_aufs no_zfs no_btrfs no_devmapper')
  [[ $1 != *.test ]] || command=(test -c -vet=off)
  [[ -z ${JOBS:-} ]] || command+=(-p "$JOBS")
  (cd "$2" && "$go" "${command[@]}" -ldflags "$(linker_flags)" -o "$work/$1" "$package") >"$work/log" 2>&1 || {
    grep -v ' downloading ' "$work/log" | tail -n 15 >&2
    die "building $1 failed: see the lines above"
  }
  mkdir -p "$PROGRAMS/$home"
  mv "$work/$1" "$PROGRAMS/$home/$1"
}

build_program() { # build_program PROGRAM
  local name module version package home
  describe "$1"
  [[ ! -x $PROGRAMS/$home/$name ]] || return 0
  make_module "$work/modules/$home-${module##*/}"
  timed "building $name $version" compile "$name" "$work/modules/$home-${module##*/}"
}

build_programs_alone() { # build_programs_alone PROGRAM...
  local go program
  choose_go
  # On the same file system as the result: the last step of each build is a rename.
  mkdir -p "$PROGRAMS"
  work=$(mktemp -d "$PROGRAMS/build.XXXXXX")
  mkdir "$work/modules"
  trap 'rm -rf "$work"' EXIT
  # A sixth of the Go compiler's time goes into garbage collection, which such short-lived processes do not need.
  export GOGC=400
  export GOTOOLCHAIN=local GOFLAGS='-mod=mod -trimpath -buildvcs=false' GOWORK=off GO111MODULE=on CGO_ENABLED=0
  for program; do build_program "$program"; done
}

# build_programs PROGRAM...: those that are not in the cache yet. In a process of its own, which cleans up after itself.
build_programs() {
  local program missing=()
  for program; do [[ -x $(program_path "$program") ]] || missing+=("$program"); done
  ((${#missing[@]})) || return 0
  (with_lock kube build_programs_alone "${missing[@]}")
}
