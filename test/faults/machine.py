"""The machine under test, as an operator sees it: docker, kubectl, processes and a kindlb that is started and ended."""
import ctypes
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

PATIENCE = 90.0  # seconds until something must have happened that is no part of a measurement


class Failed(Exception):
    """What a fault needs could not be done: the row fails with this text."""


def run(*command, timeout=PATIENCE, check=True, **options):
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout, **options)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{command[0]} {command[1]} did not end within {timeout:.0f} s") from error
    if check and done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise Failed(f"{' '.join(str(word) for word in command[:4])}: {lines[-1]}")
    return done.stdout


def eventually(what, condition, seconds=PATIENCE, interval=0.1):
    """Wait until the condition holds, and return its value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise Failed(f"not within {seconds:.0f} s: {what}")
        time.sleep(interval)
    return value


def docker(*arguments, **options):
    return run("docker", *arguments, **options)


def process_of(container):
    """The process id of a container's first process, or None unless it runs."""
    pid = docker("inspect", "--format", "{{.State.Pid}}", container, check=False).strip()
    return int(pid) if pid.isdigit() and pid != "0" else None


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def in_network_of(pid, *command, **options):
    return run("nsenter", f"--net=/proc/{pid}/ns/net", *command, **options)


class Proxies:
    """kindlb's containers and volumes on this engine."""

    @staticmethod
    def all():
        return docker("ps", "--all", "--quiet", "--no-trunc", "--filter", "label=kindlb.dev/proxy").split()

    @classmethod
    def holder_of(cls, address):
        """The container that has the address now."""
        for container in cls.all():
            pid = process_of(container)
            if pid and f" {address}/" in in_network_of(pid, "ip", "-o", "address", check=False):
                return container
        raise Failed(f"no proxy has the address {address}")

    @staticmethod
    def envoy_of(container):
        """Envoy's process: the agent's child."""
        found = [child for child in children(process_of(container))
                 if "envoy" in pathlib.Path(f"/proc/{child}/comm").read_text()]
        if not found:
            raise Failed("the proxy has no Envoy")
        return found[0]

    @staticmethod
    def volume_of(container):
        return docker("inspect", "--format", '{{index .Config.Labels "kindlb.dev/volume"}}', container).strip()

    @classmethod
    def state_files(cls, container):
        """The folder of the proxy's volume, on this machine."""
        return pathlib.Path(docker("volume", "inspect", "--format", "{{.Mountpoint}}", cls.volume_of(container)).strip())

    @classmethod
    def orphaned_volumes(cls):
        """kindlb's volumes that belong to no container."""
        volumes = docker("volume", "ls", "--quiet", "--filter", "label=kindlb.dev/proxy").split()
        used = {cls.volume_of(container) for container in cls.all()}
        return [volume for volume in volumes if volume not in used]


class Engine:
    """The dockerd of this machine, if it is one that a test may stop: the one that scripts/setup-docker.sh started."""

    PID_FILE = pathlib.Path("/var/run/docker.pid")
    LOG = pathlib.Path("/var/log/kindlb-dockerd.log")

    def __init__(self, root):
        self.root = root

    def why_not(self):
        if os.geteuid() != 0:
            return "needs root"
        if "DOCKER_HOST" in os.environ or not self.LOG.exists() or not self.PID_FILE.exists():
            return "this engine was not started by scripts/setup-docker.sh"
        return None

    def pid(self):
        return int(self.PID_FILE.read_text())

    def stop(self):
        pid = self.pid()
        os.kill(pid, signal.SIGTERM)
        eventually("dockerd ends", lambda: not pathlib.Path(f"/proc/{pid}").exists())

    def start(self):
        run(self.root / "scripts/setup-docker.sh")


class Cluster:
    """A kind cluster, used through kubectl."""

    def __init__(self, name, kubeconfig, kubectl):
        self.name = name
        self.kubeconfig = kubeconfig
        self.kubectl_path = kubectl

    def command(self, *arguments):
        return [str(self.kubectl_path), f"--kubeconfig={self.kubeconfig}", *arguments]

    def kubectl(self, *arguments, **options):
        return run(*self.command(*arguments), **options)

    def apply(self, *objects):
        self.kubectl("apply", "--filename=-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def answers(self):
        try:
            self.kubectl("get", "--raw=/readyz", "--request-timeout=2s", timeout=5)
            return True
        except Failed:
            return False

    def control_plane(self):
        return f"{self.name}-control-plane"

    def workers(self):
        names = docker("ps", "--all", "--format", "{{.Names}}", "--filter", f"label=io.x-k8s.kind.cluster={self.name}",
                       "--filter", "label=io.x-k8s.kind.role=worker").split()
        return sorted(names)

    def api_server(self):
        """The process of kube-apiserver, as this machine sees it."""
        for line in docker("top", self.control_plane(), "-eo", "pid,comm").splitlines():
            if line.split()[1].startswith("kube-apiserver"):
                return int(line.split()[0])
        raise Failed("no kube-apiserver runs in the control plane's node")


class Kindlb:
    """A `kindlb` process with its log in a file."""

    def __init__(self, program, log, *arguments):
        self.command = [str(program), *arguments]
        self.log = pathlib.Path(log)
        self.process = None

    def start(self, until="managing "):
        begin = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            # A session of its own: Ctrl-C must reach it once, by stop(); and it ends when this program does.
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            start_new_session=True, preexec_fn=_end_with_parent)
        eventually(f"kindlb says '{until}' (see {self.log})", lambda: self._said(until, begin))

    def _said(self, text, begin):
        if self.process.poll() is not None:
            raise Failed(f"kindlb exited with code {self.process.returncode}: see {self.log}")
        with self.log.open("rb") as log:
            log.seek(begin)
            return text.encode() in log.read()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed("kindlb did not stop") from None
        self.process = None
        if code != 0:
            raise Failed(f"kindlb exited with code {code}: see {self.log}")


def _end_with_parent():
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)


def burn_for(seconds, count):
    """Keep the machine busy with that many processes; returns when they have ended."""
    burner = f"import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass"
    running = [subprocess.Popen(["python3", "-c", burner], preexec_fn=_end_with_parent) for _ in range(count)]
    for process in running:
        process.wait()


class Background:
    """A thread that runs until it is stopped; subclasses give `work`, which looks at `stopping`."""

    def __init__(self):
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        raise NotImplementedError

    def stop(self):
        self.stopping.set()
        self.thread.join(PATIENCE)
