"""Our two roles over RootCanal's controllers, several links at once: three sides in a ring, each the central of the next,
and one central with many peripherals.

two_roles.py INTEROP_PEER CACHE
"""

import asyncio
import contextlib
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from support.interop_peer import InteropPeer
from support.ours import Remote
from support.radios import RootCanal
from support.steps import Suite, check_equal

LONG = bytes(number * 5 % 256 for number in range(512))
UPDATES = 50
PERIPHERALS = 6


class Side:
    """A peripheral with a service of its own, and the central of another side."""

    def __init__(self, ours, controller, number):
        self.ours = ours
        self.controller = controller
        self.service = f"FFF{number}"
        self.remote = None
        self.tree = {}

    async def publish(self):
        def characteristic(name, properties, **more):
            return {"uuid": f"FFE{len(characteristics) + 1}", "name": name, "properties": properties, **more}

        characteristics = []
        both = {"access": {"read": "open", "writeRequest": "open"}}
        characteristics.append(characteristic("long", ["read", "write"], value=LONG, **both))
        characteristics.append(characteristic("notifying", ["notify"]))
        characteristics.append(characteristic("indicating", ["indicate"]))
        level4 = {"access": {"read": "encryptedSecureConnections"}}
        characteristics.append(characteristic("secret", ["read"], value=self.service.encode(), **level4))
        await self.ours.acall("addService", service={"uuid": self.service, "characteristics": characteristics})
        await self.ours.aevent("added", error=None)
        await self.ours.acall("advertise", services=[self.service])
        await self.ours.aevent("advertising", error=None)

    async def meet(self, other):
        """Connects to another side and discovers its service."""
        self.remote = await Remote.find(self.ours, other.service)
        await self.remote.connect()
        await self.discover(other)

    async def discover(self, other):
        service = next(one for one in await self.remote.services() if one["uuid"] == other.service)
        found = await self.remote.characteristics(service)
        self.tree = dict(zip(("long", "notifying", "indicating", "secret"), found))


async def each(sides, do):
    """With every side and the one that it is the central of, at once."""
    return await asyncio.gather(*(do(side, other) for side, other in zip(sides, sides[1:] + sides[:1])))


async def exchange(side, other):
    """Long values, as many notifications and indications as the queues hold and more, all in order."""
    check_equal(await side.remote.read(side.tree["long"]), LONG, "the value read")
    await side.remote.write(side.tree["long"], LONG[::-1])
    written = bytes.fromhex((await other.ours.acall("getValue", characteristic="long"))["value"])
    check_equal(written, LONG[::-1], "the value written")
    for name in ("notifying", "indicating"):
        await side.remote.notify(side.tree[name])
    await asyncio.gather(*(tell(side, other, name) for name in ("notifying", "indicating")))


async def tell(side, other, name):
    for number in range(UPDATES):
        value = number.to_bytes(2, "big")
        while not (await other.ours.acall("update", characteristic=name, value=value))["sent"]:
            await other.ours.aevent("readyToUpdate")
    heard = [int.from_bytes(await side.remote.update(side.tree[name]), "big") for _ in range(UPDATES)]
    check_equal(heard, list(range(UPDATES)), f"the updates of {name}")


async def pair(side, other):
    """By numeric comparison, in which both users take part."""
    await side.remote.call("pair")
    consent = await other.ours.aevent("agentConsent")
    await other.ours.acall("answerPairing", peer=consent["peer"], consent=True)
    central = await side.ours.aevent("agentCompare", peer=side.remote.identifier)
    peripheral = await other.ours.aevent("agentCompare", peer=consent["peer"])
    check_equal(central["number"], peripheral["number"], "the numbers that both show")
    await side.ours.acall("answerPairing", peer=central["peer"], equal=True)
    await other.ours.acall("answerPairing", peer=peripheral["peer"], equal=True)
    check_equal((await side.remote.event("paired"))["error"], None, "pairing")


async def ring(suite, sides, radio):
    with suite.step("each connects to the next: three sides with a link in either role"):
        await asyncio.gather(*(side.publish() for side in sides))
        for side, other in zip(sides, sides[1:] + sides[:1]):
            await side.meet(other)
    with suite.step(f"each reads and writes 512 octets, and is told {UPDATES} values by each way, all at once"):
        await each(sides, exchange)
    with suite.step("lose one of the links: the others go on, and it is there again when the air is"):
        first, second, third = sides
        radio.command(f"cut {first.controller} {second.controller}")
        await first.remote.event("disconnected", error={"cb": 6})
        for side in (second, third):
            check_equal(await side.remote.read(side.tree["long"]), LONG[::-1], "the value read")
        await second.ours.aevent("centralDisconnected", reason=8)
        await first.remote.call("connect")
        radio.command(f"join {first.controller} {second.controller}")
        await first.remote.event("connected")
        await first.discover(second)
        check_equal(await first.remote.read(first.tree["long"]), LONG[::-1], "the value read")
    with suite.step("each pairs with the next by numeric comparison, and reads what wants level 4"):
        for side, other in zip(sides, sides[1:] + sides[:1]):
            await pair(side, other)
            secret = await side.remote.read(side.tree["secret"])
            check_equal(secret, other.service.encode(), "the value")
        bonds = [len((await side.ours.acall("bonds"))["bonds"]) for side in sides]
        check_equal(bonds, [2, 2, 2], "the bonds")


async def star(suite, hub, sides):
    with suite.step(f"one central connects to {len(sides)} peripherals and reads of all at once") as figure:
        await asyncio.gather(*(side.publish() for side in sides))
        spokes = []
        for side in sides:
            spoke = Side(hub, None, 0)
            await spoke.meet(side)
            spokes.append(spoke)
        values = await asyncio.gather(*(spoke.remote.read(spoke.tree["long"]) for spoke in spokes))
        check_equal(values, [LONG] * len(sides), "the values")
        figure.is_(f"{len(values)} links")


async def run(suite, peer_program, radio, directory):
    with contextlib.ExitStack() as stack:

        def start(name):
            options = ("--pairing", "level=4", "--io", "displayYesNo")
            ours = InteropPeer(
                peer_program, radio.transport, os.path.join(directory, name), *options, name=f"side {name}"
            )
            controller = radio.next_controller()
            return stack.enter_context(ours).power_on(), controller

        sides = [Side(*start(str(number)), number) for number in range(3)]
        await ring(suite, sides, radio)
        hub, _ = start("hub")
        more = [Side(*start(str(number)), number) for number in range(3, 3 + PERIPHERALS)]
        await star(suite, hub, more)
        for ours in [hub, *(side.ours for side in sides + more)]:
            ours.stop()


def main(peer_program, cache):
    suite = Suite("our two roles over RootCanal")
    with tempfile.TemporaryDirectory(prefix="latch-interop-") as directory, RootCanal(cache, directory) as radio:
        asyncio.run(run(suite, peer_program, radio, directory))
        radio.stop()
    suite.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
