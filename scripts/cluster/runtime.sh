#!/usr/bin/env bash
# runtime.sh on|off: kind's nodes are privileged containers, and those ask for every capability. An engine that itself
# lacks CAP_SYS_RESOURCE (one inside a sandbox, say) cannot grant it and refuses to start them. There, and only there,
# `on` registers one more OCI runtime, which asks for all but that one. Nodes are started with it, other containers are
# not. `off` removes it from the engine's configuration. The engine is reloaded, never restarted.
# shellcheck source=scripts/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly CONFIG=/etc/docker/daemon.json
readonly PID_FILE=/var/run/docker.pid
readonly WRAPPER=$CACHE/runc-of-nodes
readonly CAP_SYS_RESOURCE=24
readonly RELOAD_SECONDS=20

lacks_capability() {
  local pid bounding
  pid=$(as_root cat "$PID_FILE" 2>/dev/null) || return 1 # not on this machine, so not in this sandbox
  bounding=$(sed -n 's/^CapBnd:\t//p' "/proc/$pid/status" 2>/dev/null)
  [[ -n $bounding ]] && (((0x$bounding >> CAP_SYS_RESOURCE & 1) == 0))
}

config() { as_root cat "$CONFIG" 2>/dev/null || echo '{}'; }

write_config() { # write_config JSON
  as_root mkdir -p "$(dirname "$CONFIG")"
  as_root tee "$CONFIG.kindlb" >/dev/null <<<"$1"
  as_root mv "$CONFIG.kindlb" "$CONFIG"
}

# reload CONDITION...: until the condition holds.
reload() {
  local i
  # shellcheck disable=SC2016  # the inner shell's: kill is a program of a package that need not be there
  as_root sh -c 'kill -HUP "$1"' - "$(as_root cat "$PID_FILE")"
  for ((i = 0; i < RELOAD_SECONDS * 10; i++)); do
    "$@" && return
    sleep 0.1
  done
  die "the engine did not reload its configuration: see $CONFIG and the engine's log"
}

lacks_runtime() { ! has_runtime; }
has_wrapper() { [[ $(docker info --format '{{json .Runtimes}}') == *"\"$WRAPPER\""* ]]; }

turn_on() {
  lacks_capability || return 0
  if [[ -x $WRAPPER ]] && has_wrapper; then return; fi
  require_packages jq runc
  mkdir -p "$CACHE"
  install -m 755 "$HERE/engine/runc" "$WRAPPER"
  local changed
  # shellcheck disable=SC2016  # jq's variables
  changed=$(config | jq --arg name "$RUNTIME" --arg path "$WRAPPER" '.runtimes[$name].path = $path')
  write_config "$changed"
  reload has_wrapper
  say "the engine lacks CAP_SYS_RESOURCE: added the runtime $RUNTIME to $CONFIG for kind's nodes"
}

turn_off() {
  [[ $(config) == *"\"$RUNTIME\""* ]] || return 0
  local changed
  # shellcheck disable=SC2016
  changed=$(config | jq --arg name "$RUNTIME" 'del(.runtimes[$name])')
  # An engine forgets a runtime only when it reads a list without it: no list would change nothing.
  write_config "$changed"
  reload lacks_runtime
  changed=$(jq 'if .runtimes == {} then del(.runtimes) else . end' <<<"$changed")
  if [[ $changed == '{}' ]]; then as_root rm "$CONFIG"; else write_config "$changed"; fi
  rm -f "$WRAPPER"
  say "removed the runtime $RUNTIME from $CONFIG"
}

case ${1:-} in
  on) with_lock runtime turn_on ;;
  off) with_lock runtime turn_off ;;
  *) die "usage: runtime.sh on|off" ;;
esac
