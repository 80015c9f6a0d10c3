"""A key beside bluetoothd, in a virtual machine with Debian's: as an ordinary user without capabilities, while bluetoothd keeps the
adapter and a headphone's link.

    companion.py LATCH LAB HELPER CACHE BUMBLE_PYTHON [--kills N] [--daemons N] [--powers N] [--plugs N] [--sleeps N]

The lock and the headphone run out here, over the same radio. What is believed of the key comes from the lock's bolt and from what the key's
user is told.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import bluez
from bluez import BlueZ
from headphone import Headphone
from key import LOCK, LOCK_SETTINGS, MACHINE, WAIT, Companion
from machine import Machine
from nearness import approach, calibrate, nearest
from returns import Returns, killed, spread
from support.daemons import Latch
from support.radios import VirtualRadio
from support.steps import Suite, check, check_equal

HELPER = "/usr/bin/setpriv --inh-caps=-all,+net_admin --ambient-caps=-all,+net_admin --bounding-set=-all,+net_admin"
SOCKET = "/run/latch-oob.socket"


def enrol(suite, radio, machine, helper, key, lock):
    with suite.step("a code for a key that has the lock's link to itself is refused, with the remedy") as figure:
        window, opened = lock.open_window("anna", "--role", "owner")
        answer = key.ask("enroll -", text=opened["setup_code"], expect=1)
        check("--method program" in answer["error"]["message"], f"the key said {answer}")
        window.terminate()
        window.wait()
        figure.is_(answer["error"]["code"])
    with suite.step("without the helper nothing is paired, and the key says what is missing") as figure:
        window, opened = lock.open_window("anna", "--role", "owner", "--method", "program")
        code = opened["setup_code"]
        answer = key.ask("enroll -", text=code, expect=1)
        check("latch-oob" in answer["error"]["message"], f"the key said {answer}")
        figure.is_(answer["error"]["message"][:60])
    activate = "/usr/bin/systemd-socket-activate --accept --inetd --seqpacket --listen " + SOCKET
    with suite.step("the helper answers no user without a session, and changes nothing then"):
        machine.run(f"{activate} {HELPER} {helper} answer >/run/helper.log 2>&1 & echo $! >/run/helper.pid")
        machine.until(f"[ -S {SOCKET} ]", "the helper's socket is there")
        machine.run(f"chmod 0666 {SOCKET}")
        answer = key.ask("enroll -", text=code, expect=1)
        check("session" in answer["error"]["message"], f"the key said {answer}")
        machine.run("kill $(cat /run/helper.pid)")
        machine.run(f"rm -f {SOCKET}")
    machine.run(f"{activate} {HELPER} {helper} answer --anyone >/run/helper.log 2>&1 & echo $! >/run/helper.pid")
    machine.until(f"[ -S {SOCKET} ]", "the helper's socket is there")
    machine.run(f"chmod 0666 {SOCKET}")
    machine.write("/run/code", code + "\n")
    with suite.step("an enrolment that its operator breaks off, while nothing is heard of the lock, leaves bluetoothd to the next one"):
        radio.command(f"cut {MACHINE} {LOCK}")
        begin_enrolment(machine, key, "enrol.1")
        machine.run("kill $(cat /run/enrol.1.pid)")
        machine.until("grep -q ^ended /run/enrol.1", "the command ends")
        begin_enrolment(machine, key, "enrol.2")
        radio.command(f"join {MACHINE} {LOCK}")
    with suite.step("that enrols out of band, with a key of its own, as an ordinary user"):
        machine.until("grep -q ^ended /run/enrol.2", "the key is enrolled")
        said = machine.run("cat /run/enrol.2")
        check("ended 0" in said, f"the key said {said}")
        check_equal(window.answer().status, 0, "the window's exit status")


def begin_enrolment(machine, key, name):
    """By /run/code; what it says, and how it ended, come to a file in /run of that name. Pairing is under way then."""
    command = f"{key.words('enroll -')} </run/code >/run/{name} 2>&1 & echo $! >/run/{name}.pid; wait $!; echo ended $? >>/run/{name}"
    machine.run(f"({command}) &")
    machine.until(f"grep -q '\"pairing\"' /run/{name}", "the key pairs")


def hear_again(suite, title, kills, radio, machine, key, lock):
    """What was asked for before a kill is done by the next life, by itself. That takes its link, its subscriptions and a challenge that is
    notified. What is measured is from the kill to the bolt, as the lock says it."""
    with suite.step(f"{title}, killed {kills} times while the lock is out of range: what was asked is done") as figure:
        times = []
        check_equal(lock.status()["bolt"], "locked", "the bolt at the beginning")
        radio.command(f"cut {MACHINE} {LOCK}")
        answer = key.ask("unlock --wait 3", expect=6)
        check("not reached in time" in answer["error"]["message"], f"a lock that is out of range: {answer}")
        check_equal(lock.status()["bolt"], "locked", "the bolt behind it")
        radio.command(f"join {MACHINE} {LOCK}")
        lock.errors.skip()
        for number in range(kills):
            operation, end = ("lock", "locked") if number % 2 else ("unlock", "unlocked")
            radio.command(f"cut {MACHINE} {LOCK}")
            key.begin_and_keep(f"{operation} --wait {WAIT}")
            key.kill()
            radio.command(f"join {MACHINE} {LOCK}")
            begin = time.monotonic()
            key.start()
            lock.wait_for_event("bolt", bolt=end)
            times.append(time.monotonic() - begin)
            key.says('"message":"disconnected"')
        figure.is_(spread(times))


async def second(suite, arguments, host, machine, lock, headphone):
    """A second adapter, taken whole by its address, beside a bluetoothd that keeps the first."""
    path, links = "/org/bluez/hci1", headphone.counts()
    with suite.step("a key on a second adapter, by its address: it enrols, opens, is killed and opens; bluetoothd keeps the first one") as figure:
        machine.add_adapter(1)
        await host.until(lambda: host.get(path, bluez.ADAPTER, "Address") is not None, "bluetoothd has the second adapter")
        address = host.get(path, bluez.ADAPTER, "Address")
        key = Companion(machine, arguments.latch, "second", f"hci:{address},take")
        key.start()
        key.says('"message":"radio","state":"on"')
        await host.until(lambda: bluez.ADAPTER not in host.objects.get(path, {}), "bluetoothd has lost the second adapter")
        window, opened = lock.open_window("clara", "--role", "owner")
        check(key.ask("enroll -", text=opened["setup_code"]).get("result", {}).get("lock"), "the key is enrolled")
        check_equal(window.answer().status, 0, "the window's exit status")
        key.opens()
        key.kill()
        key.start()
        key.says('"message":"radio","state":"on"')
        key.opens()
        key.kill()
        check_equal(headphone.counts(), links, "links of the headphone made and lost")
        check(host.get("/org/bluez/hci0", bluez.ADAPTER, "Powered") is True, "bluetoothd has lost its own adapter")
        figure.is_(address)


async def compare(suite, arguments, radio, machine, lock):
    """The same on the same adapter, taken whole."""
    key = Companion(machine, arguments.latch, "own", "hci:0,take")
    with suite.step("a key that takes the adapter whole enrols at the same lock"):
        machine.run("kill $(cat /run/bluetoothd.pid)")
        machine.until("! kill -0 $(cat /run/bluetoothd.pid) 2>/dev/null", "bluetoothd ends")
        key.start()
        key.says('"message":"radio","state":"on"')
        window, opened = lock.open_window("boris", "--role", "owner")
        check(key.ask("enroll -", text=opened["setup_code"]).get("result", {}).get("lock"), "the key is enrolled")
        check_equal(window.answer().status, 0, "the window's exit status")
        key.ask(f"lock --wait {WAIT}")
    hear_again(suite, "on an adapter of its own", arguments.kills, radio, machine, key, lock)


async def run(suite, arguments, radio, latch, machine, lock, headphone):
    host = BlueZ(machine)
    with suite.step("bluetoothd has the adapter, and a headphone connected") as figure:
        machine.boot()
        machine.add_adapter(0)
        await host.connect()
        await host.start()
        await host.power("hci0")
        await headphone.connected_by(host)
        figure.is_(machine.run("/usr/libexec/bluetooth/bluetoothd --version"))
    key = Companion(machine, arguments.latch)
    with suite.step("the key finds it"):
        key.start()
        key.says('"message":"radio","state":"on"')
    enrol(suite, radio, machine, arguments.helper, key, lock)
    with suite.step("it opens and locks by command"):
        key.opens()
        check_equal(key.ask(f"lock --wait {WAIT}").get("result"), {"outcome": "done"}, "what became of the command")
    hear_again(suite, "beside bluetoothd", arguments.kills, radio, machine, key, lock)
    approach(suite, radio, machine, key, lock)
    nearest(suite, radio, latch, machine, key, lock)
    calibrate(suite, radio, machine, key)
    await killed(suite, arguments.kills, key, headphone)
    await Returns(host, radio, machine, key, lock, headphone).run(suite, arguments)
    with suite.step("the headphone's link was never dropped by us") as figure:
        made, lost = headphone.counts()
        returns = arguments.daemons + arguments.powers + arguments.plugs + arguments.sleeps
        check(made == 1 + lost and lost <= returns, f"links made and lost are {made} and {lost}, of {returns} returns")
        figure.is_(f"{2 * arguments.kills + 2} kills; it ended {lost} times, of {returns} returns")
    key.kill()
    await second(suite, arguments, host, machine, lock, headphone)
    await compare(suite, arguments, radio, machine, lock)


def main():
    parser = argparse.ArgumentParser(description="A key beside bluetoothd.")
    for name in ("latch", "lab", "helper", "cache", "python"):
        parser.add_argument(name)
    for name, default in (("kills", 3), ("daemons", 3), ("powers", 3), ("plugs", 1), ("sleeps", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    suite = Suite("a key beside bluetoothd")
    with tempfile.TemporaryDirectory(prefix="latch-companion-") as directory:
        with VirtualRadio(arguments.lab, directory) as radio, Machine(arguments.cache, directory, [radio.socket] * 2) as machine:
            latch = Latch(arguments.latch, directory)
            settings = latch.write("lock.conf", LOCK_SETTINGS)
            with latch.lock(radio.transport, "--config", settings) as lock, Headphone(arguments.python, radio) as headphone:
                try:
                    asyncio.run(run(suite, arguments, radio, latch, machine, lock, headphone))
                except BaseException:
                    for line in machine.run("tail -n 60 /run/companion.*.log /run/helper.log", expect=None).splitlines():
                        print("   ", line)
                    raise
    suite.end()


main()
