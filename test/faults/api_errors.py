"""The faults that only an API server of our own can have: it answers every request of kindlb with an error."""
import json
import re
import time
import urllib.request
from dataclasses import dataclass

from machine import Cluster, Failed, Kindlb, Proxies, docker, eventually
from observers import Client, ServiceWatch
from scene import QUIET
from verdict import Limits, judge

LISTEN = "127.0.0.1:18479"
HOLD = 30.0  # seconds for which the API answers with errors
RETURN = 15.0
TIMES = 1_000_000
REQUEST_LIMIT = 300  # in HOLD: some ten a second are no storm
KINDS = {"500": "error", "429": "too-many", "409": "conflict"}


@dataclass
class Sandbox:
    cluster: Cluster
    kindlb: Kindlb
    watch: ServiceWatch | None = None
    client: Client | None = None

    def open(self):
        self.kindlb.start(until="The sandbox is up")
        self.cluster.kubectl("create", "service", "loadbalancer", "one", "--tcp=80:8080")
        self.cluster.kubectl("patch", "service", "one", "--patch", '{"spec":{"selector":{"app":"echo"}}}')
        self.watch = ServiceWatch(self.cluster, "default")
        eventually("the Service is served", self.is_serving)
        self.client = Client(self.watch.latest("one").address, "/")

    def close(self):
        for observer in (self.client, self.watch):
            if observer:
                observer.stop()
        self.kindlb.stop()

    def is_serving(self):
        latest = self.watch.latest("one")
        return latest is not None and latest.serving and bool(latest.address)

    def is_well(self):
        return self.is_serving() and self.client.answered_for(QUIET)


def faults_request(method, body=None):
    request = urllib.request.Request(f"http://{LISTEN}/sandbox/faults", method=method,
                                     data=json.dumps(body).encode() if body else None,
                                     headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read()


def failed_requests():
    return sum(TIMES - fault["times"] for fault in json.loads(faults_request("GET"))["faults"])


def measure(sandbox, kind):
    """Take away the proxy while the API answers with errors: the proxy comes back meanwhile, the status afterwards."""
    eventually("the Service answers", sandbox.is_well)
    injected = time.monotonic()
    faults_request("POST", {"kind": kind, "times": TIMES})
    faults_request("POST", {"kind": "drop-watches"})
    docker("rm", "--force", Proxies.holder_of(sandbox.client.address))
    healed_without_api = _until(lambda: sandbox.client.answered_for(QUIET), 10 + QUIET)
    time.sleep(max(0.0, injected + HOLD - time.monotonic()))
    requests = failed_requests()
    faults_request("DELETE")
    ended = time.monotonic()
    _until(sandbox.is_well, RETURN + 10)
    verdict = judge(sandbox.client.attempts, sandbox.watch.versions("one"), injected, ended, time.monotonic(),
                    Limits(heal=RETURN), [(injected, ended)])
    problems = [f"the Service {problem}" for problem in verdict.problems]
    if not healed_without_api:
        problems.append("the proxy did not serve again within 10 s, while the API was away")
    if requests > REQUEST_LIMIT:
        problems.append(f"{requests} requests in {HOLD:.0f} s of errors (limit {REQUEST_LIMIT})")
    if requests == 0:
        problems.append("kindlb made no request: the fault did nothing")
    return verdict, problems


def _until(condition, limit):
    try:
        return eventually("", condition, seconds=limit)
    except Failed:
        return False


def run(table, program, given):
    kubeconfig = given.logs / "sandbox.kubeconfig"
    kindlb = Kindlb(program, given.logs / "sandbox.log", "sandbox", "--listen", LISTEN,
                    "--kubeconfig-out", str(kubeconfig), "--log-level", "debug")
    sandbox = Sandbox(Cluster("sandbox", kubeconfig, given.kubectl), kindlb)
    names = {f"API answers {code} for {HOLD:.0f} s, proxy removed": kind for code, kind in KINDS.items()}
    try:
        sandbox.open()
        for name, kind in names.items():
            if re.search(given.focus, name):
                table.row(name, "own", lambda kind=kind: measure(sandbox, kind))
    except Failed as error:
        table.row("a Service in the sandbox", "own", lambda error=error: (None, [str(error)]))
    finally:
        sandbox.close()
