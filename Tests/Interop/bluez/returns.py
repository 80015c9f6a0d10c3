"""Deaths of the key with a request under way, and what its host loses and gets back while a request waits for a lock that is out of range."""

import asyncio
import math
import time

import bluez
from key import LOCK, MACHINE, WAIT
from support.steps import check, check_equal


def spread(times):
    ranked = sorted(times)

    def at(fraction):
        return ranked[max(0, math.ceil(fraction * len(ranked)) - 1)]

    return f"p50 {at(0.5):.2f} s, p99 {at(0.99):.2f} s, max {ranked[-1]:.2f} s" if ranked else "none"


async def killed(suite, count, key, headphone):
    with suite.step(f"killed {count} times with a request under way: each next life does what is asked") as figure:
        times = []
        for number in range(count):
            key.begin(f"unlock --wait {WAIT}")
            if number % 3:
                await asyncio.sleep(0.1 * (number % 7))
            key.kill()
            key.start()
            key.says('"message":"radio","state":"on"')
            begin = time.monotonic()
            key.opens()
            times.append(time.monotonic() - begin)
        check_equal(headphone.counts()[1], 0, "links of the headphone lost")
        figure.is_(spread(times))


class Returns:
    """What goes and comes back beside a key that has a wish. It is measured from the lock's own return: to the link, which shows that the
    wish was armed by then, and to the bolt."""

    def __init__(self, host, radio, machine, key, lock, headphone):
        self._host = host
        self._radio = radio
        self._machine = machine
        self._key = key
        self._lock = lock
        self._headphone = headphone

    async def run(self, suite, arguments):
        for title, count, stir in (
            ("bluetoothd is killed and started again", arguments.daemons, self._restart),
            ("the adapter is switched off and on", arguments.powers, self._cycle),
            ("the adapter is unplugged and plugged in again", arguments.plugs, self._replug),
            ("the machine is suspended and resumed", arguments.sleeps, self._sleep),
        ):
            with suite.step(f"{title}, {count} times while the lock is out of range: what was asked before is done") as figure:
                before = self._headphone.counts()[1]
                times = [await self._once(stir) for _ in range(count)]
                linked, done = ([pair[index] for pair in times] for index in range(2))
                ended = self._headphone.counts()[1] - before
                figure.is_(f"linked {spread(linked)}; the bolt {spread(done)}; the headphone's link ended {ended} times")

    async def _once(self, stir):
        made, lost = self._headphone.counts()
        await asyncio.to_thread(self._key.opens)
        self._radio.command(f"cut {MACHINE} {LOCK}")
        self._key.begin_and_keep(f"lock --wait {WAIT}")
        await stir()
        self._lock.errors.skip()
        self._radio.command(f"join {MACHINE} {LOCK}")
        begin = time.monotonic()
        await asyncio.to_thread(self._lock.wait_for_event, "connected")
        linked = time.monotonic() - begin
        await asyncio.to_thread(self._lock.wait_for_event, "bolt", bolt="locked")
        done = time.monotonic() - begin
        await self._host.look()
        await self._host.call(self._headphone.path, bluez.DEVICE, "Connect")
        # It ends with what goes, or outlives that, and by nothing else.
        counts = self._headphone.counts()
        check(counts in ((made, lost), (made + 1, lost + 1)), f"links of the headphone made and lost: {counts}, behind {made} and {lost}")
        return linked, done

    async def _restart(self):
        self._machine.run("kill -KILL $(cat /run/bluetoothd.pid)")
        self._machine.until("! kill -0 $(cat /run/bluetoothd.pid) 2>/dev/null", "bluetoothd ends")
        self._host.objects = {}
        await self._host.start()
        await self._host.power("hci0")

    async def _cycle(self):
        await self._host.power("hci0", on=False)
        await self._host.power("hci0")

    async def _replug(self):
        host, path = self._host, "/org/bluez/hci0"
        self._machine.remove_adapter(0)
        await host.until(lambda: bluez.ADAPTER not in host.objects.get(path, {}), "bluetoothd has lost the adapter")
        self._machine.add_adapter(0)
        await host.until(lambda: host.get(path, bluez.ADAPTER, "Address") is not None, "bluetoothd has the adapter")
        await host.power("hci0")

    async def _sleep(self):
        """As far as to where processes are frozen, for 5 s; the kernel ends its links before. Devices go on: the machine's shell is one."""
        self._machine.run("echo freezer >/sys/power/pm_test && echo freeze >/sys/power/state")
