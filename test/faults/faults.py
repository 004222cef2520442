"""The faults, each as an operator or an accident causes it, and what may follow from it."""
import contextlib
import os
import signal
import tempfile
import time
from dataclasses import dataclass
from typing import Callable

from machine import Failed, Proxies, docker, eventually, in_network_of, process_of, run
from observers import ask
from scene import require, service
from verdict import Limits

HEAL = 10.0  # seconds for what kindlb and its agents heal by themselves
RETURN = 15.0  # seconds after the API answers and endpoints are ready again

HURT = Limits(heal=HEAL)
UNTOUCHED = Limits(heal=HEAL, serving_stays=True, connections_stay=True)


def nothing(_scene):
    pass


@dataclass(frozen=True)
class Fault:
    name: str
    find: Callable  # in the scene: what to break. The time that it takes is not the fault's
    inject: Callable  # breaks what was found
    limits: Limits = HURT
    end: Callable | None = None  # the fault lasts until this was called, `hold` seconds after it began
    hold: float = 0.0
    prepare: Callable = nothing
    restore: Callable = nothing  # once it was judged: what the next fault needs
    neighbours_hurt: bool = False  # not only the proxy of `one`
    cuts: bool = False  # clients must notice it, or nothing was tested
    silent: bool = False  # while it lasts, nobody can tell


def scene_itself(scene):
    return scene


# --- a proxy


def container(scene):
    return scene.proxy()


def agent(scene):
    return process_of(scene.proxy())


def envoy(scene):
    return Proxies.envoy_of(scene.proxy())


def send(number):
    """A signal to the process that was found."""
    return lambda pid: os.kill(pid, number)


def docker_command(*command):
    """A docker command about the container that was found."""
    return lambda name: docker(*command, name)


def address_inside(scene):
    pid, address = agent(scene), scene.address("one")
    for line in in_network_of(pid, "ip", "-o", "-4", "address").splitlines():
        _, interface, _, local, *_ = line.split()
        if local.startswith(f"{address}/"):
            return pid, local, interface
    raise Failed(f"the proxy does not have {address}")


def delete_address(found):
    pid, local, interface = found
    in_network_of(pid, "ip", "address", "del", local, "dev", interface)


def routes_inside(scene):
    pid = agent(scene)
    routes = [line.split() for line in in_network_of(pid, "ip", "route").splitlines()
              if " via " in line and not line.startswith("default")]
    require(routes, "the proxy has no routes to pods")
    return pid, routes


def delete_routes(found):
    pid, routes = found
    for route in routes:
        in_network_of(pid, "ip", "route", "del", *route[:3], check=False)  # the agent may be faster


def files_and(find):
    """The files of the proxy's volume, and what `find` finds."""
    def both(scene):
        files = [path for path in Proxies.state_files(scene.proxy()).rglob("*") if path.is_file() and not path.is_symlink()]
        require(files, "the proxy's volume has no files")
        return files, find(scene)
    return both


def corrupt_and(then):
    """Overwrite the files, as a bad disk would, and have them read again."""
    def inject(found):
        files, target = found
        for path in files:
            path.write_bytes(os.urandom(64))
        then(target)
    return inject


# --- a full volume


def put_volume_on_tmpfs(scene):
    """Start the proxy again with a volume of 256 kB. Meanwhile kindlb is away, or it would heal that."""
    scene.kindlb.kill()
    proxy = scene.proxy()
    folder = scene.volume = Proxies.state_files(proxy)
    docker("stop", "--time=1", proxy)
    with tempfile.TemporaryDirectory() as files:
        run("cp", "--archive", f"{folder}/.", files)
        run("mount", "-t", "tmpfs", "-o", "size=256k,mode=755", "kindlb-faults", folder)
        run("cp", "--archive", f"{files}/.", folder)
    docker("start", proxy)
    scene.kindlb.start()


def fill_volume(scene):
    with contextlib.suppress(OSError), (scene.volume / "filler").open("wb", buffering=0) as filler:
        while filler.write(bytes(4096)):
            pass
    scene.cluster.apply(service("one", 80, 81))
    eventually("the status says that the volume is full", lambda: "full" in scene.messages("one")
               or "space" in scene.messages("one"), seconds=5)


def free_volume(scene):
    (scene.volume / "filler").unlink()


def leave_tmpfs(scene):
    """The proxy that has it goes first: docker cannot remove a volume with something mounted on it."""
    scene.cluster.apply(service("one", 80))
    run("umount", "--lazy", scene.volume)
    docker("rm", "--force", scene.proxy())


# --- nodes


def worker(scene):
    """The node whose turn it is: the last that runs."""
    workers = scene.cluster.workers()
    require(len(workers) > 1, "this fault needs two worker nodes")
    return workers[-1]


def pods_return(scene):
    eventually("the pods are ready", lambda: scene.pods_ready_since(0), seconds=180)


def start_node(scene):
    moment = time.time()
    docker("start", worker(scene))
    eventually("the node's pod runs again", lambda: _ready_count(scene) == len(scene.cluster.workers()) and time.time() > moment + 5,
               seconds=180)


def unpause_node(scene):
    docker("unpause", worker(scene))
    pods_return(scene)


def _ready_count(scene):
    slices = scene.kubectl("--namespace=faults", "get", "endpointslices", "--selector=kubernetes.io/service-name=one",
                           "--output=jsonpath={.items[*].endpoints[?(@.conditions.ready==true)].nodeName}")
    return len(slices.split())


