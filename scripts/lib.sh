# Shared by the scripts of this folder: sourced, never run.
# shellcheck shell=bash
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/kindlb
ENVOY_VERSION=1.40.0
ENVOY_IMAGE=${KINDLB_ENVOY_IMAGE:-kindlb/envoy:v$ENVOY_VERSION}
# shellcheck disable=SC2034  # read by the scripts that source this file
readonly ROOT CACHE ENVOY_VERSION ENVOY_IMAGE
readonly FIRST_ANSWER_SECONDS=20 # of an image registry

# Progress goes to stderr: stdout belongs to what a script was asked to print.
say() { printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2; }

# die WHAT-IS-WRONG-AND-WHAT-TO-DO: one line, then out. 2 = the machine or the call needs something from the user.
die() {
  say "error: $*"
  exit 2
}

have() { command -v "$1" >/dev/null 2>&1; }

# duration SECONDS: 7s, 2m05s
duration() {
  if (($1 < 60)); then printf '%ds' "$1"; else printf '%dm%02ds' $(($1 / 60)) $(($1 % 60)); fi
}

# timed WHAT COMMAND...: announce, run, say how long it took. The command dies by itself when it fails: no `||` after it.
timed() {
  local what=$1 started=$SECONDS
  shift
  say "$what ..."
  "$@"
  say "$what: done in $(duration $((SECONDS - started)))"
}

# as_root COMMAND...: directly when already root, by sudo otherwise.
as_root() {
  if ((EUID == 0)); then
    "$@"
  elif have sudo; then
    sudo "$@"
  else
    die "this step needs root (for '$1'): run it again as root, or install sudo"
  fi
}

# missing_packages NAME...: those of the Debian packages that are not installed, one per line.
missing_packages() {
  local package
  for package; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || printf '%s\n' "$package"
  done
}

apt() { # apt ARGUMENT...: quiet unless it fails
  local log
  if ! log=$(as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" 2>&1); then
    grep -E '^[EW]:' <<<"$log" >&2 || printf '%s\n' "$log" >&2
    die "apt-get $1 failed: see above; check the network and /etc/apt"
  fi
}

apt_install() {
  apt update
  apt install -y --no-install-recommends "$@"
}

# require_packages NAME...: install what is missing; silent when nothing is.
require_packages() {
  if ! have dpkg-query || ! have apt-get; then
    die "this is not a Debian system: install the equivalents of these packages yourself: $*"
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  timed "installing ${missing[*]}" apt_install "${missing[@]}"
}

# with_lock NAME COMMAND...: one run at a time per user; the lock goes away with the process, however it ends.
with_lock() {
  local lock=$CACHE/$1.lock
  shift
  mkdir -p "$CACHE"
  exec 9>"$lock"
  if ! flock -n 9; then
    say "waiting for another run to finish ($lock)"
    flock 9
  fi
  "$@" 9>&- # not for children: one that stays behind must not hold the lock
}

image_exists() { docker image inspect "$1" >/dev/null 2>&1; }

# A registry that is cut off by a firewall can hang for minutes, and a slow link is no reason to give up: what counts
# is whether the registry has answered ("Pulling from ...") by the deadline.
pull() { # pull IMAGE
  local log pid status=0 i
  log=$(mktemp)
  docker pull "$1" >"$log" 2>&1 &
  pid=$!
  for ((i = 0; i < FIRST_ANSWER_SECONDS * 5; i++)); do
    kill -0 "$pid" 2>/dev/null || break
    ! grep -q 'Pulling from' "$log" || break
    sleep 0.2
  done
  grep -q 'Pulling from' "$log" || kill "$pid" 2>/dev/null || true
  wait "$pid" || status=$?
  rm -f "$log"
  return "$status"
}
