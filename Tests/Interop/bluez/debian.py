"""Debian's kernel and bluetoothd, in one virtual machine, against ours.

    debian.py LATCH INTEROP_PEER CACHE

The machine is booted once. Its adapters are controllers of the radio out here, where the program under test runs.
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
from support.radios import VirtualRadio
from support.steps import Suite

# Nothing moves but what a step asks for; a challenge outlives the slowness of an emulated machine.
LOCK_SETTINGS = "[lock]\nrelock_seconds = 0\nchallenge_life_ms = 25500\n"


async def visit(latch, radio, host):
    suite = Suite("bluetoothd as a key")
    settings = latch.write("lock.conf", LOCK_SETTINGS)
    with latch.lock(radio.transport, "--config", settings) as lock:
        await visitor.run(suite, host, "hci0", lock)
        lock.stop()
    suite.end()


async def be_served(peer, directory, radio, host):
    suite = Suite("our central before bluetoothd")
    with InteropPeer(peer, radio.transport, os.path.join(directory, "central")) as ours:
        await asyncio.to_thread(ours.power_on)
        await server.run(suite, host, "hci0", ours)
        await asyncio.to_thread(ours.stop)
    suite.end()


async def take_over(latch, radio, host):
    suite = Suite("our lock on the kernel's adapter")
    await takeover.run(suite, host, latch, radio)
    suite.end()


async def run(latch, peer, radio, machine):
    suite = Suite("virtual machine")
    with suite.step("boot Debian's kernel") as figure:
        machine.boot()
        figure.is_(machine.run("uname -rv"))
    host = BlueZ(machine)
    with suite.step("bluetoothd takes a controller of the radio's") as figure:
        machine.add_adapter(0)
        await host.connect()
        await host.start()
        await host.power("hci0")
        figure.is_(machine.run("/usr/libexec/bluetooth/bluetoothd --version"))
    await visit(latch, radio, host)
    await be_served(peer, latch.directory, radio, host)
    await take_over(latch, radio, host)
    with suite.step("shut down"):
        machine.stop()
    suite.end()


def main(program, peer, cache):
    program, peer = os.path.abspath(program), os.path.abspath(peer)
    with tempfile.TemporaryDirectory(prefix="latch-interop-") as directory:
        latch = Latch(program, directory)
        with VirtualRadio(program, directory) as radio:
            with Machine(cache, directory, [radio.socket] * 2) as machine:
                asyncio.run(run(latch, peer, radio, machine))
            radio.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
