#!/usr/bin/env bash
# What .ci/run does when stages fail, hang or are interrupted: the table at the end, its exit code, and that the clusters
# are removed. make is a stand-in, and so is timeout, which has less patience.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MADE=$work/made HANGS=$work/hangs
failures=0

mkdir "$work/path"
cat >"$work/path/make" <<'EOF'
#!/bin/bash
echo "$*" >>"$MADE"
case " $BAD " in *" $1 "*) exit 2 ;; esac
# As the real one: it ends what it started, then itself.
[[ $1 != "$HANG" ]] || {
  trap 'sleep 0.5; echo "$1 is over" >>"$MADE"; exit 2' TERM
  touch "$HANGS"
  sleep 120 &
  wait
}
EOF
cat >"$work/path/timeout" <<'EOF'
#!/bin/bash
limit=600
[[ -z $HANG || $* != *test_on_cluster* ]] || limit=$PATIENCE
exec /usr/bin/timeout "$1" "$limit" "${@:3}"
EOF
chmod +x "$work"/path/*

# ci BAD-TARGETS [HANGING-TARGET [PATIENCE]]: becomes .ci/run, in another folder, which must not matter.
ci() {
  cd /
  BAD=$1 HANG=${2:-} PATIENCE=${3:-90} PATH=$work/path:$PATH HOME=$work exec "$root/.ci/run" 2>"$work/said"
}

table() { tail -n 6 "$work/said" | sed -E 's/ +([0-9]+m)?[0-9]+s$//; s/ +/ /; s/ *$//'; }

# But for what is made beside the cluster tests, sooner or later.
made() { grep -vx build-sanitized "$MADE" | paste -sd,; }

# expect WHAT CODE TABLE MADE: of the run that just ended.
expect() {
  if [[ $code != "$2" || $(table) != "$3"$'\ntotal' || $(made) != "$4" ]]; then
    printf 'FAILED: %s: exit code %s, made %s, said:\n' "$1" "$code" "$(made)"
    cat "$work/said"
    failures=$((failures + 1))
  fi
  rm -f "$MADE" "$HANGS"
}

run() { # run as ci; sets code
  code=0
  (ci "$@") || code=$?
}

readonly REMOVED='cluster-delete NAME=ci,cluster-delete NAME=e2e-other'
readonly EVERYTHING="setup,build,$REMOVED,e2e NAME=ci,$REMOVED,test"

run ''
expect 'all is well' 0 $'setup ok\nbuild ok\ne2e ok\nclean-up ok\ntest ok' "$EVERYTHING"
run setup
expect 'no set-up' 1 $'setup FAILED\nbuild not run\ne2e not run\nclean-up not run\ntest not run' setup
run build
expect 'no build' 1 $'setup ok\nbuild FAILED\ne2e not run\nclean-up not run\ntest not run' setup,build
run build-sanitized
expect 'what comes later cannot be built' 0 $'setup ok\nbuild ok\ne2e ok\nclean-up ok\ntest ok' "$EVERYTHING"
run e2e
expect 'a cluster test fails' 1 $'setup ok\nbuild ok\ne2e FAILED\nclean-up ok\ntest ok' "$EVERYTHING"
run cluster-delete
expect 'a cluster stays' 1 $'setup ok\nbuild ok\ne2e FAILED\nclean-up FAILED\ntest ok' "setup,build,$REMOVED,$REMOVED,test"
run test
expect 'a test fails' 1 $'setup ok\nbuild ok\ne2e ok\nclean-up ok\ntest FAILED' "$EVERYTHING"
run '' e2e 3 # enough for the stand-in to start, on a busy machine too
expect 'a cluster test hangs' 1 $'setup ok\nbuild ok\ne2e over 75m\nclean-up ok\ntest ok' \
  "setup,build,$REMOVED,e2e NAME=ci,e2e is over,$REMOVED,test"

ci '' e2e &
process=$!
for ((i = 0; i < 600; i++)); do
  [[ ! -e $HANGS ]] || break
  sleep 0.1
done
kill -TERM "$process"
code=0 SECONDS=0
wait "$process" || code=$?
expect 'CI ends it' 1 $'setup ok\nbuild ok\ne2e interrupted\nclean-up ok\ntest not run' \
  "setup,build,$REMOVED,e2e NAME=ci,e2e is over,$REMOVED"
((SECONDS < 60)) || { echo "FAILED: it waited for what CI had ended" && failures=$((failures + 1)); }

((failures == 0))
