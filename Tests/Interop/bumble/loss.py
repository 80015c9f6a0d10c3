"""Links that are lost, both ways, and what is there again when they come back: Bumble against our two roles.

loss.py INTEROP_PEER LATCH CACHE rootcanal|virtual
"""

import contextlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import host
from bumble.gatt import Characteristic, Service
from bumble.pairing import PairingDelegate
from host import le
from support.interop_peer import InteropPeer
from support.ours import Remote
from support.steps import check_equal
from support.suites import play

SERVICE = "FFF0"
UUID = host.UUID.from_16_bits(0xFFF0)
CONNECTION_TIMEOUT = 0x08
NOTIFICATION, INDICATION = 0x1B, 0x1D


class Rig:
    """Our side and Bumble's on one radio, whose air between them can be cut."""

    def __init__(self, peer_program, radio, directory):
        self.radio = radio
        self._program = peer_program
        self._directory = directory
        self.ours = None
        self._our_controller = None
        self.bumble = None
        self._their_controller = None

    def start_ours(self):
        """The same side again when it has been killed."""
        self.ours = InteropPeer(
            self._program, self.radio.transport, os.path.join(self._directory, "ours"), "--restore", "app"
        )
        self._our_controller = self.radio.next_controller()

    @contextlib.asynccontextmanager
    async def with_bumble(self):
        async with host.Host.on(self.radio) as bumble:
            self._their_controller = self.radio.next_controller()
            self.bumble = bumble
            yield bumble

    def air(self, verb):
        self.radio.command(f"{verb} {self._our_controller} {self._their_controller}")


async def central(suite, rig):
    """Our central, Bumble's peripheral."""
    bumble = rig.bumble
    value = Characteristic("FFF1", Characteristic.Properties.NOTIFY, Characteristic.Permissions(0))
    bumble.device.add_service(Service(SERVICE, [value]))
    server = bumble.device.gatt_server

    async def subscribe(remote):
        service = next(one for one in await remote.services() if one["uuid"] == SERVICE)
        characteristic = (await remote.characteristics(service))[0]
        await remote.notify(characteristic)
        return characteristic

    async def lose(remote, link):
        rig.air("cut")
        check_equal((await remote.event("disconnected"))["error"], {"cb": 6}, "what our app hears")
        check_equal(await link.end(), CONNECTION_TIMEOUT, "what Bumble hears")

    connected = await bumble.advertise(UUID)
    remote = await Remote.find(rig.ours, SERVICE)
    await remote.connect()
    link = await host.within(connected, "Bumble's connection")
    characteristic = await subscribe(remote)
    with suite.step("our central loses a stranger: both hear of the timeout"):
        await lose(remote, link)
    with suite.step("it waits for the stranger, which comes back; the subscription does not"):
        await remote.call("connect")
        connected = await bumble.advertise(UUID)
        rig.air("join")
        await remote.event("connected")
        link = await host.within(connected, "Bumble's connection")
        services = await remote.services()
        again = (await remote.characteristics(services[-1]))[0]
        check_equal(again, characteristic, "the characteristic, as it was before it was subscribed to")
    with suite.step("pair, subscribe, lose the link, wait, and come back encrypted: notified without asking"):
        user = host.User(PairingDelegate.DISPLAY_OUTPUT_ONLY)
        bumble.set_pairing(user)
        await remote.call("pair", method="passkeyEntry", credential="server")
        await remote.event("passkeyRequested")
        await remote.call("enterPasskey", passkey=await host.within(user.shown, "the passkey"))
        check_equal((await remote.event("paired"))["error"], None, "pairing")
        characteristic = await subscribe(remote)
        # Bumble's server forgets with the link what a bonded client wrote.
        configured = server.subscribers[link.connection]
        await lose(remote, link)
        rig.ours.forget()
        await remote.call("connect")
        connected = await bumble.advertise(UUID)
        rig.air("join")
        await remote.event("connected")
        link = await host.within(connected, "Bumble's connection")
        server.subscribers[link.connection] = configured
        await remote.call("encrypt")
        await remote.event("security", error=None)
        await server.notify_subscriber(link.connection, value, b"back")
        check_equal(await remote.update(characteristic), b"back", "the notification")
    with suite.step("lose it, wait, and be killed while waiting: the next process connects unasked, and is notified"):
        await lose(remote, link)
        await remote.call("connect")
        rig.ours.kill()
        rig.start_ours()
        restored = await rig.ours.aevent("centralRestored")
        check_equal(restored["peripherals"], [remote.identifier], "what is restored")
        remote = Remote(rig.ours, remote.identifier)
        connected = await bumble.advertise(UUID)
        await remote.event("connected")
        link = await host.within(connected, "Bumble's connection")
        server.subscribers[link.connection] = configured
        await remote.call("encrypt")
        await remote.event("security", error=None)
        await server.notify_subscriber(link.connection, value, b"once more")
        told = await remote.event("value")
        check_equal((told["uuid"], told["value"]), ("FFF1", b"once more".hex().upper()), "the notification")
        await remote.disconnect()
        await link.end()


