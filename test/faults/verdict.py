"""What a fault did, judged from what clients and a watch of the Service saw. Pure: no clock, no network."""
from dataclasses import dataclass, field

LIE_LIMIT = 5.0  # seconds for which a status may say Serving while clients are cut
WRITE_LIMIT = 12  # versions of one Service's status per fault


@dataclass(frozen=True)
class Attempt:
    """A request: when it was sent, when it ended, and whether the application answered."""

    start: float
    end: float
    ok: bool


@dataclass(frozen=True)
class Version:
    """A Service as a watch showed it, at that time."""

    time: float
    serving: bool
    reason: str
    address: str
    message: str = ""


@dataclass(frozen=True)
class Limits:
    heal: float  # seconds from the fault's end until clients are answered and the status says so
    serving_stays: bool = False  # nothing was wrong with the load balancer: the status may not change
    connections_stay: bool = False  # no client may notice


@dataclass
class Verdict:
    cut: float | None = None  # seconds from the fault to the first request that failed; None: none did
    lost: int = 0  # requests that failed
    told: float | None = None  # seconds from the first failed request to a status that says so
    healed: float | None = None  # seconds from the fault's end; None: not healed
    writes: int = 0
    problems: list[str] = field(default_factory=list)


def outages(attempts, since):
    """Intervals without an answer: from the start of a request that failed to that of the next one that did not."""
    result, begun = [], None
    for attempt in sorted(attempts, key=lambda one: one.start):
        if attempt.end < since:
            continue
        if not attempt.ok and begun is None:
            begun = max(attempt.start, since)
        if attempt.ok and begun is not None:
            result.append((begun, attempt.start))
            begun = None
    return result + ([(begun, float("inf"))] if begun is not None else [])


def periods(versions, serving):
    """Intervals in which the status said so. The first version counts from the beginning of time."""
    result = []
    ordered = sorted(versions, key=lambda one: one.time)
    for index, version in enumerate(ordered):
        start = version.time if index else float("-inf")
        end = ordered[index + 1].time if index + 1 < len(ordered) else float("inf")
        if version.serving == serving:
            if result and result[-1][1] == start:
                start = result.pop()[0]
            result.append((start, end))
    return result


def longest_lie(cuts, claims, until):
    """The longest time for which the status said Serving while clients were cut."""
    overlaps = [min(cut[1], claim[1], until) - max(cut[0], claim[0]) for cut in cuts for claim in claims]
    return max([0.0, *overlaps])


def judge(attempts, versions, injected, ended, now, limits, silent=()):
    """Judge one Service. `silent`: intervals in which nobody could have told (kindlb or the API was away)."""
    verdict = Verdict()
    cuts = outages(attempts, injected)
    recent = [one for one in versions if one.time >= injected]
    verdict.lost = sum(1 for one in attempts if not one.ok and one.end >= injected)
    verdict.writes = len(recent)
    if cuts:
        verdict.cut = cuts[0][0] - injected
        told = [one.time for one in recent if not one.serving]
        verdict.told = max(0.0, told[0] - cuts[0][0]) if told else None
    verdict.healed = _healed(cuts, versions, ended)
    verdict.problems = _problems(verdict, cuts, versions, recent, now, limits, silent)
    return verdict


def _healed(cuts, versions, ended):
    refused = periods(versions, False)
    last = max([ended] + [end for _, end in cuts] + [end for _, end in refused])
    return None if last == float("inf") else last - ended


def _problems(verdict, cuts, versions, recent, now, limits, silent):
    problems = []
    told_cuts = [piece for cut in cuts for piece in _without(cut, silent)]
    lie = longest_lie(told_cuts, periods(versions, True), now)
    if lie > LIE_LIMIT:
        problems.append(f"said Serving for {lie:.1f} s while clients were cut (limit {LIE_LIMIT:.0f} s)")
    if verdict.healed is None:
        problems.append("did not serve again: " + (versions[-1].message if versions else "no status"))
    elif verdict.healed > limits.heal:
        problems.append(f"served again after {verdict.healed:.1f} s (limit {limits.heal:.0f} s)")
    addresses = {one.address for one in versions if one.address}
    if len(addresses) != 1 or not versions[-1].address:
        problems.append("changed its address: " + (", ".join(sorted(addresses)) or "none"))
    if verdict.writes > WRITE_LIMIT:
        problems.append(f"was written {verdict.writes} times (limit {WRITE_LIMIT})")
    if limits.serving_stays and any(not one.serving for one in recent):
        problems.append("was not Serving, although nothing was wrong with the load balancer")
    if limits.connections_stay and cuts:
        problems.append(f"lost {verdict.lost} requests, although its proxy had no fault")
    return problems


def _without(interval, holes):
    """The parts of an interval outside of the holes."""
    parts = [interval]
    for begin, end in holes:
        parts = [piece for start, stop in parts for piece in ((start, min(stop, begin)), (max(start, end), stop))
                 if piece[0] < piece[1]]
    return parts
