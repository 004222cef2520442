# Shared by the scripts of this folder: sourced, never run.
# shellcheck shell=bash
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# shellcheck source=scripts/go-programs.sh
. "$(dirname "${BASH_SOURCE[0]}")/../go-programs.sh"

# shellcheck disable=SC2034  # read by the scripts that source this file
readonly HERE=$ROOT/scripts/cluster
readonly CLUSTERS=$CACHE/clusters # a configuration and a kubeconfig for each cluster that was made here
readonly RUNTIME=kindlb-node      # see runtime.sh

# kind_program: the installed kind, or our own.
kind_program() {
  if have kind; then
    command -v kind
  else
    build_programs kind || exit # errexit is off in the command substitutions that call this
    program_path kind
  fi
}

# clusters: the existing ones. If kind cannot list them, that is an error, not an empty list.
# shellcheck disable=SC2154  # kind is that of kind_program
clusters() {
  "$kind" get clusters --quiet || {
    "$kind" get clusters >&2 || true # --quiet hides the reason
    die "kind cannot list the clusters: see above"
  }
}

check_name() { # check_name NAME
  [[ $1 =~ ^[a-z0-9][a-z0-9.-]*$ ]] || die "invalid cluster name '$1': use a-z, 0-9, '.' and '-'"
}

kubeconfig_of() { echo "$CLUSTERS/$1.kubeconfig"; } # kubeconfig_of NAME

has_runtime() { docker info --format '{{range $name, $_ := .Runtimes}}{{$name}} {{end}}' | grep -qw -- "$RUNTIME"; }
