# What the end-to-end tests have in common: sourced, never run. A test is a function test_WHAT that runs in a shell of its
# own with a namespace of its own, and fails by its exit code; `skip WHY` ends it without a verdict.
# shellcheck shell=bash
# shellcheck source=scripts/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/cluster/lib.sh"

readonly PATIENCE=90 # seconds until something must have happened, on a machine that is busy
readonly SKIPPED=77

kubectl() { command "$KUBECTL" --namespace "$namespace" "$@"; }
apply() { kubectl apply "--validate=${validate:-strict}" --filename - >/dev/null; } # apply <MANIFEST
skip() {
  echo "skipped: $*"
  exit "$SKIPPED"
}

fail() {
  echo "failed: $*" >&2
  kubectl get services --output yaml >&2
  exit 1
}

# eventually COMMAND...: until it succeeds.
eventually() {
  local until=$((SECONDS + PATIENCE))
  until "$@"; do
    ((SECONDS < until)) || fail "not within $PATIENCE seconds: $*"
    sleep 0.2
  done
}

# never COMMAND...: it must not succeed in a few tries. Only after something that it would have to follow.
never() {
  local i
  for ((i = 0; i < 5; i++)); do
    ! "$@" || fail "must not happen: $*"
    sleep 0.2
  done
}

# server NAME: pods that answer on port 8080 of TCP and UDP. Of the image that the tests of Kubernetes use.
server() {
  kubectl create deployment "$1" --image "$AGNHOST" --replicas 2 -- \
    /agnhost netexec --http-port=8080 --udp-port=8080 --delay-shutdown=0 >/dev/null
  kubectl rollout status deployment "$1" --timeout "${PATIENCE}s" >/dev/null
}

# service NAME [LINE...]: a Service of type LoadBalancer for the pods of `server web`, with these lines in its spec.
service() {
  local name=$1
  shift
  {
    printf 'apiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec:\n  type: LoadBalancer\n  selector: {app: web}\n' "$name"
    printf '  %s\n' "$@"
  } | apply
}

# shellcheck disable=SC2034
readonly TCP='ports: [{port: 80, targetPort: 8080}]'
# shellcheck disable=SC2034
readonly UDP='ports: [{port: 80, targetPort: 8080, protocol: UDP}]'

of_service() { kubectl get service "$1" --output "jsonpath=$2"; } # of_service NAME PATH

# status_of NAME TYPE: a condition as "True Reason", nothing if it is not there.
status_of() { of_service "$1" "{.status.conditions[?(@.type=='LoadBalancer$2')]['status','reason']}"; }
has_status() { [[ $(status_of "$1" "$2") == "$3" ]]; } # has_status NAME TYPE STATUS
serving() { eventually has_status "$1" Serving 'True Serving'; }

# address_of NAME [INDEX]: checked to be of the docker network, since tests send there.
address_of() {
  local address
  address=$(of_service "$1" "{.status.loadBalancer.ingress[${2:-0}].ip}")
  [[ $(ip route get "$address" 2>/dev/null) == *' dev br-'* ]] || fail "$1 has no address of the docker network: '$address'"
  echo "$address"
}

in_url() { if [[ $1 == *:* ]]; then echo "[$1]"; else echo "$1"; fi; }

# answers_tcp ADDRESS PORT, answers_udp ADDRESS PORT: a pod's name comes back.
answers_tcp() { [[ $(curl --silent --max-time 10 "http://$(in_url "$1"):$2/hostname") == web-* ]]; }
answers_udp() {
  python3 - "$1" "$2" <<'EOF'
import socket, sys
host, port = sys.argv[1], int(sys.argv[2])
with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as client:
    client.settimeout(3)
    client.connect((host, port))
    try:
        client.send(b"hostname")
        sys.exit(0 if client.recv(512).startswith(b"web-") else 1)
    except OSError:
        sys.exit(1)
EOF
}

# run_one TEST: sets result and seconds.
run_one() {
  local status=0 started=$SECONDS
  namespace=e2e-${1//_/-}
  # Not `test || ...`: that would switch off errexit inside the test.
  set +e
  (
    set -e
    # What a run that was cut off left there.
    command "$KUBECTL" delete namespace "$namespace" --ignore-not-found --timeout "${PATIENCE}s" >/dev/null
    command "$KUBECTL" create namespace "$namespace" >/dev/null
    "$1"
  ) >"$log" 2>&1
  status=$?
  set -e
  command "$KUBECTL" delete namespace "$namespace" --ignore-not-found --wait=false >/dev/null || true
  case $status in
    0) result=passed ;;
    "$SKIPPED") result=skipped ;;
    *) result=failed ;;
  esac
  seconds=$((SECONDS - started))
}

# run_tests [REGEX]: every function test_* of the file whose name matches, and a line for each.
run_tests() {
  local test failures=0 result seconds log
  log=$(mktemp)
  while read -r test; do
    run_one "$test"
    printf '%-8s %5s %s%s\n' "$result" "$seconds" "${test//_/ }" "$([[ $result != skipped ]] || sed 's/.*: /  (/; s/$/)/' "$log")"
    [[ $result != failed ]] || {
      failures=$((failures + 1))
      sed 's/^/    /' "$log"
    }
  done < <(declare -F | sed -n 's/^declare -f \(test_.*\)/\1/p' | grep -E -- "${1:-.}")
  rm -f "$log"
  ((failures == 0))
}

[[ -n ${KUBECONFIG:-} ]] || die "KUBECONFIG is not set: 'make cluster' prints the command"
KUBECTL=$(program_path kubectl)
readonly KUBECTL
readonly AGNHOST=${AGNHOST:-registry.k8s.io/e2e-test-images/agnhost:2.63.0}
