#!/usr/bin/env bash
# Makes sure a Docker engine answers. One that already does (DOCKER_HOST, the client's context or the default socket)
# is used as it is; otherwise Docker is installed from Debian and its daemon started. A running daemon is never
# restarted, and no second one is started beside it.
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly SOCKET=/var/run/docker.sock
readonly PID_FILE=/var/run/docker.pid
readonly CONTAINERD_PID_FILE=/var/run/docker/containerd/containerd.pid
readonly LOG=/var/log/kindlb-dockerd.log
readonly START_SECONDS=60
# The distribution's directories first: containerd looks its helpers up by name, and those of another version that
# happen to be on the user's PATH do not fit it.
readonly DAEMON_PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin

engine_answers() { have docker && docker version >/dev/null 2>&1; }

# running NAME: the id of a process of that name.
running() {
  local comm
  for comm in /proc/[0-9]*/comm; do
    if [[ $(cat "$comm" 2>/dev/null) == "$1" ]]; then
      comm=${comm#/proc/}
      echo "${comm%/comm}"
      return
    fi
  done
  return 1
}

has_systemd() { [[ -d /run/systemd/system ]]; }

dockerd_path() { PATH=$DAEMON_PATH command -v dockerd; }

# A pid file left by a crash or a reboot may name a process that is now something else; dockerd would refuse to start.
remove_stale_pid_file() { # remove_stale_pid_file FILE NAME
  local pid
  pid=$(as_root cat "$1" 2>/dev/null) || return 0
  [[ $(cat "/proc/$pid/comm" 2>/dev/null) == "$2" ]] && return
  say "removing $1, left behind by process $pid"
  as_root rm -f "$1"
}

wait_until_it_answers() {
  local i
  for ((i = 0; i < START_SECONDS * 5; i++)); do
    engine_answers && return
    # The process needs a moment to appear, and dies early when it cannot run here.
    ((i < 10)) || running dockerd >/dev/null || break
    sleep 0.2
  done
  may_use_socket || die "permission denied on $SOCKET: run 'sudo usermod -aG docker $(id -un)' and log in again"
  return 1
}

may_use_socket() { [[ ! -S $SOCKET || -w $SOCKET ]]; }

start_by_systemd() {
  as_root systemctl start docker || die "systemd could not start docker: see 'journalctl -u docker'"
  wait_until_it_answers || die "docker was started but does not answer: see 'journalctl -u docker'"
  say "the engine is running; to stop it: systemctl stop docker.socket docker"
}

# The daemon's log says best why it cannot run here (a kernel module, cgroups, a missing capability).
report_failure() { # report_failure FIRST-LINE
  say "the last lines of $LOG:"
  as_root tail -n "+$1" "$LOG" | grep -v 'level=\(info\|debug\)' | tail -n 12 >&2 || true
  die "dockerd does not start on this machine: fix the errors above, or set DOCKER_HOST to another engine"
}

start_by_hand() {
  local first_line
  remove_stale_pid_file "$PID_FILE" dockerd
  remove_stale_pid_file "$CONTAINERD_PID_FILE" containerd
  as_root touch "$LOG"
  first_line=$(($(as_root cat "$LOG" | wc -l) + 1))
  # shellcheck disable=SC2016  # $0 and $1 are the inner shell's
  as_root env PATH="$DAEMON_PATH" sh -c 'setsid nohup "$0" >>"$1" 2>&1 </dev/null &' "$(dockerd_path)" "$LOG"
  wait_until_it_answers || report_failure "$first_line"
  say "the engine is running (log: $LOG); to stop it: kill \$(cat $PID_FILE)"
}

start() { if has_systemd; then start_by_systemd; else start_by_hand; fi; }

install_client() {
  have docker && return
  # Debian 12 has the client only together with the daemon; later ones have it alone.
  if have apt-cache && [[ -n $(apt-cache show docker-cli 2>/dev/null) ]]; then
    require_packages docker-cli
  else
    die "an engine listens on ${DOCKER_HOST:-$SOCKET}, but there is no docker client: install one"
  fi
}

explain_no_answer() {
  if [[ -n ${DOCKER_HOST:-} ]]; then
    die "DOCKER_HOST=$DOCKER_HOST does not answer: correct it, or unset it to use an engine on this machine"
  fi
  may_use_socket || die "permission denied on $SOCKET: run 'sudo usermod -aG docker $(id -un)' and log in again"
  local pid
  if pid=$(running dockerd); then
    say "dockerd is starting (process $pid)"
    wait_until_it_answers && exit
    die "dockerd is running (process $pid), but $SOCKET does not answer: set DOCKER_HOST to the address it listens on"
  fi
}

if engine_answers; then exit 0; fi
if [[ -n ${DOCKER_HOST:-} ]] || running dockerd >/dev/null; then
  install_client
  if engine_answers; then exit 0; fi
fi
explain_no_answer
if ! have docker || ! dockerd_path >/dev/null; then
  require_packages docker.io
  # The package starts the daemon itself where there is an init system.
  if running dockerd >/dev/null && wait_until_it_answers; then exit 0; fi
fi
timed "starting the Docker engine" start
