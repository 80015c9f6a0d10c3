"""`latch central` inside the machine, as one of its users runs it."""

import json

from support.processes import DEADLINE_SECONDS
from support.steps import check_equal

USER = "/usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs"
# On the radio, in the order in which they come: the machine when somebody has connected with its shell, with two adapters.
LOCK, MACHINE, LATER = 1, 3, 5
WAIT = str(int(DEADLINE_SECONDS))
# Nothing moves but what a step asks for; a challenge outlives the slowness of an emulated machine.
LOCK_SETTINGS = "[lock]\nrelock_seconds = 0\nchallenge_life_ms = 25500\n"


class Companion:
    """`latch central` inside: as user 1000, or, where it takes the adapter whole, as root."""

    def __init__(self, machine, program, name="companion", transport="bluez"):
        self._machine = machine
        self._program = program
        self._transport = transport
        self._user, owner = (USER, 1000) if transport == "bluez" else ("", 0)
        self.state = f"/run/{name}"
        machine.run(f"mkdir -m 0700 -p {self.state} && chown {owner}:{owner} {self.state}")
        self._lives = 0

    def words(self, verb):
        return f"{self._user} {self._program} central {verb} --state {self.state} --json"

    @property
    def log(self):
        return f"{self.state}.{self._lives}.log"

    def start(self, settings=None):
        """`settings`: the configuration's text."""
        self._lives += 1
        words = f"{self.words('run')} --transport {self._transport}"
        if settings is not None:
            self._machine.write(f"{self.state}.conf", settings)
            words += f" --config {self.state}.conf"
        self._machine.run(f"{words} >/dev/null 2>{self.log} & echo $! >/run/companion.pid")

    def says(self, wanted, times=1):
        """So often at least in this life."""
        self._machine.until(f"[ $(grep -c '{wanted}' {self.log}) -ge {times} ]", f"the key says {wanted}, {times} times")

    def times_said(self, wanted):
        return int(self._machine.run(f"grep -c '{wanted}' {self.log} || true"))

    def kill(self):
        self._machine.run("kill -KILL $(cat /run/companion.pid)")
        self._machine.until("! kill -0 $(cat /run/companion.pid) 2>/dev/null", "the key ends")

    def ask(self, verb, text=None, expect=0):
        """The last line of what it answered."""
        words = f"{self.words(verb)}" if text is None else f"echo {text} | {self.words(verb)}"
        said = self._machine.run(words, expect=expect, seconds=3 * DEADLINE_SECONDS)
        return json.loads([line for line in said.splitlines() if line.startswith("{")][-1])

    def begin(self, verb):
        """Its answer is nobody's."""
        self._machine.run(f"{self.words(verb)} >/dev/null 2>&1 &")

    def begin_and_keep(self, verb):
        """What is asked for so is on the disk."""
        asked = '"message":"asked"'
        before = self.times_said(asked)
        self.begin(verb)
        self.says(asked, before + 1)

    def opens(self):
        """A command of an earlier life may be on its way still: then it is asked for again."""
        answers = []

        def is_answered():
            answers.append(self.ask(f"unlock --wait {WAIT}", expect=None))
            return "another command is on its way" not in answers[-1].get("error", {}).get("message", "")

        self._machine.eventually(is_answered, "the key takes a command")
        check_equal(answers[-1], {"result": {"outcome": "done"}}, "what became of the command")
