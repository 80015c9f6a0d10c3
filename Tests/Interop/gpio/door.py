"""The drill, inside the virtual machine: a chip made with uhid, a keeper, a lock, a radio, and everything that may happen to them.

    door.py PROGRAMS CHIP RESULT --kills N --keeper-kills N --seed S

RESULT gets one object of JSON. Openings are asked for at the exit button, so that no key has to be there; each is a movement that
the lock has decided on, written down and ordered. What the line does is taken from the chip's own log."""

import argparse
import contextlib
import fcntl
import glob
import json
import os
import random
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import threading
import time

import judge

LABEL = "cp2112_gpio"
SOCKET = "/run/strike.sock"
STRIKE, FEEDBACK, CONTACT, EXIT, WATCHED = 0, 1, 2, 3, 7
PULSE_MS = 1000
AJAR_SECONDS = 3
# An emulated machine is slow.
DEADLINE_SECONDS = 90
PRESS_SECONDS = 0.25

# linux/gpio.h: of a chip's name, label and number of lines, and of a request.
GET_CHIPINFO = 0x8044B401
GET_LINE = 0xC250B407
REQUEST = struct.Struct("64I32sQI5I240sII5Ii")
INPUT_WITH_EDGES = 1 << 2 | 1 << 4 | 1 << 5

KEEPER = f"""chip = "{LABEL}"
[socket]
path = "{SOCKET}"
user = "0"
[strike]
line = "{STRIKE}"
fail = "secure"
drive = "pulse"
pulse_maximum_ms = 5000
[contact]
line = "{CONTACT}"
[exit]
line = "{EXIT}"
"""
WITH_FEEDBACK = f"""[feedback]
line = "{FEEDBACK}"
travel_ms = 700
retries = 1
retry_pause_ms = 200
"""
LOCK = f"""[lock]
relock_seconds = 60
[door]
ajar_seconds = {AJAR_SECONDS}
[bolt]
actuator = "gpio"
keeper = "{SOCKET}"
pulse_ms = {PULSE_MS}
[log]
json = true
journal = "/run/lock.journal"
"""


class DrillFailed(Exception):
    pass


def now_ms():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) / 1e6


def until(condition, what, seconds=DEADLINE_SECONDS):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.005)
    raise DrillFailed(f"in {seconds} s it did not happen that {what}")


class Chip:
    """The hardware, and what is soldered to it. Its process has the processor first: it is the clock of the drill."""

    def __init__(self, program):
        self._log = open("/run/chip.log", "w+", encoding="ascii")
        self._process = subprocess.Popen(
            [program, "/run/chip.control"],
            stdout=self._log,
            preexec_fn=lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(60)),
        )
        until(lambda: os.path.exists("/run/chip.control"), "the chip has its control")
        self.watch = None
        self.found()

    def found(self):
        """Waits for the kernel's driver. One line is watched for edges all the time: hid-cp2112 may hang the process that closes
        the last one."""
        path = until(self._path, "the kernel has the chip")
        chip = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        request = bytearray(
            REQUEST.pack(WATCHED, *[0] * 63, b"drill", INPUT_WITH_EDGES, 0, *[0] * 5, b"", 1, 0, *[0] * 5, 0)
        )
        fcntl.ioctl(chip, GET_LINE, request)
        os.close(chip)
        self.watch = REQUEST.unpack(request)[-1]

    @staticmethod
    def _path():
        for path in glob.glob("/dev/gpiochip*"):
            with contextlib.suppress(OSError):
                chip = os.open(path, os.O_RDWR | os.O_CLOEXEC)
                about = bytearray(68)
                fcntl.ioctl(chip, GET_CHIPINFO, about)
                os.close(chip)
                if bytes(about[32:64]).rstrip(b"\0").decode() == LABEL:
                    return path
        return None

    def tell(self, command):
        with open("/run/chip.control", "w", encoding="ascii") as control:
            control.write(command + "\n")

    def log(self):
        with open("/run/chip.log", encoding="ascii") as log:
            return log.read()

    def wire(self, line, level):
        self.tell(f"wire {line} {level}")

    def pulses(self, since=0):
        return [pulse for pulse in judge.pulses(self.log()) if pulse.begin >= since]

    def is_on(self):
        found = self.pulses()
        return bool(found) and found[-1].end is None

    def unplug(self):
        os.close(self.watch)
        self.tell("unplug")
        until(lambda: self._path() is None, "the kernel has lost the chip")

    def plug(self):
        self.tell("plug")
        self.found()


