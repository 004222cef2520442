#!/usr/bin/env python3
"""Cause faults on a real kind cluster under traffic, measure what clients and the status show, and judge it.

A row per fault: `cut`, seconds from the fault to the first request that failed; `told`, seconds from there to a status that
says so; `healed`, seconds from the fault's end until clients are answered and the status says so; `lost`, requests that
failed; `writes`, of the Service. Exits with 1 if a limit is broken. scripts/faults.sh prepares what it needs.
"""
import argparse
import pathlib
import re
import signal
import sys
import time

import api_errors
from faults import GROUPS, UNTOUCHED
from machine import Cluster, Engine, Failed, Proxies, burn_for, eventually
from scene import SERVICES, Scene
from verdict import LIE_LIMIT, Limits, judge

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = {"own": ["--services-per-proxy", "1"], "shared": ["--services-per-proxy", "0"]}
BURNERS = 20
ALL_GROUPS = [*GROUPS, "api-errors", "busy"]
COLUMNS = "{:<38} {:<7} {:>6} {:>6} {:>7} {:>6} {:>7}  {}"


class Table:
    """Printed row by row, as the faults are judged."""

    def __init__(self):
        self.passed = self.failed = 0
        print(COLUMNS.format("fault", "proxies", "cut", "told", "healed", "lost", "writes", ""), flush=True)

    def row(self, name, proxies, measured):
        """`measured()` returns the verdict, or None where there is nothing to measure, and every problem."""
        try:
            verdict, problems = measured()
        except (Failed, OSError) as error:  # OSError: of a process that has gone meanwhile, for example
            verdict, problems = None, [str(error)]
        self.passed, self.failed = self.passed + (not problems), self.failed + bool(problems)
        figures = ([seconds(verdict.cut), seconds(verdict.told), seconds(verdict.healed), verdict.lost, verdict.writes]
                   if verdict else [""] * 5)
        print(COLUMNS.format(name, proxies, *figures, "FAILED" if problems else "ok"), flush=True)
        for problem in problems:
            print(f"    {problem}", flush=True)


def seconds(value):
    return "-" if value is None else f"{value:.1f}"


def limits_for(fault, name, proxies):
    """With a proxy each, the fault of one is nothing to the other."""
    return fault.limits if name == "one" or proxies == "shared" or fault.neighbours_hurt else UNTOUCHED


def await_recovery(scene, limit):
    """Until all is well, or it is clear that it will not be in time. A fault may take a moment to show."""
    time.sleep(LIE_LIMIT + 1)
    deadline = time.monotonic() + limit + 10
    while not scene.is_well() and time.monotonic() < deadline:
        time.sleep(0.1)


def cause(fault, target, scene):
    """Cause the fault, and end it if it lasts: also when this program is interrupted meanwhile."""
    try:
        fault.inject(target)
        time.sleep(fault.hold)
    finally:
        if fault.end:
            fault.end(scene)


def measure(scene, fault, proxies):
    """The verdict on `one`, and every problem. What the fault needed is undone, also after an interruption."""
    try:
        fault.prepare(scene)
        return observe(scene, fault, proxies)
    finally:
        fault.restore(scene)


def observe(scene, fault, proxies):
    scene.settle()
    target = fault.find(scene)
    injected = time.monotonic()
    cause(fault, target, scene)
    ended = time.monotonic()
    await_recovery(scene, fault.limits.heal)
    now = time.monotonic()
    silent = [(injected, ended)] if fault.silent else []
    verdicts = {name: judge(scene.clients[name].attempts, scene.watch.versions(name), injected, ended, now,
                            limits_for(fault, name, proxies), silent) for name in SERVICES}
    problems = [f"Service {name} {problem}" for name in SERVICES for problem in verdicts[name].problems]
    if fault.cuts and verdicts["one"].cut is None:
        problems.append("no client noticed: the fault did nothing")
    return verdicts["one"], problems + left_behind(scene)


def left_behind(scene):
    try:
        eventually("", lambda: not scene.left_behind(), seconds=10)
        return []
    except Failed:
        return [f"left behind: {what}" for what in scene.left_behind()]


def no_false_alarm(scene, duration):
    """A busy machine is no fault: nothing is replaced and nothing is written."""
    envoys = {container: Proxies.envoy_of(container) for container in Proxies.all()}
    scene.settle()
    begin = time.monotonic()
    burn_for(duration, BURNERS)
    now = time.monotonic()
    problems = [f"Service {name} was written {count} times" for name in SERVICES
                if (count := sum(version.time > begin for version in scene.watch.versions(name)))]
    if {container: Proxies.envoy_of(container) for container in Proxies.all()} != envoys:
        problems.append("an Envoy or a container was replaced")
    verdict = judge(scene.clients["one"].attempts, scene.watch.versions("one"), begin, now, now, Limits(heal=10))
    return verdict, problems


def run_scene(table, scene, proxies, faults, busy_seconds):
    try:
        scene.open()
        for fault in faults:
            table.row(fault.name, proxies, lambda fault=fault: measure(scene, fault, proxies))
        if busy_seconds:
            name = f"no fault: {busy_seconds / 60:.0f} minutes at a load of {BURNERS}"
            table.row(name, proxies, lambda: no_false_alarm(scene, busy_seconds))
    except Failed as error:
        table.row("two Services under traffic", proxies, lambda error=error: (None, [str(error)]))
    finally:
        table.row("nothing is left at the end", proxies, lambda: close(scene))


def close(scene):
    scene.close()
    return None, [f"left behind: {what}" for what in Proxies.all() + Proxies.orphaned_volumes()]


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cluster", required=True, help="the kind cluster's name")
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--kubectl", required=True)
    parser.add_argument("--logs", required=True, type=pathlib.Path, help="a folder for kindlb's logs")
    parser.add_argument("--proxies", nargs="+", choices=FLAGS, default=list(FLAGS))
    parser.add_argument("--groups", nargs="+", choices=ALL_GROUPS, default=ALL_GROUPS)
    parser.add_argument("--focus", default=".", help="only the faults whose names match")
    parser.add_argument("--busy-minutes", type=float, default=10.0, help="how long nothing may happen on a busy machine")
    return parser.parse_args()


def selected(given, engine):
    faults = [fault for group in given.groups if group in GROUPS for fault in GROUPS[group]]
    if engine.why_not() and "engine" in given.groups:
        print(f"not run: the faults of the engine: {engine.why_not()}")
        faults = [fault for fault in faults if fault not in GROUPS["engine"]]
    return [fault for fault in faults if re.search(given.focus, fault.name)]


def main():
    given = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    engine = Engine(ROOT)
    cluster = Cluster(given.cluster, given.kubeconfig, given.kubectl)
    faults = selected(given, engine)
    table = Table()
    for proxies in given.proxies:
        scene = Scene(cluster, engine, ROOT / "bin/kindlb", given.logs / f"kindlb-{proxies}.log", FLAGS[proxies])
        # With a proxy each, because then there are more of them.
        busy_seconds = given.busy_minutes * 60 if proxies == "own" and "busy" in given.groups else 0
        if faults or busy_seconds:
            run_scene(table, scene, proxies, faults, busy_seconds)
    if "api-errors" in given.groups:
        api_errors.run(table, ROOT / "bin/kindlb", given)
    print(f"{table.passed} passed, {table.failed} failed")
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
