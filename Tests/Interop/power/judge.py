"""Whether a lock kept its promises through a cut of its machine's power: a function of what the key's operator was told,
and of the bolt. It opens no database."""

import dataclasses

# What an operator can be told of a command (docs/OPERATING.md). Each has the fewest and the most openings that go with it.
DONE, ACCEPTED, REFUSED, UNSENT, UNKNOWN = "done", "accepted", "refused", "nothing was sent", "nobody knows"
OPENINGS = {DONE: (1, 1), ACCEPTED: (1, 1), REFUSED: (0, 0), UNSENT: (0, 0), UNKNOWN: (0, 1)}
TAKEN = (DONE, ACCEPTED)


@dataclasses.dataclass(frozen=True)
class Movement:
    """A line of the bolt's journal: `sequence boottime-ns pid intent command movement`."""

    command: str
    kind: str

    @property
    def opens(self):
        return self.kind != "lock"


@dataclasses.dataclass
class History:
    """One life and the next: what was asked of the key, one command behind the other, and what the bolt did for each."""

    # Pairs of what the operator was told and the movements from then on, until something else was asked.
    asked: list
    # Commands that moved the bolt in earlier lives.
    earlier: frozenset = frozenset()
    # What the file system's check had to say, and nothing else; None for a clean one.
    damage: str | None = None


def movements(text):
    """Every whole line of the bolt's journal; the last one may still be on its way."""
    found = []
    for line in text.split("\n")[:-1]:
        fields = line.split(" ")
        found.append(Movement(fields[4], fields[5]))
    return found


def violations(history):
    found = []
    seen = set(history.earlier)
    for number, (told, moved) in enumerate(history.asked, start=1):
        openings = [movement for movement in moved if movement.opens]
        fewest, most = OPENINGS[told]
        if not fewest <= len(openings) <= most:
            found.append(f"command {number} ended as '{told}', and the bolt opened {len(openings)} times")
        for movement in openings:
            if movement.command == "-":
                found.append(f"the bolt opened for nobody behind command {number}")
            elif movement.command in seen:
                found.append(f"command {movement.command} moved the bolt twice")
            seen.add(movement.command)
        if moved and moved[-1].opens:
            found.append(f"the bolt was not locked again behind command {number}")
    if not history.asked or history.asked[-1][0] not in TAKEN:
        found.append("the key's last command was not carried out")
    if history.damage is not None:
        found.append(f"the file system is damaged: {history.damage}")
    return found


def broken_histories():
    """A history that breaks each promise and no other one, and what it is called; first one that breaks none."""
    opened, locked = Movement("0a", "unlock"), Movement("-", "lock")
    last = (DONE, [Movement("0b", "unlock"), locked])
    return [
        ("", History([(DONE, [opened, locked]), last])),
        ("ended as 'done'", History([(DONE, []), last])),
        ("ended as 'refused'", History([(REFUSED, [opened, locked]), last])),
        ("opened 2 times", History([(UNKNOWN, [opened, locked, Movement("0c", "unlock"), locked]), last])),
        ("for nobody", History([(UNKNOWN, [Movement("-", "unlock"), locked]), last])),
        ("moved the bolt twice", History([(DONE, [opened, locked]), last], earlier=frozenset({"0a"}))),
        ("not locked again", History([(DONE, [opened]), last])),
        ("was not carried out", History([(DONE, [opened, locked]), (UNKNOWN, [])])),
        ("file system is damaged", History([last], damage="lost inodes")),
    ]
