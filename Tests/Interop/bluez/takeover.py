"""Our lock inside the machine, on an adapter of the kernel's that it takes over through the HCI user channel."""

import asyncio

import bluez
from inside import EXIT_TRANSPORT, Inside
from support.processes import DEADLINE_SECONDS
from support.steps import check, check_equal
from visitor import CHALLENGE, LOCK_SERVICE, Visitor


async def take_from_bluetoothd(suite, host, inside):
    with suite.step("bluetoothd holds the adapter: ours leaves it to it, and says how it is handed over") as figure:
        await host.power(inside.adapter)
        said = await inside.refuse()
        check("bluetoothd holds the adapter" in said, f"latch said {said}")
        check(host.get(inside.path, bluez.ADAPTER, "Powered") is True, "bluetoothd lost its adapter")
        figure.is_(f"exit status {EXIT_TRANSPORT}")

    with suite.step("bluetoothd hands it over, by powering it off: ours takes it and advertises"):
        await host.power(inside.adapter, on=False)
        await inside.start()
        await host.until(lambda: bluez.ADAPTER not in host.objects.get(inside.path, {}), "bluetoothd has the adapter no more")


async def be_visited(suite, host, adapter, inside):
    visitor = Visitor(host, adapter)
    with suite.step("bluetoothd hears it on another adapter, connects, discovers, reads challenges") as figure:
        device = await visitor.find(LOCK_SERVICE)
        await visitor.connect()
        first, second = await visitor.read(CHALLENGE), await visitor.read(CHALLENGE)
        check_equal((len(first), len(second)), (8, 8), "the challenges' octets")
        check(first[:6] != second[:6], "a challenge was handed out twice")
        await visitor.disconnect()
        figure.is_(device["Address"])


async def be_opened(suite, inside, key):
    with suite.step("our key, out here, enrols at it by setup code and unlocks it by one signed packet"):
        code = await inside.open_window("anna")
        await asyncio.to_thread(key.ask, "enroll", "-", text=code + "\n")
        answer = await asyncio.to_thread(key.ask, "unlock", "--wait", str(int(DEADLINE_SECONDS)))
        check_equal(answer.result, {"outcome": "done"}, "what became of the command")
        check_equal(inside.status()["bolt"], "unlocked", "the bolt")


async def give_back(suite, host, inside):
    with suite.step("ours ends: bluetoothd has the adapter back, and brings it up"):
        await inside.stop()
        await host.until(lambda: bluez.ADAPTER in host.objects.get(inside.path, {}), "bluetoothd has the adapter")
        await host.power(inside.adapter)


async def take_what_nobody_uses(suite, host, inside):
    with suite.step("the adapter is up and nobody uses it: ours brings it down and takes it"):
        await host.stop()
        inside.bring_up()
        await inside.start()

    with suite.step("SIGKILL: the adapter is free, and can be brought up"):
        await inside.kill()
        inside.bring_down()
        inside.bring_up()


async def run(suite, host, adapter, taken, latch, radio):
    """bluetoothd visits on `adapter`; the adapter of the number `taken` is the one that ours takes."""
    inside = Inside(latch.program, host.machine, taken)
    await take_from_bluetoothd(suite, host, inside)
    await be_visited(suite, host, adapter, inside)
    with latch.key(radio.transport) as key:
        await be_opened(suite, inside, key)
        await asyncio.to_thread(key.stop)
    await give_back(suite, host, inside)
    await take_what_nobody_uses(suite, host, inside)
