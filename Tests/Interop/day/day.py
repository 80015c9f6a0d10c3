"""A day in the life of a door: a lock, three keys, a strike, and what happens to them from morning to evening.

    day.py PROGRAMS RESULT

PROGRAMS is the directory of `latch` and `latch-lab`. What is typed, what is answered, what the door does and which promises held goes
to standard output, and to RESULT as lines of JSON as `latch-lab day` takes them. Whether a promise held is judged by exit statuses, by the
door itself and by the audit. As root the lock's state is on a disk whose power can be cut; for anybody else that scene is left out."""

import argparse
import contextlib
import datetime
import os
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.join(os.path.dirname(__file__), "..")]

from door import Door, FrontDoor
from record import SETUP_CODE, Record
from support.daemons import Key, Latch
from support.processes import DEADLINE_SECONDS, Process, eventually
from support.radios import AdapterRadio
from support.steps import StepFailed, warn

PULSE_MILLISECONDS = 1_500
LOCK = """[lock]
name = "Front door"
relock_seconds = 5

[bolt]
actuator = "gpio"
keeper = "{directory}/strike.sock"
pulse_ms = {pulse}

[control]
socket = "{directory}/lock.sock"
"""
# Metres: in front of the door, and down the street.
NEAR, FAR = 1, 30
ADAPTERS = ["lock", "anna", "ben", "carla"]


