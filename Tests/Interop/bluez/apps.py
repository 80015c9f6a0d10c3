"""An app that is written for Apple's Core Bluetooth, beside bluetoothd in a virtual machine with Debian's: as an ordinary user, without a
word of where the adapter is, while bluetoothd keeps the adapter and a headphone's link.

    apps.py APPS LAB CACHE BUMBLE_PYTHON [--kills N]

APPS is the directory of the built examples: the heart rate monitor runs inside, the sensor and the headphone out here, over the same radio.
What is believed comes from what the app prints and from the headphone.
"""

import argparse
import asyncio
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import bluez
from bluez import BlueZ
from headphone import Headphone
from key import USER
from machine import Machine
from support.processes import DEADLINE_SECONDS, Process
from support.radios import VirtualRadio
from support.steps import Suite, check, check_equal


class Sensor(Process):
    """The heart rate sensor, out here, on an adapter of its own."""

    def __init__(self, apps, radio, directory):
        os.makedirs(f"{directory}/sensor", mode=0o700, exist_ok=True)
        variables = (f"LATCH_TRANSPORT={radio.transport}", f"LATCH_STATE={directory}/sensor")
        super().__init__("sensor", ["env", *variables, f"{apps}/HeartRateSensor"])


class App:
    """A program inside, of user 1000, who knows nothing of transports."""

    def __init__(self, machine, program):
        self._machine = machine
        self._name = os.path.basename(program)
        state = f"/run/{self._name}"
        machine.run(f"mkdir -m 0700 -p {state} && chown 1000:1000 {state}")
        self._words = f"{USER} /usr/bin/env LATCH_STATE={state} {program}"
        self._lives = 0

    @property
    def log(self):
        return f"/run/{self._name}.{self._lives}.log"

    def start(self):
        self._lives += 1
        self._machine.run(f"{self._words} >{self.log} 2>&1 & echo $! >/run/{self._name}.pid")

    def kill(self):
        pid = f"$(cat /run/{self._name}.pid)"
        self._machine.run(f"kill -KILL {pid}")
        self._machine.until(f"! kill -0 {pid} 2>/dev/null", "the app ends")

    def prints(self, wanted, times=1):
        """So often at least in this life."""
        self._machine.until(f"[ $(grep -c '{wanted}' {self.log}) -ge {times} ]", f"the app prints {wanted}, {times} times")

    def times_printed(self, wanted):
        return int(self._machine.run(f"grep -c '{wanted}' {self.log} || true"))

    def printed(self):
        return self._machine.run(f"cat {self.log}").splitlines()


async def run(suite, arguments, radio, machine, directory, headphone):
    host = BlueZ(machine)
    with suite.step("bluetoothd has the adapter, and a headphone connected"):
        machine.boot()
        machine.add_adapter(0)
        await host.connect()
        await host.start()
        await host.power("hci0")
        await headphone.connected_by(host)
    with Sensor(arguments.apps, radio, directory) as sensor:
        sensor.output.wait_for(lambda line: True if line == "advertising" else None, "the sensor advertises")
        app = App(machine, f"{arguments.apps}/HeartRateMonitor")
        with suite.step("an ordinary user's app finds bluetoothd by itself, and with it the sensor, and hears it") as figure:
            app.start()
            app.prints("state: poweredOn")
            for line in ("discovered a sensor", "connected", "worn on: chest", "new session", "listening"):
                app.prints(line)
            app.prints("heart rate: ", times=3)
            figure.is_("; ".join(app.printed()[:5]))
        with suite.step(f"the app is killed {arguments.kills} times: each next life is restored, and goes on in the same session"):
            for _ in range(arguments.kills):
                app.kill()
                app.start()
                app.prints("restored: 1 peripheral")
                app.prints("heart rate: ", times=2)
                check_equal(app.times_printed("discovered a sensor") + app.times_printed("new session"), 0, "beginnings")
        with suite.step("the sensor goes and comes: the app hears both, and is connected again by itself"):
            sensor.kill()
            app.prints("disconnected")
            heard = app.times_printed("heart rate: ")
            with Sensor(arguments.apps, radio, directory):
                app.prints("connected", times=2)
                app.prints("heart rate: ", heard + 2)
        check_equal(headphone.counts(), (1, 0), "links of the headphone made and lost")
    with Sensor(arguments.apps, radio, directory):
        with suite.step("bluetoothd is killed and started again: the app goes on") as figure:
            heard = app.times_printed("heart rate: ")
            machine.run("kill -KILL $(cat /run/bluetoothd.pid)")
            machine.until("! kill -0 $(cat /run/bluetoothd.pid) 2>/dev/null", "bluetoothd ends")
            host.objects = {}
            await host.start()
            await host.power("hci0")
            app.prints("heart rate: ", heard + 2)
            figure.is_("; ".join(app.printed()[-6:]))
        app.kill()
    with suite.step("an app with the peripheral role hears that there is none here, and what would help"):
        other = App(machine, f"{arguments.apps}/HeartRateSensor")
        other.start()
        other.prints("state: unsupported")
        other.prints("an adapter of its own")
        check(other.times_printed("poweredOn") == 0, "it was told of an adapter")
        other.kill()


def main():
    parser = argparse.ArgumentParser(description="An app beside bluetoothd.")
    for name in ("apps", "lab", "cache", "python"):
        parser.add_argument(name)
    parser.add_argument("--kills", type=int, default=3)
    arguments = parser.parse_args()
    suite = Suite("an app beside bluetoothd")
    with tempfile.TemporaryDirectory(prefix="latch-apps-") as directory:
        with VirtualRadio(arguments.lab, directory) as radio, Machine(arguments.cache, directory, [radio.socket]) as machine:
            with Headphone(arguments.python, radio) as headphone:
                asyncio.run(run(suite, arguments, radio, machine, directory, headphone))
    suite.end()


main()
