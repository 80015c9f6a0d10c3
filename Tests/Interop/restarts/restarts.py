"""From a kill to notifications flowing again: ours beside bluetoothd, in one virtual machine and on one radio.

    restarts.py METRONOME LATCH_LAB INTEROP_PEER CACHE RESULT [--kills N]

Each peripheral is killed in turn, and started again at once by a shell. One central out here follows all of them by the same
rules. Its clock is the only one. RESULT gets a line of JSON for each peripheral, as `latch-lab restarts` takes it."""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile

sys.path[:0] = [os.path.join(os.path.dirname(__file__), folder) for folder in ("..", "../bluez")]

from machine import Machine
from peripherals import Native, Ours, Theirs
from subscriber import Subscriber
from support.interop_peer import InteropPeer
from support.radios import AdapterRadio
from support.steps import Suite


async def run(options, machine, peripherals, central):
    suite = Suite("restarts")
    with suite.step("boot Debian's kernel") as figure:
        machine.boot()
        for index in range(2):
            machine.add_adapter(index)
        figure.is_(machine.run("uname -rv"))
    await asyncio.to_thread(central.power_on)
    subscribers = []
    for peripheral in peripherals:
        with suite.step(f"{peripheral.title}: starts, is found, notifies"):
            await peripheral.start()
            subscribers.append(Subscriber(central, peripheral.service))
            await subscribers[-1].begin()
    milliseconds = [[] for _ in peripherals]
    for kill in range(1, options.kills + 1):
        for peripheral, subscriber, told in zip(peripherals, subscribers, milliseconds, strict=True):
            with suite.step(f"kill {kill}: {peripheral.title}") as figure:
                told.append(round(await subscriber.miss(peripheral.kill) * 1000))
                figure.is_(f"{told[-1]} ms")
    machine.stop()
    with open(options.result, "w", encoding="ascii") as file:
        for peripheral, subscriber, told in zip(peripherals, subscribers, milliseconds, strict=True):
            line = {"title": peripheral.title, "milliseconds": told, "lost": subscriber.lost}
            file.write(json.dumps(line) + "\n")
    suite.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for program in ("metronome", "lab", "peer", "cache", "result"):
        parser.add_argument(program)
    parser.add_argument("--kills", type=int, default=50, help="of each peripheral; 50 by default")
    options = parser.parse_args()
    if options.kills < 1:
        parser.error("--kills must be at least 1")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    program, lab, peer, cache = map(os.path.abspath, (options.metronome, options.lab, options.peer, options.cache))
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="latch-restarts-"))
        radio = stack.enter_context(AdapterRadio(lab, directory, adapters=4))
        central = stack.enter_context(InteropPeer(peer, f"unix:{radio.adapter(3)}", os.path.join(directory, "central")))
        machine = stack.enter_context(Machine(cache, directory, [radio.adapter(1), radio.adapter(2)]))
        native = Native(f"unix:{radio.adapter(4)}", program, directory)
        stack.callback(native.end)
        peripherals = [Ours(machine, 0, program), Theirs(machine, 1), native]
        asyncio.run(run(options, machine, peripherals, central))


if __name__ == "__main__":
    main()
