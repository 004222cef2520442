#!/usr/bin/env bash
# clusters.sh: a second kind cluster comes, goes and comes back under the same name, while kindlb serves it and that of
# $KUBECONFIG. Takes a few minutes: two clusters are made.
# shellcheck source=test/e2e/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly OTHER=e2e-other

# over_there COMMAND...: in the other cluster.
over_there() { KUBECONFIG=$(kubeconfig_of "$OTHER") "$@"; }

make_other() {
  "$HERE/create.sh" "$OTHER" ipv4 0 >/dev/null
  over_there kubectl create namespace "$namespace" >/dev/null
  over_there server web
  over_there service web "$TCP"
  over_there serving web
  over_there answers_tcp "$(over_there address_of web)" 80 || fail "no answer from the other cluster"
}

# The other cluster's proxies, and the volumes that they have.
proxies() { docker ps --all --quiet --filter "name=^kindlb-$OTHER-"; }
volumes_of() { docker inspect --format '{{range .Mounts}}{{.Name}}{{"\n"}}{{end}}' "$@" | grep .; } # volumes_of CONTAINER...

nothing_left() { # nothing_left VOLUME...
  [[ -z $(proxies) ]] && ! docker volume ls --quiet | grep -qxF "$(printf "%s\n" "$@")"
}

# ask ADDRESS: again and again, until the file `stop` is there; prints a line for each request.
ask() {
  until [[ -e $stop ]]; do
    if answers_tcp "$1" 80; then echo answered; else echo lost; fi
    sleep 0.05
  done
}

test_one_of_two_clusters_goes_and_comes_back() {
  local asker proxies volumes
  stop=$(mktemp -u) requests=$(mktemp) # not local: the trap outlives this function
  trap 'touch "$stop"; "$HERE/delete.sh" "$OTHER"; rm -f "$stop" "$requests"' EXIT
  "$HERE/delete.sh" "$OTHER" # what a run that was cut off left
  server web
  service web "$TCP"
  serving web
  make_other
  ask "$(address_of web)" >"$requests" &
  asker=$!
  mapfile -t proxies < <(proxies)
  mapfile -t volumes < <(volumes_of "${proxies[@]}")
  ((${#volumes[@]})) || fail "the other cluster's proxy has no volume"
  "$HERE/delete.sh" "$OTHER"
  eventually nothing_left "${volumes[@]}"
  make_other
  touch "$stop"
  wait "$asker"
  ! grep -q lost "$requests" || fail "$(grep -c lost "$requests") of $(wc -l <"$requests") requests to this cluster were lost"
  (($(wc -l <"$requests") > 10)) || fail "hardly a request was made"
}

run_tests "$@"
