"""Two Services on a kind cluster, under traffic: `one`, whose proxy is hurt, and `two`, its neighbour."""
import json
import time

from machine import Failed, Kindlb, Proxies, eventually
from observers import Client, ServiceWatch

NAMESPACE = "faults"
SERVICES = ("one", "two")
QUIET = 2.0  # seconds without a failed request after which all is well
AGNHOST = "registry.k8s.io/e2e-test-images/agnhost:2.63.0"


def pods():
    """One on every worker, so that each node has its share of the traffic."""
    labels = {"app": "web"}
    command = ["/agnhost", "netexec", "--http-port=8080", "--udp-port=-1", "--delay-shutdown=0"]
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "web", "namespace": NAMESPACE},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                "terminationGracePeriodSeconds": 1,
                "containers": [{"name": "web", "image": AGNHOST, "command": command}]}}}}


def service(name, *ports):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"type": "LoadBalancer", "selector": {"app": "web"},
                     "ports": [{"name": f"p{port}", "port": port, "targetPort": 8080} for port in ports or (80,)]}}


class Scene:
    def __init__(self, cluster, engine, program, log, flags):
        self.cluster = cluster
        self.engine = engine
        self.kindlb = Kindlb(program, log, "run", "--log-level", "debug", "--on-exit", "delete", *flags)
        self.watch = None
        self.clients = {}

    def open(self):
        self.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")  # what a run that was cut off left
        self.kindlb.start()
        self.kubectl("create", "namespace", NAMESPACE)
        self.cluster.apply(pods())
        self.kubectl("--namespace", NAMESPACE, "rollout", "status", "daemonset/web")
        self.cluster.apply(*(service(name) for name in SERVICES))
        self.watch = ServiceWatch(self.cluster, NAMESPACE)
        for name in SERVICES:
            eventually(f"Service {name} is served", lambda name=name: self.is_serving(name))
            self.clients[name] = Client(self.address(name))

    def close(self):
        for client in self.clients.values():
            client.stop()
        if self.watch:
            self.watch.stop()
        try:
            self.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")
        finally:
            self.kindlb.stop()

    def kubectl(self, *arguments, **options):
        return self.cluster.kubectl(*arguments, **options)

    def is_serving(self, name):
        latest = self.watch.latest(name)
        return latest is not None and latest.serving and bool(latest.address)

    def address(self, name):
        return self.watch.latest(name).address

    def proxy(self, name="one"):
        return Proxies.holder_of(self.address(name))

    def is_well(self):
        return all(self.is_serving(name) and self.clients[name].answered_for(QUIET) for name in SERVICES)

    def settle(self):
        eventually("every Service is served and answers", self.is_well)

    def pods_ready_since(self, moment):
        """Whether every pod on a node that exists runs a container that was started after that moment."""
        listed = json.loads(self.kubectl("--namespace", NAMESPACE, "get", "pods", "--output", "json", timeout=10))
        states = [state for pod in listed["items"] for state in pod["status"].get("containerStatuses", [])]
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
        return bool(states) and all(state["ready"] and state["state"].get("running", {}).get("startedAt", "") >= stamp
                                    for state in states)

    def messages(self, name):
        """The messages of the Service's conditions, as they are now."""
        conditions = json.loads(self.kubectl("--namespace", NAMESPACE, "get", "service", name, "--output", "json"))
        return " ".join(one.get("message", "") for one in conditions["status"].get("conditions", []))

    def create(self, name):
        self.cluster.apply(service(name))

    def delete(self, *names):
        self.kubectl("--namespace", NAMESPACE, "delete", "service", *names, "--wait=false")

    def exists(self, name):
        return bool(self.kubectl("--namespace", NAMESPACE, "get", "service", name, "--ignore-not-found", "--output=name"))

    def left_behind(self):
        """What is there that belongs to no Service."""
        left = [f"volume {volume}" for volume in Proxies.orphaned_volumes()]
        addresses = [self.address(name) for name in SERVICES]
        if len(set(addresses)) != len(addresses):
            left.append(f"one address for two Services: {addresses[0]}")
        return left


def require(truth, text):
    if not truth:
        raise Failed(text)
