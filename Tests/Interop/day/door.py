"""A door: the keeper of its strike, and its lock."""

import json
import os
import signal
import subprocess

from support.daemons import Daemon
from support.processes import Process


class Door(Process):
    """The strike's keeper on a simulated door, and its hands."""

    def __init__(self, lab, record):
        self._record = record
        self.releases = 0
        self.seen = []
        words = [lab, "door", "--socket", os.path.abspath("strike.sock"), "--json"]
        super().__init__("door", words, stdin=subprocess.PIPE)

    def hand(self, word, act):
        self._record.act(act)
        self.input.write(word + "\n")
        self.input.flush()

    def waits(self, text):
        """Until the door says so; what it says before is told too."""

        def find(line):
            value = json.loads(line)
            self._record.door(value["at"], value["door"])
            self.seen.append(value["door"])
            self.releases += value["door"] == "strike released"
            return value if value["door"] == text else None

        return self.output.wait_for(find, f"the door says \"{text}\"")


class FrontDoor(Daemon):
    """The lock's daemon. `disk` is what its state's disk is made by, or nothing."""

    def __init__(self, latch, disk, transport):
        self._disk = disk
        super().__init__(latch, "lock", "peripheral", transport, ["--config", "lock.conf"])

    def launched(self, arguments):
        return [*self._disk, *arguments]

    def place(self):
        return ["--socket", "lock.sock"]

    def die(self):
        """SIGKILL for the daemon, and not for its disk."""
        victim = self.pid
        if self._disk:
            with open(f"/proc/{victim}/task/{victim}/children", encoding="ascii") as file:
                victim = int(file.read().split()[0])
        os.kill(victim, signal.SIGKILL)
        self.wait()

    def cut(self):
        """The power goes, for the disk too; what the disk says of it."""
        os.kill(self.pid, signal.SIGPWR)
        self.wait()
        return [line for line in self.errors.all() if "power" in line and not line.startswith("{")]