class Daemon:
    """A process that is started again as soon as it has ended, as its unit says."""

    def __init__(self, name, command):
        self.name, self._command = name, command
        self._process, self._lives = None, True
        # When each of its processes began.
        self.starts = []
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()
        self._started.wait()

    def _keep(self):
        while self._lives:
            with open(f"/run/{self.name}.log", "ab") as log:
                self._process = subprocess.Popen(self._command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            self.starts.append(self._start(self._process.pid))
            self._started.set()
            self._process.wait()

    @staticmethod
    def _start(pid):
        """By the kernel, which counts in ticks of boot time: that somebody notices a process may be long behind its start."""
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
                return 1000 * int(stat.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return now_ms()

    def kill(self):
        """When it was, in boot time."""
        at = now_ms()
        self._process.send_signal(signal.SIGKILL)
        return at

    def end(self):
        self._lives = False
        self._process.send_signal(signal.SIGTERM)
        self._thread.join(DEADLINE_SECONDS)


class Drill:
    def __init__(self, options):
        self.options = options
        self.chance = random.Random(options.seed)
        self.grants = []
        self.figures = {"seed": options.seed}
        self.violations = []
        subprocess.run(["busybox", "modprobe", "-a", "uhid", "hid-cp2112"], check=True)
        self.chip = Chip(options.chip)
        self.chip.wire(CONTACT, 0)
        self.chip.wire(FEEDBACK, 1)
        # In memory: a program that has to come through the emulated machine's file system first is slow to start again.
        os.mkdir("/run/programs")
        for name in ("latch", "latch-strike", "latch-lab"):
            shutil.copy(os.path.join(options.programs, name), "/run/programs")
        self.write("strike.conf", KEEPER)
        self.write("lock.conf", LOCK)
        os.mkdir("/run/lock-state", 0o700)
        self.radio = Daemon("radio", [self.program("latch-lab"), "radio", "--socket", "/run/air", "--control", "/run/air.control", "--air", "immediate"])
        until(lambda: os.path.exists("/run/air"), "there is a radio")
        self.keeper = Daemon("keeper", [self.program("latch-strike"), "run", "--config", "/run/strike.conf"])
        until(lambda: os.path.exists(SOCKET), "there is a keeper")
        self.lock = Daemon(
            "lock",
            [self.program("latch"), "peripheral", "run", "--transport", "unix:/run/air", "--state", "/run/lock-state"]
            + ["--config", "/run/lock.conf"],
        )
        until(lambda: '"advertising"' in self.journal(), "the lock is up")

    @staticmethod
    def program(name):
        return f"/run/programs/{name}"

    @staticmethod
    def write(name, text):
        with open(f"/run/{name}", "w", encoding="ascii") as file:
            file.write(text)

    @staticmethod
    def journal():
        with contextlib.suppress(FileNotFoundError):
            with open("/run/lock.journal", encoding="utf-8", errors="replace") as file:
                return file.read()
        return ""

    def says(self, word, behind, what):
        """Waits until the lock says it, behind so many octets of its journal."""
        until(lambda: word in self.journal()[behind:], what)

    def press(self):
        """Somebody inside presses the button. It is a grant, whether or not anybody hears it."""
        self.grants.append(now_ms())
        self.chip.wire(EXIT, 0)
        time.sleep(PRESS_SECONDS)
        self.chip.wire(EXIT, 1)
        time.sleep(PRESS_SECONDS)

    def press_until_open(self):
        """A press that nobody was there to hear is made again."""
        since = now_ms()
        while True:
            self.press()
            with contextlib.suppress(DrillFailed):
                return until(lambda: self.chip.pulses(since), "the line opens", 5)[0]
            if now_ms() - since > DEADLINE_SECONDS * 1000:
                raise DrillFailed("nobody opens to the exit button")

    def settle(self):
        until(lambda: not self.chip.is_on(), "the line is off", 10)
        time.sleep(0.3)

    def scene(self, name, play, asked_ms=PULSE_MS, openings_for_each=1):
        """Plays it, and judges what the line did meanwhile."""
        since, self.grants, self.restarts, self.looks_ms = now_ms(), [], [], []
        try:
            play()
            with contextlib.suppress(DrillFailed):
                self.settle()
        except DrillFailed as failure:
            self.violations.append(f"{name}: {failure}")
        verdict = judge.judge(
            self.chip.pulses(since), self.grants, asked_ms, openings_for_each, self.restarts, self.looks_ms
        )
        over = verdict.longest_over_ms
        self.figures[name] = {
            "pulses": verdict.pulses,
            "grants": len(self.grants),
            "left_on": verdict.left_on,
            "too_long": len(verdict.too_long),
            "ungranted": verdict.ungranted,
            "longest_over_ms": None if over is None else round(over, 1),
        }
        if self.restarts:
            # The kill's own part, up to the next process, that process's until the line is at rest, and what looks at the chip took.
            self.figures[name]["ended_by_restart"] = len(verdict.restarts_ms)
            self.figures[name]["late_rests"] = len(verdict.late_rests)
            for what, times in (
                ("kill_to_start", [restart.start - restart.kill for restart in self.restarts]),
                ("kill_to_rest", verdict.restarts_ms),
                ("look", self.looks_ms),
            ):
                if times:
                    found = min(times), statistics.median(times), max(times)
                    self.figures[name][f"{what}_ms"] = "/".join(str(round(time)) for time in found)
        if not verdict.is_kept:
            self.violations.append(f"{name}: {verdict}")
        print(name, json.dumps(self.figures[name]), flush=True)

    # Scenes

    def kill_in_pulses(self, daemon, count, until_ms):
        for number in range(count):
            begin = self.press_until_open().begin
            wait = self.chance.uniform(0, until_ms) - (now_ms() - begin)
            if wait > 0:
                time.sleep(wait / 1000)
            if daemon is self.keeper:
                self.restart_keeper()
            else:
                daemon.kill()
            self.settle()
            if (number + 1) % 10 == 0:
                print(f"  {daemon.name}: {number + 1} kills", flush=True)

    def restart_keeper(self):
        """Kills it, and takes the times of what comes then."""
        starts, inode = len(self.keeper.starts), os.stat(SOCKET).st_ino
        kill = self.keeper.kill()
        until(lambda: len(self.keeper.starts) > starts, "the keeper is started again")
        socket = until(lambda: self._new_socket(inode), "the keeper has its socket again")
        self.restarts.append(judge.Restart(kill, self.keeper.starts[-1], socket))
        begin = now_ms()
        subprocess.run(
            [self.program("latch-strike"), "run", "--config", "/run/strike.conf", "--check"],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        self.looks_ms.append(round(now_ms() - begin, 1))

    @staticmethod
    def _new_socket(inode):
        """When it was made, in boot time."""
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(SOCKET)
            if found.st_ino != inode:
                return found.st_ctime_ns / 1e6 - (time.time_ns() / 1e6 - now_ms())
        return None

    def contact(self):
        behind = len(self.journal())
        self.chip.wire(CONTACT, 1)
        self.says('"alarm":"forced"', behind, "the lock tells of a forced door")
        self.chip.wire(CONTACT, 0)
        self.says('"door":"closed"', behind, "the lock tells of a closed door")
        behind = len(self.journal())
        self.press_until_open()
        self.chip.wire(CONTACT, 1)
        self.says('"door":"open"', behind, "the lock tells of an open door")
        self.says('"alarm":"ajar"', behind, "the lock tells of a door that is ajar")
        if '"alarm":"forced"' in self.journal()[behind:]:
            raise DrillFailed("a door that was opened is told to be forced")
        behind = len(self.journal())
        self.chip.wire(CONTACT, 0)
        self.says('"door":"closed"', behind, "the lock tells of a closed door again")

    def unplugged(self):
        self.press_until_open()
        behind = len(self.journal())
        self.chip.unplug()
        self.says('"bolt":"unknown"', behind, "the lock knows that it knows nothing")
        behind = len(self.journal())
        self.chip.plug()
        self.says('"bolt":"locked"', behind, "the lock has its bolt again")
        self.press_until_open()

    def broken_at_rest(self):
        """A chip that answers EIO opens nothing."""
        behind = len(self.journal())
        self.chip.tell("broken 1")
        self.says('"bolt":"unknown"', behind, "the lock knows that it knows nothing")
        since = now_ms()
        self.press()
        time.sleep(1)
        if self.chip.pulses(since):
            raise DrillFailed("a broken chip has opened")
        self.grants = []
        behind = len(self.journal())
        self.chip.tell("broken 0")
        self.says('"bolt":"locked"', behind, "the lock has its bolt again")
        self.press_until_open()

    def broken_in_pulse(self):
        """What the keeper cannot end while the chip is broken it ends as soon as it is not."""
        self.press_until_open()
        self.chip.tell("broken 1")
        time.sleep(2 * PULSE_MS / 1000)
        self.chip.tell("broken 0")
        mended = now_ms()
        self.settle()
        self.figures["ended_behind_eio_ms"] = round(self.chip.pulses()[-1].end - mended, 1)

    def jam(self):
        """A bolt whose sensor does not move: two attempts, and the alarm."""
        self.keeper.end()
        behind = len(self.journal())
        self.write("strike.conf", KEEPER + WITH_FEEDBACK)
        self.keeper = Daemon("keeper", [self.program("latch-strike"), "run", "--config", "/run/strike.conf"])
        # One that is away for long is an alarm too, and not the one that is waited for.
        self.says("keeper is there", behind, "the lock has its keeper again")
        behind = len(self.journal())
        since = now_ms()
        self.press_until_open()
        self.says('"alarm":"jam"', behind, "the lock tells of the jam")
        attempts = len(self.chip.pulses(since))
        self.figures["jam_attempts"] = attempts
        if attempts != 2 * len(self.grants):
            raise DrillFailed(f"{attempts} attempts for {len(self.grants)} grants")
        # And one that does move.
        behind = len(self.journal())
        since = now_ms()
        self.press()
        until(lambda: self.chip.pulses(since), "the line opens")
        self.chip.wire(FEEDBACK, 0)
        self.says('"bolt":"unlocked"', behind, "the bolt is seen to open")
        self.chip.wire(FEEDBACK, 1)
        self.says('"bolt":"locked"', behind, "the bolt is seen to lock")

    def run(self):
        self.scene("a pulse", self.press_until_open)
        self.scene("the contact", self.contact)
        self.scene("the lock killed", lambda: self.kill_in_pulses(self.lock, self.options.kills, 0.8 * PULSE_MS))
        self.scene(
            "the keeper killed", lambda: self.kill_in_pulses(self.keeper, self.options.keeper_kills, 0.8 * PULSE_MS)
        )
        self.scene("unplugged", self.unplugged)
        self.scene("broken at rest", self.broken_at_rest)
        # The pulse of a broken chip is as long as it is broken.
        self.scene("broken in a pulse", self.broken_in_pulse, asked_ms=3 * PULSE_MS)
        self.scene("a jam", self.jam, openings_for_each=2)
        self.lock.end()
        self.keeper.end()
        if self.chip.is_on():
            self.violations.append("the line is on at the end")
        self.figures["starts"] = {"lock": len(self.lock.starts), "keeper": len(self.keeper.starts)}
        self.figures["violations"] = self.violations


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("chip")
    parser.add_argument("result")
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--keeper-kills", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    drill = None
    try:
        drill = Drill(options)
        drill.run()
        result = drill.figures
    except Exception as error:
        result = {**(drill.figures if drill else {}), "violations": [f"the drill was broken off: {error!r}"]}
    with open(options.result + ".new", "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.rename(options.result + ".new", options.result)
    return 1 if result["violations"] else 0


if __name__ == "__main__":
    sys.exit(main())
