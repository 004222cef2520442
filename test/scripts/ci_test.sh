#!/usr/bin/env bash
# What .ci/run and `make full` do when stages fail, hang or are interrupted: the table at the end, the exit code, and that the
# clusters are removed. make, scripts/e2e.sh and scripts/faults.sh are stand-ins, and so is timeout, which has less patience.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MADE=$work/made HANGS=$work/hangs OVERLAP=$work/overlap
failures=0

mkdir "$work"/{.ci,path,scripts}
cp "$root/.ci/run" "$work/.ci"
cp "$root"/scripts/{lib,stages,full}.sh "$work/scripts"
cat >"$work/path/make" <<'STAND_IN'
#!/bin/bash
case "$*" in
  'test PARTS=setup') set -- setup ;;
  *'PARTS=build previous'*) set -- without-docker ;;
  *'PARTS=build contract'*) set -- with-docker "${@:2}" ;;
esac
[[ -z ${KINDLB_FULL:-} ]] || set -- "$@" full
echo "$*" >>"$MADE"
echo "$1 speaks"
case " $BAD " in *" $1 "*) exit 2 ;; esac
# As from empty caches: compiling the sanitized tests takes longer than the cluster tests.
[[ $1 != without-docker || -z ${SLOW:-} ]] || for ((i = 0; i < 100; i++)); do
  ! grep -q ^with-docker "$MADE" || { touch "$OVERLAP" && break; }
  sleep 0.1
