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
    build_programs kind || exit # where this is called from, nobody else would notice
    program_path kind
  fi
}

# clusters: those that there are. Not to know them is not to have none.
# shellcheck disable=SC2154  # kind is that of kind_program
clusters() {
  "$kind" get clusters --quiet || {
    "$kind" get clusters >&2 || true # quietly, it does not say why
    die "kind cannot tell which clusters there are: see above"
  }
}

check_name() { # check_name NAME
  [[ $1 =~ ^[a-z0-9][a-z0-9.-]*$ ]] || die "'$1' cannot be a cluster's name: use a-z, 0-9, '.' and '-'"
}

kubeconfig_of() { echo "$CLUSTERS/$1.kubeconfig"; } # kubeconfig_of NAME

has_runtime() { docker info --format '{{range $name, $_ := .Runtimes}}{{$name}} {{end}}' | grep -qw -- "$RUNTIME"; }
