"""What clients and the API see while a fault is on: requests to a Service's address, and a watch of the Services."""
import http.client
import json
import subprocess
import time

from machine import Background, Failed, run
from verdict import Attempt, Version

INTERVAL = 0.05  # seconds between two requests
TIMEOUT = 1.0  # after which a request has failed


def check_route(address):
    """Refuse to send anything to an address that is not on a bridge of this machine."""
    route = run("ip", "route", "get", address, check=False)
    if " dev br-" not in route and " dev docker" not in route:
        raise Failed(f"{address} is not on a docker network of this machine")


def ask(address, path="/hostname"):
    """Whether the application answers a request over a new connection."""
    connection = http.client.HTTPConnection(address, 80, timeout=TIMEOUT)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class Client(Background):
    """Sends a request after the other, each over a connection of its own."""

    def __init__(self, address, path="/hostname"):
        check_route(address)
        self.address = address
        self.path = path
        self.attempts = []
        super().__init__()

    def work(self):
        while not self.stopping.is_set():
            start = time.monotonic()
            ok = ask(self.address, self.path)
            end = time.monotonic()
            self.attempts.append(Attempt(start, end, ok))
            self.stopping.wait(max(0.0, start + INTERVAL - end))

    def since(self, begin):
        return [attempt for attempt in self.attempts if attempt.end >= begin]

    def answered_for(self, seconds):
        """Whether every request of the last seconds was answered."""
        recent = self.since(time.monotonic() - seconds)
        return bool(recent) and all(attempt.ok for attempt in recent)


def version_of(service, time_seen):
    serving = {one["type"]: one for one in service["status"].get("conditions", [])}.get("LoadBalancerServing", {})
    ingress = service["status"].get("loadBalancer", {}).get("ingress", [])
    return Version(time=time_seen, serving=serving.get("status") == "True", reason=serving.get("reason", ""),
                   address=ingress[0]["ip"] if ingress else "", message=serving.get("message", ""))


class ServiceWatch(Background):
    """Every version of the Services of a namespace, with the time it was seen. Goes on when the API was away."""

    def __init__(self, cluster, namespace):
        self.cluster = cluster
        self.path = f"/api/v1/namespaces/{namespace}/services"
        self.seen = {}  # by name: the versions
        self.last = {}  # by name: the resourceVersion seen last
        self.process = None
        super().__init__()

    def versions(self, name):
        return list(self.seen.get(name, []))

    def latest(self, name):
        return self.seen[name][-1] if self.seen.get(name) else None

    def work(self):
        while not self.stopping.is_set():
            try:
                revision = self._list()
                self._watch(revision)
            except (Failed, ValueError, KeyError):
                pass
            self.stopping.wait(0.2)

    def stop(self):
        self.stopping.set()
        if self.process:
            self.process.kill()
        super().stop()

    def _list(self):
        listed = json.loads(self.cluster.kubectl("get", f"--raw={self.path}", "--request-timeout=5s", timeout=10))
        for service in listed["items"]:
            self._note(service)
        return listed["metadata"]["resourceVersion"]

    def _watch(self, revision):
        command = self.cluster.command("get", f"--raw={self.path}?watch=1&resourceVersion={revision}")
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as self.process:
            for line in self.process.stdout:
                event = json.loads(line)
                if event["type"] in ("ADDED", "MODIFIED"):
                    self._note(event["object"])
                elif event["type"] == "ERROR":
                    break
            self.process.kill()

    def _note(self, service):
        name, revision = service["metadata"]["name"], service["metadata"]["resourceVersion"]
        if self.last.get(name) == revision:
            return
        self.last[name] = revision
        self.seen.setdefault(name, []).append(version_of(service, time.monotonic()))