done
# As the real one: it ends what it started, then itself.
[[ $1 != "$HANG" ]] || {
  trap 'sleep 0.5; echo "$1 is over" >>"$MADE"; exit 2' TERM
  touch "$HANGS"
  sleep 120 &
  wait
}
STAND_IN
cat >"$work/scripts/e2e.sh" <<'STAND_IN'
#!/bin/bash
exec make e2e NAME="$NAME" ${FAMILY:+"FAMILY=$FAMILY"} ${PROXY:+"PROXY=$PROXY"} "$@"
STAND_IN
cat >"$work/scripts/faults.sh" <<'STAND_IN'
#!/bin/bash
exec make faults ${NAME:+"NAME=$NAME"} "$@"
STAND_IN
cat >"$work/path/timeout" <<'STAND_IN'
#!/bin/bash
limit=600
[[ -z $HANG || $* != *test_on_cluster* ]] || limit=$PATIENCE
exec /usr/bin/timeout "$1" "$limit" "${@:3}"
STAND_IN
chmod +x "$work"/{path,scripts}/*

# start SCRIPT BAD-TARGETS [HANGING-TARGET [PATIENCE]]: becomes the script, in another directory, which must not matter, and
# with variables that must not count.
start() {
  cd /
  : >"$work/said"
  BAD=$2 HANG=${3:-} PATIENCE=${4:-90} PATH=$work/path:$PATH HOME=$work FAMILY=ipv6 PARTS=services KINDLB_FULL='' \
    exec "$work/$1" >>"$work/said" 2>&1 # appended to: cat and another writer may overwrite each other otherwise
}

# The last lines, without times; and what was made, without the stage that runs beside others, sooner or later.
table() { sed -n '/^setup  /,$p' "$work/said" | sed -E 's/ +([0-9]+m)?[0-9]+s$//; s/ +/ /; s/ *$//'; }
made() { grep -vx 'without-docker' "$MADE" | paste -sd,; }
made_beside() { grep -cx 'without-docker' "$MADE" || true; }

fail() { # fail WHAT: of the run that just ended
  printf 'FAILED: %s: exit code %s, made %s, said:\n' "$1" "$code" "$(paste -sd, "$MADE")"
  cat "$work/said"
  failures=$((failures + 1))
}

# expect WHAT CODE TABLE MADE: of the run that just ended.
expect() {
  if [[ $code != "$2" || $(table) != "$3"$'\ntotal' || $(made) != "$4" ]]; then fail "$1"; fi
  if [[ $4 == *e2e* ]] && ! grep -qx 'without-docker speaks' "$work/said"; then fail "$1: the quiet stage says nothing"; fi
  rm -f "$MADE" "$HANGS"
}

run() { # run as start; sets code
  code=0
  (start "$@") || code=$?
}

# interrupt SCRIPT HANGING-TARGET: SIGTERM as soon as the target hangs; sets code.
interrupt() {
  local process i
  start "$1" '' "$2" &
  process=$!
  for ((i = 0; i < 600; i++)); do
    [[ ! -e $HANGS ]] || break
    sleep 0.1
  done
  kill -TERM "$process"
  code=0 SECONDS=0
  wait "$process" || code=$?
  ((SECONDS < 60)) || fail "$1 did not end when it was interrupted"
}

readonly CI=.ci/run FULL=scripts/full.sh
readonly REMOVED='cluster-delete NAME=ci,cluster-delete NAME=e2e-other'
readonly DOCKER='with-docker PARTS=build contract integration compat'
readonly UP_TO_E2E="setup,build,$REMOVED,e2e NAME=ci"
readonly FAULTS='faults NAME=ci --groups proxy --proxies own'
readonly EVERYTHING="$UP_TO_E2E,$FAULTS,$REMOVED,$DOCKER"

run $CI ''
[[ $(made_beside) == 1 ]] || fail 'tests without Docker do not run once'
expect 'all is well' 0 $'setup ok\nbuild ok\ne2e ok\nwithout-docker ok\nfaults ok\nclean-up ok\nwith-docker ok' "$EVERYTHING"
SLOW=yes run $CI ''
[[ -e $OVERLAP ]] || fail 'tests with Docker wait for those without'
expect 'slow compilers' 0 $'setup ok\nbuild ok\ne2e ok\nwithout-docker ok\nfaults ok\nclean-up ok\nwith-docker ok' "$EVERYTHING"
run $CI setup
expect 'no set-up' 1 $'setup FAILED\nbuild not run\ne2e not run\nwithout-docker not run\nfaults not run\nclean-up not run\nwith-docker not run' setup
run $CI build
expect 'no build' 1 $'setup ok\nbuild FAILED\ne2e not run\nwithout-docker not run\nfaults not run\nclean-up not run\nwith-docker not run' setup,build
run $CI without-docker
expect 'a test without Docker fails' 1 \
  $'setup ok\nbuild ok\ne2e ok\nwithout-docker FAILED\nfaults ok\nclean-up ok\nwith-docker ok' "$EVERYTHING"
run $CI e2e
expect 'a cluster test fails' 1 $'setup ok\nbuild ok\ne2e FAILED\nwithout-docker ok\nfaults ok\nclean-up ok\nwith-docker ok' "$EVERYTHING"
run $CI faults
expect 'a fault is not healed' 1 \
  $'setup ok\nbuild ok\ne2e ok\nwithout-docker ok\nfaults FAILED\nclean-up ok\nwith-docker ok' "$EVERYTHING"
run $CI cluster-delete
expect 'a cluster stays' 1 $'setup ok\nbuild ok\ne2e FAILED\nwithout-docker ok\nfaults ok\nclean-up FAILED\nwith-docker ok' \
  "setup,build,$REMOVED,$FAULTS,$REMOVED,$DOCKER"
run $CI with-docker
expect 'a test with Docker fails' 1 $'setup ok\nbuild ok\ne2e ok\nwithout-docker ok\nfaults ok\nclean-up ok\nwith-docker FAILED' "$EVERYTHING"
run $CI '' e2e 3 # enough for the stand-in to start, on a busy machine too
expect 'a cluster test hangs' 1 $'setup ok\nbuild ok\ne2e over 50m\nwithout-docker ok\nfaults ok\nclean-up ok\nwith-docker ok' \
  "$UP_TO_E2E,e2e is over,$FAULTS,$REMOVED,$DOCKER"
interrupt $CI e2e
expect 'CI ends it during the cluster tests' 1 \
  $'setup ok\nbuild ok\ne2e interrupted\nwithout-docker ok\nfaults not run\nclean-up ok\nwith-docker not run' "$UP_TO_E2E,e2e is over,$REMOVED"
interrupt $CI with-docker
expect 'CI ends it after the cluster tests' 1 \
  $'setup ok\nbuild ok\ne2e ok\nwithout-docker ok\nfaults ok\nclean-up ok\nwith-docker interrupted' "$EVERYTHING,with-docker is over"

readonly FULL_REMOVED='cluster-delete NAME=full,cluster-delete NAME=full-dual,cluster-delete NAME=full-nftables,cluster-delete NAME=e2e-other'
full_made="setup,build,$FULL_REMOVED,e2e NAME=full"
run $FULL setup
grep -q 'minutes' "$work/said" || fail 'make full does not say how long it takes'
expect 'full: no set-up' 1 "$(printf '%s not run\n' build e2e without-docker e2e-dual e2e-nftables clean-up faults with-docker |
  sed '1i setup FAILED')" setup
interrupt $FULL e2e
expect 'full: interrupted' 1 "$(printf '%s\n' 'setup ok' 'build ok' 'e2e interrupted' 'without-docker ok' 'e2e-dual not run' \
  'e2e-nftables not run' 'clean-up ok' 'faults not run' 'with-docker not run')" "$full_made,e2e is over,$FULL_REMOVED"
run $FULL ''
others='official conformance services'
full_made+=",$FULL_REMOVED,e2e NAME=full-dual FAMILY=dual $others,$FULL_REMOVED,e2e NAME=full-nftables PROXY=nftables $others"
expect 'full: all is well' 0 "$(printf '%s ok\n' setup build e2e without-docker e2e-dual e2e-nftables clean-up faults with-docker)" \
  "$full_made,$FULL_REMOVED,faults,$DOCKER compat-supported full"

((failures == 0))
