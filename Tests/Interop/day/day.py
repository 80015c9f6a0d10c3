"""A day in the life of a door: a lock, three keys, a strike, and what happens to them from morning to evening.

    day.py PROGRAMS RESULT

PROGRAMS is the directory of `latch` and `latch-lab`. What is typed, what is answered, what the door does and which promises held goes
to standard output, and to RESULT as lines of JSON as `latch-lab day` takes them. Whether a promise held is judged by exit statuses, by the
door itself and by the audit. As root the lock's state is on a disk whose power can be cut; for anybody else that scene is left out."""

import argparse
import contextlib
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [os.path.join(os.path.dirname(__file__), "..")]

from support.processes import DEADLINE_SECONDS, Process, eventually
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
# Nobody is shown a code that opens a door.
SETUP_CODE = re.compile(r"LATCH1:\S+")


class Record:
    """What happened, for people as it happens, and for `latch-lab day`."""

    def __init__(self, path, directory):
        self._file = open(path, "w", encoding="utf-8")
        self._directory = directory
        self.broken = 0

    def write(self, at=None, **fields):
        line = {"at": at or now(), **fields}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def scene(self, title, text):
        self.write(scene=title, text=text)
        print(f"\n{title}\n{'=' * len(title)}\n{text}\n", flush=True)

    def shown(self, text):
        return SETUP_CODE.sub("LATCH1:…", text.replace(self._directory + "/", ""))

    def command(self, words, lines, status):
        words, lines = self.shown(words), [self.shown(line) for line in lines]
        self.write(command=words, lines=lines, status=status)
        print(f"$ {words}", *[f"  {line}" for line in lines], sep="\n", flush=True)

    def act(self, text):
        self.write(act=text)
        print(f"* {text}", flush=True)

    def door(self, at, text):
        self.write(at, door=text)
        print(f"                                        | {text}", flush=True)

    def promise(self, text, held):
        self.write(promise=text, held=bool(held))
        self.broken += not held
        print(f"{'held  ' if held else 'BROKEN'} {text}", flush=True)


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


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


class Day:
    def __init__(self, programs, record):
        self.latch = os.path.join(programs, "latch")
        self.lab = os.path.join(programs, "latch-lab")
        self.record = record
        self.has_disk = os.geteuid() == 0 and os.path.exists("/dev/fuse")
        self.running = contextlib.ExitStack()
        self.lock = None
        self.expected = 0

    # Processes

    def start(self, name, words):
        return self.running.enter_context(Process(name, words))

    def begin(self):
        self.record.scene("A new door", "A radio, a strike's keeper, a lock and three keys, each a process of its own.")
        os.mkdir("lock", 0o700)
        with open("lock.conf", "w", encoding="utf-8") as file:
            file.write(LOCK.format(directory=os.getcwd(), pulse=PULSE_MILLISECONDS))
        air = ["--socket", "air", "--control", "air.control", "--adapters", str(len(ADAPTERS))]
        self.start("radio", [self.lab, "radio", *air])
        eventually(lambda: os.path.exists("air.control"), "the radio listens")
        self.door = self.running.enter_context(Door(self.lab, self.record))
        eventually(lambda: os.path.exists("strike.sock"), "the keeper listens")
        self.launch()
        for person in ADAPTERS[1:]:
            os.mkdir(person, 0o700)
            with open(person + ".conf", "w", encoding="utf-8") as file:
                file.write(f"[proximity]\nunlock = {'true' if person == 'anna' else 'false'}\n")
            words = ["central", "run", "--config", person + ".conf", "--transport", self.adapter(person)]
            self.start(f"{person}'s key", [self.latch, *words, "--state", person])
            eventually(lambda person=person: os.path.exists(f"{person}/central.sock"), f"{person}'s key listens")

    def adapter(self, name):
        return f"unix:{os.getcwd()}/air.{ADAPTERS.index(name) + 1}"

    def on_disk(self, words):
        """For what reads or writes the lock's state."""
        if not self.has_disk:
            return [self.latch, *words]
        disk = [self.lab, "disk", "--image", "disk.img", "--at", os.path.abspath("lock"), "--keep", "chance", "--"]
        return disk + [self.latch, *words]

    def launch(self):
        words = ["peripheral", "run", "--config", "lock.conf", "--transport", self.adapter("lock")]
        self.lock = self.start("lock", self.on_disk(words + ["--state", os.path.abspath("lock")]))
        self.record.act("the lock's daemon is started")
        eventually(lambda: self.quietly("peripheral", "status", "--socket", "lock.sock").returncode == 0, "the lock runs")

    def kill_lock(self):
        """SIGKILL for the daemon itself."""
        if self.has_disk:
            with open(f"/proc/{self.lock.pid}/task/{self.lock.pid}/children", encoding="ascii") as file:
                os.kill(int(file.read().split()[0]), signal.SIGKILL)
            self.lock.wait()
        else:
            self.lock.kill()

    def quietly(self, *words, text=None):
        return subprocess.run(
            [self.latch, *words], input=text or "", capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False
        )

    def status(self):
        return json.loads(self.quietly("peripheral", "status", "--socket", "lock.sock", "--json").stdout)["result"]

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
        names = [f"02:4C:41:01:00:{ADAPTERS.index(name) + 1:02X}" for name in ("lock", person)]
        done = subprocess.run(
            [sys.executable, "-c", PLACE, "air.control", f"distance {names[0]} {names[1]} {metres}"],
            capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False,
        )
        if not done.stdout.startswith("ok"):
            raise StepFailed(f"the radio says: {done.stdout}{done.stderr}")

    def enroll(self, person, *options):
        words = [self.latch, "peripheral", "enroll", "--socket", "lock.sock", "--credential", person, *options]
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
        return next(row["bond"] for row in self.status()["credentials"] if row["name"] == person)

    def is_linked(self, bond):
        return any(link.get("bond") == bond for link in self.status()["links"])

    def proximity(self, person):
        """What a key believes of how near it is to its lock."""
        said = json.loads(self.quietly("central", "status", "--state", person, "--json").stdout)["result"]
        return said["locks"][0]["proximity"]

    def alarms(self, name):
        return self.status()["alarms"].get(name, 0)

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
        asked = self.start("unlock", [self.latch, "central", "unlock", "--state", "anna", "--wait", "30"])
        self.door.waits("strike released")
        self.kill_lock()
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
        asked = self.start("unlock", [self.latch, "central", "unlock", "--state", "anna", "--wait", "30"])
        self.door.waits("strike released")
        os.kill(self.lock.pid, signal.SIGPWR)
        self.lock.wait()
        for line in self.lock.errors.all():
            if "power" in line:
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
        state = os.path.abspath("lock")
        done = subprocess.run(
            self.on_disk(["audit", "verify", "--state", state]), capture_output=True, text=True, check=False)
        self.told(["latch", "audit", "verify", "--state", "lock"], done)
        self.record.promise("nothing of it was changed, left out or cut off", done.returncode == 0)
        done = subprocess.run(
            self.on_disk(["audit", "list", "--state", state, "--limit", "0"]), capture_output=True, text=True, check=False)
        self.told(["latch", "audit", "list", "--state", "lock", "--limit", "0"], done, limit=100)
        said = done.stdout
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


PLACE = """
import socket, sys
with socket.socket(socket.AF_UNIX) as control:
    control.connect(sys.argv[1])
    control.sendall((sys.argv[2] + "\\n").encode())
    print(control.recv(1024).decode(), end="")
"""


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