class Day:
    def __init__(self, programs, record):
        self.latch = Latch(os.path.join(programs, "latch"), os.getcwd())
        self.lab = os.path.join(programs, "latch-lab")
        self.record = record
        self.has_disk = os.geteuid() == 0 and os.path.exists("/dev/fuse")
        self.disk = []
        if self.has_disk:
            state = os.path.abspath("lock")
            self.disk = [self.lab, "disk", "--image", "disk.img", "--at", state, "--keep", "chance", "--"]
        self.running = contextlib.ExitStack()
        self.keys = {}
        self.expected = 0

    # Processes

    def start(self, name, words):
        return self.running.enter_context(Process(name, words))

    def begin(self):
        self.record.scene("A new door", "A radio, a strike's keeper, a lock and three keys, each a process of its own.")
        self.latch.write("lock.conf", LOCK.format(directory=os.getcwd(), pulse=PULSE_MILLISECONDS))
        self.radio = self.running.enter_context(AdapterRadio(self.lab, os.getcwd(), len(ADAPTERS)))
        self.door = self.running.enter_context(Door(self.lab, self.record))
        eventually(lambda: os.path.exists("strike.sock"), "the keeper listens")
        self.launch()
        for person in ADAPTERS[1:]:
            proximity = f"[proximity]\nunlock = {'true' if person == 'anna' else 'false'}\n"
            options = ["--config", self.latch.write(person + ".conf", proximity)]
            key = Key(self.latch, person, "central", self.adapter(person), options)
            self.keys[person] = self.running.enter_context(key)

    def adapter(self, name):
        return f"unix:{self.radio.adapter(ADAPTERS.index(name) + 1)}"

    def launch(self):
        self.lock = self.running.enter_context(FrontDoor(self.latch, self.disk, self.adapter("lock")))
        self.record.act("the lock's daemon is started")

    def quietly(self, *words, text=None):
        return subprocess.run(
            [self.latch.program, *words], input=text or "", capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False
        )

    def type(self, *words, text=None, limit=12):
        """A command as a person types it, with its answer."""
        done = self.quietly(*words, text=text)
        return self.told(["latch", *words], done, limit)

    def told(self, words, done, limit=12):
        lines = (done.stdout + done.stderr).splitlines()
        if len(lines) > limit:
            lines = lines[:limit] + [f"… {len(lines) - limit} lines more"]
        self.record.command(" ".join(f'"{word}"' if " " in word else word for word in words), lines, done.returncode)
        return done

    def place(self, person, metres):
        """How far somebody is from the door."""
        addresses = [f"02:4C:41:01:00:{ADAPTERS.index(name) + 1:02X}" for name in ("lock", person)]
        self.radio.command(" ".join(["distance", *addresses, str(metres)]))

    def audit(self, verb, *options):
        """Of a lock that does not run."""
        words = ["audit", verb, "--state", "lock", *options]
        done = subprocess.run(
            [*self.disk, self.latch.program, *words], capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False
        )
        return self.told(["latch", *words], done, limit=100)

    def enroll(self, person, *options):
        words = [self.latch.program, "peripheral", "enroll", "--socket", "lock.sock", "--credential", person, *options]
        window = self.start("window", words)
        code = window.output.wait_for(lambda line: (SETUP_CODE.search(line) or [None])[0], "the setup code")
        enrolled = self.quietly("central", "enroll", "--state", person, "-", text=code + "\n")
        status = window.wait()
        window_told = subprocess.CompletedProcess(words, status, "\n".join(window.output.all()), "")
        self.told(["latch", *words[1:]], window_told)
        self.told(["latch", "central", "enroll", "--state", person, "-"], enrolled)
        return status == 0 and enrolled.returncode == 0

    def unlock(self, person, opens=True):
        """By command; where it is to open, the strike is awaited."""
        done = self.type("central", "unlock", "--state", person)
        if opens:
            self.expected += 1
            self.door.waits("strike released")
        return done

    def bond(self, person):
        return next(row["bond"] for row in self.lock.status()["credentials"] if row["name"] == person)

    def is_linked(self, bond):
        return any(link.get("bond") == bond for link in self.lock.status()["links"])

    def proximity(self, person):
        """What a key believes of how near it is to its lock."""
        return self.keys[person].status()["locks"][0]["proximity"]

    def alarms(self, name):
        return self.lock.status()["alarms"].get(name, 0)

    # Scenes

    def morning(self):
        self.record.scene("Morning: three people are enrolled", "Anna owns the house, Ben lives there, and Carla cleans.")
        self.record.promise("Anna is enrolled", self.enroll("anna", "--role", "owner"))
        self.record.promise("Ben is enrolled", self.enroll("ben"))
        self.record.promise("Carla is enrolled", self.enroll("carla", "--role", "guest"))
        self.type("peripheral", "users", "--socket", "lock.sock")

    def walk_up(self):
        self.record.scene(
            "Anna walks up",
            "Her laptop is in her bag. She has been away, and comes near: the key asks for an unlock by itself. How near somebody seems decides "
            "when a key asks, and never what it may.",
        )
        self.record.act("Anna goes away")
        self.place("anna", FAR)
        eventually(lambda: self.proximity("anna") == "away", "Anna's key sees that it is away")
        self.record.act("Anna comes home")
        self.place("anna", NEAR)
        self.expected += 1
        self.door.waits("bolt unlocked")
        self.door.hand("open", "Anna opens the door")
        self.door.waits("door open")
        self.door.hand("close", "it falls shut behind her")
        self.door.waits("door closed")
        self.door.waits("bolt locked")
        self.record.promise("she was let in, and the bolt is locked behind her", True)

    def cleaner(self):
        self.record.scene("Carla comes on the wrong day", "She may come tomorrow. It is today.")
        tomorrow = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
        day = tomorrow.strftime("%a").lower()
        rule = ["peripheral", "schedule", "set", "--socket", "lock.sock", "--credential", "carla"]
        self.type(*rule, "--weekdays", day, "--between", "08:00-17:00")
        done = self.unlock("carla", opens=False)
        self.record.promise("she is refused", done.returncode != 0)
        self.door.hand("open", "Carla pulls at the door")
        self.door.waits("the door does not open: it is locked")
        self.record.act("Anna lets her come at all times")
        self.type("peripheral", "schedule", "clear", "--socket", "lock.sock", "--credential", "carla")
        self.record.promise("now she is let in", self.unlock("carla").returncode == 0)
        self.door.waits("bolt locked")

    def revocation(self):
        self.record.scene("Ben's laptop is stolen", "The thief stands at the door, and the key has a link.")
        bond = self.bond("ben")

        def has_link():
            self.quietly("central", "lock", "--state", "ben")
            return self.is_linked(bond)

        eventually(has_link, "the thief's link")
        done = self.type("peripheral", "remove", "--socket", "lock.sock", "--user", "ben")
        self.record.promise("Ben's key is removed", done.returncode == 0)
        self.record.promise("its link is ended at once", not self.is_linked(bond))
        done = self.type("central", "unlock", "--state", "ben", "--wait", "5")
        self.record.promise("the thief is not let in", done.returncode != 0)
        self.door.hand("open", "the thief pulls at the door")
        self.door.waits("the door does not open: it is locked")

    def jam(self):
        self.record.scene("The bolt sticks", "Somebody leans against the door.")
        before = self.alarms("jam")
        self.door.hand("jam", "the bolt jams")
        done = self.type("central", "unlock", "--state", "anna")
        # The keeper tries again, as it is told.
        self.expected += 2
        for _ in range(2):
            self.door.waits("strike at rest")
        self.record.promise("Anna is told that it is jammed", done.returncode != 0 and "jammed" in done.stdout + done.stderr)
        self.record.promise("the lock raises an alarm", self.alarms("jam") == before + 1)
        self.door.hand("free", "it moves again")
        self.record.promise("and she is let in", self.unlock("anna").returncode == 0)
        self.door.waits("bolt locked")

    def burglar(self):
        self.record.scene("A crowbar", "The contact opens while the bolt is locked.")
        before = self.alarms("forced")
        self.door.hand("force", "somebody forces the door")
        self.door.waits("door open")
        eventually(lambda: self.alarms("forced") == before + 1, "the alarm")
        self.record.promise("the lock says that its door was forced", True)
        self.door.hand("close", "the door is closed")
        self.door.waits("door closed")

    def kill(self):
        self.record.scene(
            "The daemon is killed while the door is open",
            "SIGKILL, in the middle of the pulse. The strike's keeper is another program, and ends the pulse at its time.",
        )
        self.expected += 1
        asked = self.start("unlock", [self.latch.program, "central", "unlock", "--state", "anna", "--wait", "30"])
        self.door.waits("strike released")
        self.lock.die()
        self.record.act("the lock's daemon is killed")
        self.door.waits("strike at rest")
        self.door.waits("bolt locked")
        self.record.promise("the pulse ends though no lock lives", True)
        self.launch()
        status = asked.wait()
        lines = "\n".join(asked.output.all() + asked.errors.all())
        words = ["latch", "central", "unlock", "--state", "anna", "--wait", "30"]
        self.told(words, subprocess.CompletedProcess(words, status, lines, ""))
        self.record.promise("Anna's key hears what became of its command", status == 0)
        self.record.promise("and the next one is obeyed", self.unlock("anna").returncode == 0)
        self.door.waits("bolt locked")

    def power(self):
        self.record.scene(
            "The power fails",
            "The lock's disk keeps what a flush had confirmed, and of the rest what chance leaves, torn writes among it. The cut comes while "
            "Anna's command is carried out.",
        )
        users = self.type("peripheral", "users", "--socket", "lock.sock").stdout
        self.expected += 1
        asked = self.start("unlock", [self.latch.program, "central", "unlock", "--state", "anna", "--wait", "30"])
        self.door.waits("strike released")
        for line in self.lock.cut():
            self.record.act(line)
        self.door.waits("bolt locked")
        self.launch()
        asked.wait()
        after = self.type("peripheral", "users", "--socket", "lock.sock").stdout
        self.record.promise("who was enrolled still is, and nobody else", users == after)
        self.record.promise("Anna's next command is obeyed", self.unlock("anna").returncode == 0)
        self.door.waits("bolt locked")

    def evening(self):
        self.record.scene("Evening: the audit", "Each record continues a chain, and the lock has signed its end.")
        self.type("peripheral", "stop", "--socket", "lock.sock")
        self.lock.wait()
        self.record.promise("nothing of it was changed, left out or cut off", self.audit("verify").returncode == 0)
        said = self.audit("list", "--limit", "0").stdout
        for what in ("enrolled", "granted", "refused", "removed", "aborted", "forced"):
            self.record.promise(f"it tells of what was {what}", what in said)
        self.door.hand("quit", "good night")
        with contextlib.suppress(StepFailed):
            self.door.waits("nothing more")
        self.record.promise(
            f"the strike was released {self.expected} times, as often as somebody was let in, the pulse was cut short or the bolt stuck",
            self.door.releases == self.expected,
        )

    def play(self):
        with self.running:
            self.begin()
            self.morning()
            self.walk_up()
            self.cleaner()
            self.revocation()
            self.jam()
            self.burglar()
            self.kill()
            if self.has_disk:
                self.power()
            else:
                self.record.act("left out: the power cut, which needs root, /dev/fuse and loop devices")
            self.evening()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("result")
    arguments = parser.parse_args()
    programs, result = os.path.abspath(arguments.programs), os.path.abspath(arguments.result)
    with tempfile.TemporaryDirectory(prefix="latch-day-") as directory:
        os.chdir(directory)
        record = Record(result, directory)
        day = Day(programs, record)
        try:
            day.play()
        except StepFailed as failure:
            warn(f"day: {failure}")
            record.promise(f"the day goes on: {failure}", False)
        finally:
            os.chdir("/")
    return 1 if record.broken else 0


if __name__ == "__main__":
    sys.exit(main())