def forget_node(scene):
    """As an administrator does, once a node has gone for good."""
    nodes = scene.kubectl("get", "nodes", "--output=jsonpath={.items[*].metadata.name}").split()
    for node in set(nodes) - {scene.cluster.control_plane(), *scene.cluster.workers()}:
        scene.kubectl("delete", "node", node)
        # Nobody is left who could confirm that its pods have ended.
        scene.kubectl("delete", "pods", "--all-namespaces", f"--field-selector=spec.nodeName={node}", "--force",
                      "--grace-period=0")


# --- the API server and the engine


def stop_api(scene):
    scene.stopped = scene.cluster.api_server()
    os.kill(scene.stopped, signal.SIGSTOP)


def continue_api(scene):
    os.kill(scene.stopped, signal.SIGCONT)
    eventually("the API answers", scene.cluster.answers)


def freeze_engine(scene):
    os.kill(scene.engine.pid(), signal.SIGSTOP)


def thaw_engine(scene):
    os.kill(scene.engine.pid(), signal.SIGCONT)


def restart_engine(scene):
    scene.moment = time.time()
    nodes = [scene.cluster.control_plane(), *scene.cluster.workers()]
    scene.engine.stop()
    scene.engine.start()
    for node in nodes:
        eventually(f"node {node} runs", lambda node=node: process_of(node) or docker("start", node, check=False), seconds=60)


def cluster_is_back(scene):
    eventually("the API answers", scene.cluster.answers, seconds=180)
    eventually("the pods are ready", lambda: _pods_are_new(scene), seconds=180)


def _pods_are_new(scene):
    try:
        return scene.pods_ready_since(scene.moment) and _ready_count(scene) == len(scene.cluster.workers())
    except Failed:
        return False


# --- kindlb itself

MOMENTS = [0.02 * 1.6**step for step in range(12)]  # seconds, from 20 ms to 3.5 s


def kill_kindlb_at_moments(scene):
    """Kill kindlb ever later while it makes one load balancer and removes another. Each run goes on where the last was cut."""
    for index, moment in enumerate(MOMENTS):
        scene.create(f"k{index}")
        if index:
            scene.delete(f"k{index - 1}")
        time.sleep(moment)
        scene.kindlb.kill()
        scene.kindlb.start()
    last = f"k{len(MOMENTS) - 1}"
    eventually(f"Service {last} is served", lambda: scene.is_serving(last), seconds=HEAL)
    require(ask(scene.address(last)), f"Service {last} is Serving and does not answer")
    scene.delete(last)
    for index in range(len(MOMENTS)):
        eventually(f"Service k{index} is gone", lambda index=index: not scene.exists(f"k{index}"), seconds=HEAL)


PROXY_FAULTS = (
    Fault("Envoy killed", envoy, send(signal.SIGKILL)),
    Fault("Envoy stopped (SIGSTOP)", envoy, send(signal.SIGSTOP), cuts=True),
    Fault("agent killed", agent, send(signal.SIGKILL), cuts=True),
    Fault("agent stopped (SIGSTOP)", agent, send(signal.SIGSTOP)),
    Fault("container killed", container, docker_command("kill"), cuts=True),
    Fault("container stopped", container, docker_command("stop"), cuts=True),
    Fault("container paused", container, docker_command("pause"), cuts=True),
    Fault("container removed", container, docker_command("rm", "--force"), cuts=True),
    Fault("container restarted", container, docker_command("restart", "--time=1"), cuts=True),
    Fault("disconnected from the network", container, docker_command("network", "disconnect", "kind"), cuts=True),
    Fault("Service address deleted inside", address_inside, delete_address),
    Fault("routes deleted inside", routes_inside, delete_routes),
    Fault("files corrupted, Envoy killed", files_and(envoy), corrupt_and(send(signal.SIGKILL))),
    Fault("files corrupted, container restarted", files_and(container), corrupt_and(docker_command("restart", "--time=1")),
          cuts=True),
)
VOLUME_FAULTS = (
    Fault("volume full", scene_itself, fill_volume, prepare=put_volume_on_tmpfs, end=free_volume, hold=3.0,
          restore=leave_tmpfs, limits=Limits(heal=HEAL, connections_stay=True)),
)
NODE_FAULTS = (
    Fault("node paused", worker, docker_command("pause"), limits=Limits(heal=RETURN), restore=unpause_node,
          neighbours_hurt=True),
    Fault("node stopped", worker, docker_command("stop"), limits=Limits(heal=RETURN), restore=start_node,
          neighbours_hurt=True),
)
CLUSTER_FAULTS = (
    Fault("API server stopped for 30 s", scene_itself, stop_api, end=continue_api, hold=30.0, silent=True,
          neighbours_hurt=True, limits=Limits(heal=RETURN, serving_stays=True, connections_stay=True)),
    Fault(f"kindlb killed at {len(MOMENTS)} moments", scene_itself, kill_kindlb_at_moments, silent=True,
          neighbours_hurt=True, limits=UNTOUCHED),
)
ENGINE_FAULTS = (
    Fault("engine frozen for 20 s", scene_itself, freeze_engine, end=thaw_engine, hold=20.0, silent=True,
          neighbours_hurt=True, limits=Limits(heal=RETURN, serving_stays=True, connections_stay=True)),
    Fault("engine restarted", scene_itself, restart_engine, end=cluster_is_back, silent=True, neighbours_hurt=True,
          cuts=True, limits=Limits(heal=RETURN)),
)
LAST_FAULTS = (
    Fault("node removed", worker, docker_command("rm", "--force", "--volumes"), limits=Limits(heal=RETURN),
          restore=forget_node, neighbours_hurt=True),
)

GROUPS = {"proxy": PROXY_FAULTS, "volume": VOLUME_FAULTS, "node": NODE_FAULTS, "cluster": CLUSTER_FAULTS,
          "engine": ENGINE_FAULTS, "removal": LAST_FAULTS}
