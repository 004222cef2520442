# Stages of a long run, such as .ci/run: each has a time limit and a line in the table at the end. Sourced after lib.sh,
# never run. The caller lists the names in STAGES, in the order of the table, and calls run_stages with its main function.
# shellcheck shell=bash

declare -A result=() took=() started=() limit=()
declare -A running=() # by the process id of its `timeout`: the name of the stage
declare -A log=()     # of stages that run in the background: what they print is held back until they end
logs=''               # the directory of these

# begin NAME LIMIT COMMAND...: start a stage. At its limit, the command ends with everything that it started.
begin() {
  say "=== $1"
  result[$1]=interrupted started[$1]=$SECONDS limit[$1]=$2
  # Always in the background: a shell that waits for such a process can be interrupted.
  timeout --kill-after=2m "${@:2}" &
  running[$!]=$1
}

# begin_quietly NAME LIMIT COMMAND...: the same beside another stage: its output follows when it has ended.
begin_quietly() {
  log[$1]=$logs/$1
  say "=== $1, in the background"
  begin "$@" >"${log[$1]}" 2>&1
}

record() { # record NAME STATUS
  took[$1]=$(duration $((SECONDS - started[$1])))
  case $2 in
    0) result[$1]=ok ;;
    124 | 137) result[$1]="over ${limit[$1]}" ;;
    *) result[$1]=FAILED ;;
  esac
}

show_log() { [[ -z ${log[$1]:-} ]] || cat "${log[$1]}" >&2; } # show_log NAME

# await [NAME]: until that stage, or every stage, has ended. Fails if one that ended meanwhile did.
await() {
  local process name status all=0
  while ((${#running[@]})) && { [[ -z ${1:-} ]] || [[ " ${running[*]} " == *" $1 "* ]]; }; do
    status=0
    wait -n -p process "${!running[@]}" || status=$?
    name=${running[$process]}
    unset "running[$process]"
    record "$name" "$status"
    show_log "$name"
    ((status == 0)) || all=1
  done
  return "$all"
}

stage() { # stage NAME LIMIT COMMAND...
  begin "$@"
  await "$1"
  [[ ${result[$1]} == ok ]]
}

report() { # fails unless every stage is ok
  local name status=0
  printf '\n' >&2
  for name in "${STAGES[@]}"; do
    [[ ${result[$name]:=not run} == ok ]] || status=1
    printf '%-16s %-12s %8s\n' "$name" "${result[$name]}" "${took[$name]:-}" >&2
  done
  printf '%-16s %-12s %8s\n' total '' "$(duration "$SECONDS")" >&2
  return "$status"
}

# However the run ends: nothing is left running, the clusters are removed, and the table is printed.
finish() {
  local process status=0
  trap '' INT TERM HUP
  for process in "${!running[@]}"; do kill "$process" || true; done # `timeout` passes it on to all that it started
  for process in "${!running[@]}"; do
    wait "$process" || true
    show_log "${running[$process]}"
  done
  running=()
  [[ -z $clusters_used ]] || clean_up || true
  rm -rf "$logs"
  report || status=1
  exit "$status"
}

run_stages() { # run_stages FUNCTION
  logs=$(mktemp -d)
  trap finish EXIT
  trap exit INT TERM HUP
  "$1"
}

# The kind clusters of a run, which the caller lists in CLUSTERS: made anew, since a killed run may have left half of one,
# and removed at the end.
clusters_used=''

delete_clusters() { # delete_clusters NAME...
  local name status=0
  for name; do make cluster-delete NAME="$name" || status=1; done
  return "$status"
}

# test_on_cluster NAME CLUSTER...: the cluster tests (PARTS of them, if set) on a new cluster, with none of the others there.
test_on_cluster() {
  local parts
  read -ra parts <<<"${PARTS:-}"
  delete_clusters "${@:2}" || return
  # Not `make e2e`: kindlb is built, and ninja must not run twice at a time in one build directory.
  NAME=$1 exec scripts/e2e.sh "${parts[@]}"
}
export -f delete_clusters test_on_cluster

begin_cluster_tests() { # begin_cluster_tests STAGE LIMIT CLUSTER
  clusters_used=yes
  # shellcheck disable=SC2016  # for the inner shell to expand
  begin "$1" "$2" bash -c 'test_on_cluster "$@"' - "$3" "${CLUSTERS[@]}"
}

clean_up() {
  local status=0
  # shellcheck disable=SC2016  # for the inner shell to expand
  stage clean-up 5m bash -c 'delete_clusters "$@"' - "${CLUSTERS[@]}" || status=$?
  clusters_used=''
  return "$status"
}