async def peripheral(suite, rig):
    """Our peripheral, Bumble's central."""
    ours, bumble = rig.ours, rig.bumble
    kinds = [{"uuid": "FFF1", "properties": ["notify"]}, {"uuid": "FFF2", "properties": ["indicate"]}]
    await ours.acall("addService", service={"uuid": SERVICE, "characteristics": kinds})
    handles = (await ours.aevent("added"))["handles"]
    at, indicating = handles["FFF1"], handles["FFF2"]
    await ours.acall("advertise", services=[SERVICE])
    await ours.aevent("advertising", error=None)

    async def lose(link):
        rig.air("cut")
        check_equal((await rig.ours.aevent("centralDisconnected"))["reason"], CONNECTION_TIMEOUT, "what our app hears")
        check_equal(await link.end(), CONNECTION_TIMEOUT, "what Bumble hears")

    async def update(value, characteristic="FFF1"):
        await rig.ours.acall("update", characteristic=characteristic, value=value)

    link = await bumble.connect(await bumble.find(UUID))
    await link.ask(b"\x12" + le(at + 1) + b"\x01\x00")
    await ours.aevent("subscribed")
    with suite.step("our peripheral loses a stranger: both hear of the timeout, and its subscription is gone"):
        await lose(link)
        await ours.aevent("unsubscribed")
    rig.air("join")

    async def passkey():
        return (await ours.aevent("passkey"))["passkey"]

    bumble.set_pairing(host.User(PairingDelegate.KEYBOARD_INPUT_ONLY, types=passkey))
    await ours.acall("setPairingWindow", method="passkeyDisplay", credential="client")
    link = await bumble.connect(await bumble.find(UUID))
    with suite.step(
        "pair, subscribe, lose the link: the client that is back gets the newest value and each indication"
    ):
        await host.within(link.connection.pair(), "pairing")
        await ours.aevent("centralPaired")
        await link.ask(b"\x12" + le(at + 1) + b"\x01\x00")
        await link.ask(b"\x12" + le(indicating + 1) + b"\x02\x00")
        await lose(link)
        for value in (b"one", b"two"):
            await update(value)
            await update(value, "FFF2")
        rig.air("join")
        link = await bumble.connect(await bumble.find(UUID))
        await host.within(link.connection.encrypt(), "encryption")
        expected = [
            bytes([INDICATION]) + le(indicating) + b"one",
            bytes([NOTIFICATION]) + le(at) + b"two",
            bytes([INDICATION]) + le(indicating) + b"two",
        ]
        check_equal([await link.update() for _ in expected], expected, "what was told meanwhile")
        # Behind the last confirmation: what is lost with the air before that would be told again.
        await link.ask(b"\x0a" + le(at + 1))
    with suite.step("lose it, and be killed: the next process advertises, serves and notifies as if nothing had been"):
        await lose(link)
        ours.kill()
        rig.start_ours()
        restored = await rig.ours.aevent("peripheralRestored")
        check_equal((restored["services"], restored["advertising"]), ([SERVICE], True), "what is restored")
        link = await bumble.connect(await bumble.find(UUID))
        await host.within(link.connection.encrypt(), "encryption")
        await rig.ours.aevent("centralSecurity", error=None)
        await update(b"still")
        check_equal(await link.update(), bytes([NOTIFICATION]) + le(at) + b"still", "the notification")
        await link.close()


async def run(suite, rig, part):
    rig.start_ours()
    try:
        rig.ours.power_on()
        async with rig.with_bumble():
            await part(suite, rig)
        rig.ours.stop()
    finally:
        rig.ours.__exit__(*sys.exc_info())


def on_a_rig(part):
    async def play_part(suite, program, radio, directory):
        await run(suite, Rig(program, radio, directory), part)

    return play_part


if __name__ == "__main__":
    play("Bumble and links that are lost", on_a_rig(central), on_a_rig(peripheral))
