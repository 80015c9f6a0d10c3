"""Whether a strike kept its promises: a function of what its line did, by the chip's own log, and of what was asked for. It believes
neither the keeper nor the lock."""

import dataclasses

# How much longer than asked a pulse may be, and how long behind what asked for it one may begin.
LATENESS_MS = 100
ANSWER_MS = 20_000
# How much slower than at its slowest look at the chip a keeper may come to its first act.
START_FACTOR = 2
# A file's time is that of the kernel's last tick.
TICK_MS = 10


@dataclasses.dataclass(frozen=True)
class Pulse:
    """From when to when the line released the door, in milliseconds; None while it still does."""

    begin: float
    end: float | None

    @property
    def width(self):
        return None if self.end is None else self.end - self.begin


@dataclasses.dataclass(frozen=True)
class Restart:
    """A keeper was killed, the next one began, and had its socket: none of it by the line's own log, which is what is judged."""

    kill: float
    start: float
    socket: float


def pulses(log, line=0):
    """Of the chip's log, `NS line N drives V`. An unplugged chip drives nothing."""
    found, begin = [], None
    for entry in log.splitlines():
        words = entry.split()
        if len(words) < 2:
            continue
        at = int(words[0]) / 1e6
        if words[1:] == ["line", str(line), "drives", "1"] and begin is None:
            begin = at
        off = words[1:] in (["line", str(line), "drives", "0"], ["line", str(line), "floats"], ["unplugged"])
        if off and begin is not None:
            found.append(Pulse(begin, at))
            begin = None
    if begin is not None:
        found.append(Pulse(begin, None))
    return found


@dataclasses.dataclass
class Verdict:
    pulses: int = 0
    left_on: int = 0
    too_long: list = dataclasses.field(default_factory=list)
    ungranted: int = 0
    longest_over_ms: float | None = None
    # From the kill to the line's rest, and what of it was later than a start takes or than the keeper's socket.
    restarts_ms: list = dataclasses.field(default_factory=list)
    late_rests: list = dataclasses.field(default_factory=list)

    @property
    def is_kept(self):
        return not (self.left_on or self.too_long or self.ungranted or self.late_rests)


def judge(found, grants, asked_ms, openings_for_each=1, restarts=(), looks_ms=()):
    """`found`: pulses. `grants`: when something asked for an opening, in milliseconds. Each is good for so many pulses, within its time.
    `restarts`: of the keeper, in pulses and between them. `looks_ms`: how long the same program took meanwhile to start, read its
    configuration and find the chip, which is nearly all that a keeper does before its first act.

    A keeper's restart ends a pulse. However slow the machine is, the line's rest comes before the keeper's socket, and no later behind
    the start of its process than a few looks take; a pulse that is longer than asked by that is no fault. How long it takes from the
    kill to that start is not the program's affair, and is told."""
    start_ms = START_FACTOR * max(looks_ms, default=0) + LATENESS_MS
    verdict = Verdict(pulses=len(found))
    left = sorted(at for at in grants for _ in range(openings_for_each))
    for pulse in found:
        if pulse.end is None:
            verdict.left_on += 1
        else:
            over = pulse.width - asked_ms
            if verdict.longest_over_ms is None or over > verdict.longest_over_ms:
                verdict.longest_over_ms = over
            restart = next((restart for restart in restarts if pulse.begin <= restart.kill <= pulse.end), None)
            if restart is not None:
                verdict.restarts_ms.append(round(pulse.end - restart.kill, 1))
                if pulse.end > min(restart.start + start_ms, restart.socket + TICK_MS):
                    verdict.late_rests.append(round(pulse.end - restart.start, 1))
            latest = max(pulse.begin + asked_ms, restart.start + start_ms - LATENESS_MS if restart else 0)
            if pulse.end > latest + LATENESS_MS:
                verdict.too_long.append(round(over, 1))
        grant = next((at for at in left if at <= pulse.begin <= at + ANSWER_MS), None)
        if grant is None:
            verdict.ungranted += 1
        else:
            left.remove(grant)
    return verdict


def check_judge():
    """A history for each promise that it breaks: a judge that finds nothing is none."""
    log = "\n".join(
        [
            "1000000000 plugged",
            "1000000000 line 0 drives 0",
            "2000000000 line 0 drives 1",
            "2500000000 line 0 drives 0",
            "2500000001 line 3 drives 1",
            "4000000000 line 0 drives 1",
        ]
    )
    whole = pulses(log + "\n4600000000 unplugged")
    assert whole == [Pulse(2000, 2500), Pulse(4000, 4600)], whole
    assert judge(whole, [1990, 3990], 500).is_kept
    assert judge(whole, [1990, 3990], 499).too_long == [101]
    assert judge(whole, [1990], 500).ungranted == 1
    assert judge(whole, [1990, 4001], 500).ungranted == 1
    assert judge(whole, [1990 - ANSWER_MS - 1, 3990], 500).ungranted == 1
    assert judge(whole, [1990], 500, openings_for_each=2).is_kept
    assert judge(pulses(log), [1990, 3990], 500).left_on == 1
    assert judge([], [], 500).is_kept
    # A keeper that is killed at 2300 and begins at 2400; looks take 50 ms.
    restart, late = Restart(2300, 2400, 2560), Restart(2300, 2400, 2900)
    for end, kept in ((2480, True), (2570, True), (2571, False)):
        verdict = judge([Pulse(2000, end)], [1990], 1000, restarts=[restart], looks_ms=[50, 40])
        assert verdict.is_kept == kept and verdict.restarts_ms == [end - 2300], verdict
    assert judge([Pulse(2000, 2600)], [1990], 1000, restarts=[late], looks_ms=[50]).is_kept
    assert judge([Pulse(2000, 2601)], [1990], 1000, restarts=[late], looks_ms=[50]).late_rests == [201]
    # A pulse that ends with the restart may be longer than asked by that, and by no more.
    assert judge([Pulse(2000, 2600)], [1990], 400, restarts=[late], looks_ms=[50]).is_kept
    assert judge([Pulse(2000, 2601)], [1990], 400, restarts=[late], looks_ms=[50]).too_long == [201]
    assert judge([Pulse(2000, 2600)], [1990], 400, restarts=[Restart(2601, 2602, 2603)]).too_long == [200]
