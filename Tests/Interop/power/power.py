"""Power cuts of a whole machine: Debian's kernel, its Bluetooth subsystem, an ext4, and our lock on the HCI user channel.

    power.py LATCH LATCH_LAB CACHE RESULT [--cuts N] [--seed S] [--lying]

Each life boots the virtual machine on the disk that the last one left, gives the lock a command, and cuts the power at a
write or a flush: at the next one in the next life. Each machine is a new boot, with a new kernel and a new controller. The
key and the radio are out here, and keep running. The bolt is metal: its journal is on no machine's disk. RESULT gets lines of
JSON as `latch-lab power` takes them."""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time

sys.path[:0] = [os.path.join(os.path.dirname(__file__), folder) for folder in ("..", "../bluez")]

import judge
from disk import FLUSH, WRITE, CutDisk
from file_system import check_as_a_boot, empty_file_system, torn_journal
from inside import Inside
from machine import Machine
from support.daemons import Latch
from support.processes import DEADLINE_SECONDS, eventually
from support.radios import AdapterRadio
from support.steps import StepFailed, Suite, check, check_equal, warn

RELOCK_SECONDS = 3
# A challenge outlives the slowness of an emulated machine. Its first commands wait for the boot behind a cut.
LOCK_SETTINGS = (
    f"[lock]\nrelock_seconds = {RELOCK_SECONDS}\nchallenge_life_ms = 25500\n"
    'bolt_journal = "/run/metal/bolt.journal"\n[bolt]\ntravel_ms = 50\n'
)
KEY_SETTINGS = "[proximity]\nunlock = false\n"
WAIT_SECONDS = int(4 * DEADLINE_SECONDS)
STATE = "/run/disk/state"
# A command and its relock make 15 to 20. Past the last of them the power goes when the bolt is locked again.
LAST_OPERATION = 20
CHOICES = 8
# How many commands a lock that is up again may leave undone before it takes one.
OBEDIENCE_COMMANDS = 5


class House:
    """What outlives a machine: its disk, the metal of the bolt, the radio, and the key."""

    def __init__(self, program, cache, directory, lies):
        self.program = program
        self.cache = cache
        self.directory = directory
        self.metal = os.path.join(directory, "metal")
        self.nbd = os.path.join(directory, "disk.sock")
        os.mkdir(self.metal)
        self.settings = Latch(program, directory).write("lock.conf", LOCK_SETTINGS)
        self.disk = CutDisk(empty_file_system(directory), self.nbd, lies)

    def movements(self):
        try:
            with open(os.path.join(self.metal, "bolt.journal"), encoding="ascii") as file:
                return judge.movements(file.read())
        except FileNotFoundError:
            return []

    def machine(self, radio):
        return Machine(
            self.cache,
            self.directory,
            [radio.adapter(1)],
            [
                *("-blockdev", f"driver=nbd,node-name=disk,server.type=unix,server.path={self.nbd}"),
                *("-device", "virtio-blk-pci,drive=disk"),
                *("-fsdev", f"local,id=metal,path={self.metal},security_model=none"),
                *("-device", "virtio-9p-pci,fsdev=metal,mount_tag=metal"),
            ],
        )


async def come_up(house, machine):
    """Boots, mounts the disk as it was left, and starts the lock."""
    await asyncio.to_thread(machine.boot)
    machine.run("busybox modprobe -a virtio_blk ext4 && busybox mkdir -p /run/disk /run/metal")
    machine.until("[ -b /dev/vda ]", "the disk appears")
    machine.run("busybox mount -t ext4 -o noatime /dev/vda /run/disk")
    machine.run("busybox mount -t 9p -o rw,trans=virtio,version=9p2000.L,cache=none metal /run/metal")
    machine.add_adapter(0)
    inside = Inside(house.program, machine, 0, STATE, f"--config {house.settings}")
    await inside.start()
    return inside


def told(answer):
    """What an operator was told, as the judge calls it."""
    if answer.status == 0:
        return answer.result["outcome"]
    message = answer.error["message"]
    if "nothing was sent" in message:
        return judge.UNSENT
    return judge.REFUSED if "nothing moved" in message else judge.UNKNOWN


