"""Whether a strike kept its promises: a function of what its line did, by the chip's own log, and of what was asked for. It believes
neither the keeper nor the lock."""

import dataclasses

# How much longer than asked a pulse may be, and how long behind what asked for it one may begin.
LATENESS_MS = 100
ANSWER_MS = 20_000


@dataclasses.dataclass(frozen=True)
class Pulse:
    """From when to when the line released the door, in milliseconds; None while it still does."""

    begin: float
    end: float | None

    @property
    def width(self):
        return None if self.end is None else self.end - self.begin


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

    @property
    def is_kept(self):
        return not (self.left_on or self.too_long or self.ungranted)


def judge(found, grants, asked_ms, openings_for_each=1):
    """`found`: pulses. `grants`: when something asked for an opening, in milliseconds. Each is good for so many pulses, within its time."""
    verdict = Verdict(pulses=len(found))
    left = sorted(at for at in grants for _ in range(openings_for_each))
    for pulse in found:
        if pulse.end is None:
            verdict.left_on += 1
        else:
            over = pulse.width - asked_ms
            if verdict.longest_over_ms is None or over > verdict.longest_over_ms:
                verdict.longest_over_ms = over
            if over > LATENESS_MS:
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
