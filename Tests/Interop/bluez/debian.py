"""Debian's kernel and bluetoothd, in one virtual machine, against ours.

    debian.py LATCH INTEROP_PEER CACHE

The machine is booted once. Its adapters are controllers of the radios out here, where the program under test runs.
"""

import asyncio
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import server
import takeover
import visitor
from bluez import BlueZ
from machine import Machine
from support.daemons import Latch
from support.interop_peer import InteropPeer
from support.radios import RootCanal, VirtualRadio
from support.steps import Suite

# Nothing moves but what a step asks for; a challenge outlives the slowness of an emulated machine.
LOCK_SETTINGS = "[lock]\nrelock_seconds = 0\nchallenge_life_ms = 25500\n"

# Whose controllers hci0, hci1 and hci2 are.
RADIOS = ("virtual", "rootcanal", "rootcanal")


async def visit(latch, radio, name, host, adapter):
    suite = Suite(f"bluetoothd as a key over {name}")
    settings = latch.write("lock.conf", LOCK_SETTINGS)
    with latch.lock(radio.transport, "--config", settings) as lock:
        await visitor.run(suite, host, adapter, lock)
        lock.stop()
    suite.end()


async def be_served(peer, directory, radio, name, host, adapter):
    suite = Suite(f"our central before bluetoothd over {name}")
    with InteropPeer(peer, radio.transport, directory) as ours:
        await asyncio.to_thread(ours.power_on)
        await server.run(suite, host, adapter, ours)
        await asyncio.to_thread(ours.stop)
    suite.end()


async def take_over(latch, radio, name, host, adapter, taken):
    suite = Suite(f"our lock on the kernel's adapter over {name}")
    await takeover.run(suite, host, adapter, taken, latch, radio)
    suite.end()


async def run(program, peer, directory, radios, machine):
    suite = Suite("virtual machine")
    with suite.step("boot Debian's kernel") as figure:
        machine.boot()
        figure.is_(machine.run("uname -rv"))
    host = BlueZ(machine)
    with suite.step("bluetoothd takes a controller of each radio's") as figure:
        for index in range(len(RADIOS)):
            machine.add_adapter(index)
        await host.connect()
        await host.start()
        figure.is_(machine.run("/usr/libexec/bluetooth/bluetoothd --version"))
    for adapter, name in (("hci0", "virtual"), ("hci1", "rootcanal")):
        latch = Latch(program, tempfile.mkdtemp(prefix=name, dir=directory))
        await host.power(adapter)
        await visit(latch, radios[name], name, host, adapter)
        await be_served(peer, latch.state("central"), radios[name], name, host, adapter)
    await take_over(latch, radios[name], name, host, adapter, taken=2)
    with suite.step("shut down"):
        machine.stop()
    suite.end()


def main(program, lab, peer, cache):
    program, lab, peer = (os.path.abspath(path) for path in (program, lab, peer))
    with tempfile.TemporaryDirectory(prefix="latch-interop-") as directory:
        with VirtualRadio(lab, directory) as virtual, RootCanal(cache, directory) as rootcanal:
            radios = {"virtual": virtual, "rootcanal": rootcanal}
            with Machine(cache, directory, [radios[name].socket for name in RADIOS]) as machine:
                asyncio.run(run(program, peer, directory, radios, machine))
            for radio in radios.values():
                radio.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