def spoken(answer):
    """The same in the operator's own words, when it is no success."""
    return told(answer) if answer.status == 0 else f"{answer.error['message']!r}"


async def wait_for_relock(house):
    """Waits until an open bolt is locked again. The judge speaks of one that stays open."""

    def is_locked():
        moved = house.movements()
        return not moved or not moved[-1].opens

    try:
        await asyncio.to_thread(eventually, is_locked, "the bolt is locked again")
    except StepFailed as error:
        warn(f"    {error}")


class NeverCameUp(Exception):
    """No life follows on this disk: a promise is broken, and the drill ends."""


class Case:
    """A cut, and the life behind it."""

    def __init__(self, seed, number):
        self.chance = random.Random(f"{seed}/{number}")
        # One behind the other, so that so many lives come to each of them; the seed says where they begin.
        self.operation = 1 + (seed + number) % LAST_OPERATION
        self.choice = self.chance.randrange(CHOICES)

    async def cut(self, house, machine, key, asked):
        """Asks for an unlock, and cuts the power meanwhile; the command that is still out."""
        house.disk.arm(self.operation, machine.cut)
        asked.append(len(house.movements()))
        command = await asyncio.to_thread(key.begin, "unlock", "--wait", str(WAIT_SECONDS))

        def is_over():
            moved = house.movements()[asked[-1] :]
            return house.disk.is_cut or not command.is_running and (not moved or not moved[-1].opens)

        await asyncio.to_thread(eventually, is_over, "the command is carried out, or the power goes", WAIT_SECONDS)
        house.disk.cut()
        await asyncio.to_thread(machine.wait)
        return command

    def come_back(self, house):
        """The power is back, and the disk is checked. What is told of the cut, and what is wrong with the file system."""
        names = {WRITE: "write", FLUSH: "flush", None: "rest"}
        told = {"at": names[house.disk.cut_in], "number": house.disk.operations}
        told["kept"], told["unconfirmed"] = house.disk.restore(self.choice, self.chance)
        mended, damage = check_as_a_boot(house.directory, house.disk.medium())
        told["mended"] = mended is not None
        if mended is not None:
            house.disk.put(mended)
        return told, damage


async def play(house, radio, key, machine, case, line):
    """One cut. The machine of the next life, and the judge's verdict on this one; `line` gets what is told of it."""
    earlier = house.movements()
    asked = []
    command = await case.cut(house, machine, key, asked)
    cut, damage = case.come_back(house)
    line.update(cut)
    moved_before = frozenset(movement.command for movement in earlier if movement.opens)
    history = judge.History([], moved_before, damage)
    machine = house.machine(radio)
    begin = time.monotonic()
    try:
        try:
            await come_up(house, machine)
        except StepFailed as error:
            raise NeverCameUp(f"the machine does not come up: {error}") from error
        line["back_ms"] = round((time.monotonic() - begin) * 1000)
        answers = [await asyncio.to_thread(finish, command)]
        await wait_for_relock(house)
        # A lock that has just come up may be busy with what it owes. So a command is given until one is taken.
        while len(answers) == 1 or told(answers[-1]) not in judge.TAKEN and len(answers) <= OBEDIENCE_COMMANDS:
            asked.append(len(house.movements()))
            command = await asyncio.to_thread(key.begin, "unlock", "--wait", str(WAIT_SECONDS))
            answers.append(await asyncio.to_thread(finish, command))
            await wait_for_relock(house)
        moved = house.movements()
        ends = [*asked[1:], len(moved)]
        history.asked = [
            (told(answer), moved[begin:end]) for answer, begin, end in zip(answers, asked, ends, strict=True)
        ]
    except BaseException:
        machine.__exit__(*sys.exc_info())
        raise
    line["answers"] = [spoken(answer) for answer in answers]
    line["violations"] = judge.violations(history)
    return machine


def figure_of(line):
    kept = f"{line['kept']} of {line['unconfirmed']} unconfirmed octets kept"
    mended = "; mended by the boot's check" if line["mended"] else ""
    answers = ", then ".join(line["answers"]) or "no life behind it"
    return f"at {line['at']} {line['number']}; {kept}{mended}; {answers}"


def finish(command):
    command.wait(WAIT_SECONDS + DEADLINE_SECONDS)
    return command.answer()


async def run(options, house, radio, key, seed, result):
    suite = Suite("power of a machine")
    with suite.step("the judge sees each promise broken that is") as figure:
        for said, history in judge.broken_histories():
            found = judge.violations(history)
            check(len(found) == (1 if said else 0) and all(said in one for one in found), f"it saw {found}, not {said!r}")
        figure.is_(f"{len(judge.broken_histories())} histories")
    with suite.step("the check that a boot makes mends a journal whose last block is torn"):
        mended, damage = check_as_a_boot(house.directory, torn_journal(house.directory))
        check(mended is not None, "it mended nothing")
        check_equal(damage, None, "what is still wrong")
        check_equal(check_as_a_boot(house.directory, mended), (None, None), "what a second check finds")
    machine = house.machine(radio)
    broken = 0
    try:
        with suite.step("the machine boots on an empty disk, and a key enrols"):
            inside = await come_up(house, machine)
            code = await inside.open_window("anna")
            await asyncio.to_thread(key.ask, "enroll", "-", text=code + "\n")
        for number in range(1, options.cuts + 1):
            with suite.step(f"cut {number}") as figure:
                line = {"cut": number, "back_ms": None, "answers": [], "violations": []}
                try:
                    machine = await play(house, radio, key, machine, Case(seed, number), line)
                except NeverCameUp as error:
                    line["violations"].append(str(error))
                figure.is_(figure_of(line))
            result.write(json.dumps(line) + "\n")
            result.flush()
            for violation in line["violations"]:
                print(f"VIOLATION  cut {number}: {violation}", flush=True)
                lying = " --lying" if options.lying else ""
                print(f"    again with: scripts/drill-power --seed {seed} --cuts {number}{lying}", flush=True)
            broken += bool(line["violations"])
            if not machine.is_running:
                break
    finally:
        machine.__exit__(*sys.exc_info())
    suite.end()
    return broken


def main():
    parser = argparse.ArgumentParser(description="Cuts the power of a whole virtual machine with our lock in it.")
    for program in ("latch", "lab", "cache", "result"):
        parser.add_argument(program)
    parser.add_argument("--cuts", type=int, default=10, help="how many cuts, one life behind the other; 10 by default")
    parser.add_argument("--seed", type=int, help="LATCH_TEST_SEED by default, or a fresh one, which is printed")
    parser.add_argument("--lying", action="store_true", help="the disk makes no flush that it confirms: promises must break")
    options = parser.parse_args()
    if options.cuts < 1:
        parser.error("--cuts must be at least 1")
    # The machine, the radio and the key end with this program, also when somebody ends it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for tool in ("qemu-system-x86_64", "mkfs.ext4", "e2fsck", "debugfs"):
        if shutil.which(tool) is None:
            sys.exit(f"power.py: there is no {tool} here: apt install qemu-system-x86 e2fsprogs")
    seed = options.seed
    if seed is None:
        seed = int(os.environ.get("LATCH_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"power of a machine: seed {seed}", flush=True)
    program, lab = os.path.abspath(options.latch), os.path.abspath(options.lab)
    with (
        tempfile.TemporaryDirectory(prefix="latch-power-") as directory,
        open(options.result, "w", encoding="ascii") as result,
    ):
        result.write(json.dumps({"seed": seed, "lies": options.lying}) + "\n")
        house = House(program, os.path.abspath(options.cache), directory, options.lying)
        latch = Latch(program, directory)
        with AdapterRadio(lab, directory, adapters=2) as radio:
            with latch.key(f"unix:{radio.adapter(2)}", "--config", latch.write("key.conf", KEY_SETTINGS)) as key:
                broken = asyncio.run(run(options, house, radio, key, seed, result))
                key.stop()
            radio.stop()
        house.disk.close()
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
