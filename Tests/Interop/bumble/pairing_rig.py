"""What the suites of pairing share: our side with its user, Bumble hosts that it never met, what a bond is worth."""

import asyncio
import contextlib
import functools
import os

import host
from bumble.core import ProtocolError
from bumble.gatt import Characteristic, Service
from bumble.pairing import PairingDelegate
from support.interop_peer import InteropPeer
from support.ours import Remote
from support.steps import StepFailed, check, check_equal
from support.suites import play

SERVICE = "FFF0"
UUID = host.UUID.from_16_bits(0xFFF0)
# Core 5.4, Vol 3, Part H, 3.5.5 (Pairing Failed)
AUTHENTICATION_REQUIREMENTS, CONFIRM_VALUE_FAILED, PAIRING_NOT_SUPPORTED = 0x03, 0x04, 0x05
UNSPECIFIED_REASON, REPEATED_ATTEMPTS, NUMERIC_COMPARISON_FAILED = 0x08, 0x09, 0x0C
# Core 5.4, Vol 1, Part F, 1.3 (List of error codes)
AUTHENTICATION_FAILURE, PIN_OR_KEY_MISSING = 0x05, 0x06
# Core 5.4, Vol 3, Part F, 3.4.1.1 (ATT_ERROR_RSP)
INSUFFICIENT_AUTHENTICATION, INSUFFICIENT_ENCRYPTION = 0x05, 0x0F

# What Bumble's user has.
NOTHING = PairingDelegate.NO_OUTPUT_NO_INPUT
COMPARES = PairingDelegate.DISPLAY_OUTPUT_AND_YES_NO_INPUT
TYPES = PairingDelegate.KEYBOARD_INPUT_ONLY
SHOWS = PairingDelegate.DISPLAY_OUTPUT_ONLY
# What Bumble can do, and the method that it leads to with our keyboard and display; its part of it in words.
METHODS = [
    (NOTHING, "justWorks", "nobody looks"),
    (COMPARES, "numericComparison", "both compare"),
    (TYPES, "passkeyEntry", "Bumble's user types"),
    (SHOWS, "passkeyEntry", "our user types"),
]


class Table:
    """Our side's user, who answers what the agent is asked."""

    def __init__(self, ours):
        self.ours = ours

    async def answer(self, event, **answer):
        await self.ours.acall("answerPairing", peer=event["peer"], **answer)

    async def consent(self, model):
        asked = await self.ours.aevent("agentConsent")
        check_equal(asked["model"], model, "the method that our user is asked about")
        await self.answer(asked, consent=True)

    async def agree(self, model):
        """Our user, who has begun it, is asked only where a pairing shows nothing else."""
        if model == "justWorks":
            await self.consent(model)

    async def compare(self, user, equal=True):
        asked = await self.ours.aevent("agentCompare")
        check_equal(asked["number"], await host.within(user.shown, "the number"), "the number that both show")
        await self.answer(asked, equal=equal)

    async def type(self, user, off_by=0):
        asked = await self.ours.aevent("agentPasskey")
        passkey = await host.within(user.shown, "the passkey")
        await self.answer(asked, passkey=(passkey + off_by) % 1_000_000)

    async def shown(self):
        return (await self.ours.aevent("agentDisplay"))["passkey"]

    async def ended(self):
        """The bond, or the failure."""
        ended = await self.ours.aevent("agentEnded")
        return ended["bond"] or spoken(ended["error"])

    def user(self, capability, off_by=0, equal=True):
        """Somebody before Bumble, who types what we show and compares what both show."""

        async def types():
            return (await self.shown() + off_by) % 1_000_000

        async def compares(_):
            return equal

        return host.User(capability, types=types, compares=compares)

    async def take_part(self, user, model):
        """What our user does in a pairing by this method that nobody spoils."""
        if model == "numericComparison":
            await self.compare(user)
        elif model == "passkeyEntry" and user.io_capability == SHOWS:
            await self.type(user)


def spoken(error):
    """How a pairing failed: who gave it up and with which reason."""
    return " ".join(str(error[name]) for name in ("pairing", "reason") if name in error) or str(error)


async def bonds_with(ours, bumble):
    """Ours, with a Bumble host. While a new one waits for its first use, the one that it replaces is there too."""
    return [one for one in (await ours.acall("bonds"))["bonds"] if one["identity"] == bumble.address]


async def check_bond(ours, bumble, identifier, model, secure_connections=True):
    """The bond that a pairing has ended with."""
    bond = next((one for one in await bonds_with(ours, bumble) if one["bond"] == identifier), None)
    check(bond is not None, f"there is no bond {identifier}")
    said = (bond["model"], bond["secureConnections"], bond["keySize"], bond["signs"], bond["verifies"])
    check_equal(said, (model, secure_connections, 16, True, True), "the bond")
    return bond


async def refusal(pairing):
    """With which reason a pairing of Bumble's fails."""
    try:
        await host.within(pairing, "pairing")
    except ProtocolError as error:
        return error.error_code
    raise StepFailed("Bumble paired")


@contextlib.asynccontextmanager
async def stranger(radio):
    """A Bumble host that our side has never met."""
    async with host.Host.on(radio) as bumble:
        yield bumble


# Bumble as the initiator: our peripheral.


async def publish(ours):
    """A value for each of two levels, and their handles."""
    characteristics = [
        {"uuid": "FFF2", "name": "level2", "properties": ["read"], "access": {"read": "encrypted"}, "value": b"2"},
        {
            "uuid": "FFF3",
            "name": "level4",
            "properties": ["read"],
            "access": {"read": "encryptedSecureConnections"},
            "value": b"4",
        },
    ]
    await ours.acall("addService", service={"uuid": SERVICE, "characteristics": characteristics})
    handles = (await ours.aevent("added", error=None))["handles"]
    await ours.acall("advertise", services=[SERVICE])
    await ours.aevent("advertising", error=None)
    return handles["level2"], handles["level4"]


async def come_back(bumble, guarded, is_authenticated=True):
    """On another link the LTK opens what it is worth."""
    level2, level4 = guarded
    async with bumble.connected(UUID) as link:
        refused = host.error(0x0A, level2, INSUFFICIENT_ENCRYPTION)
        check_equal(await link.ask(b"\x0a" + host.le(level2)), refused, "level 2 before encryption")
        await host.within(link.connection.encrypt(), "encryption with the LTK")
        check_equal(await link.ask(b"\x0a" + host.le(level2)), b"\x0b2", "level 2")
        expected = b"\x0b4" if is_authenticated else host.error(0x0A, level4, INSUFFICIENT_AUTHENTICATION)
        check_equal(await link.ask(b"\x0a" + host.le(level4)), expected, "level 4")


async def meet(ours, bumble, user, **options):
    """Bumble advertises a service that wants encryption, our central finds it and connects."""
    wants = Characteristic.Permissions.READ_REQUIRES_AUTHENTICATION
    guarded = Characteristic("FFF1", Characteristic.Properties.READ, wants, b"guarded")
    bumble.device.add_service(Service(SERVICE, [guarded]))
    bumble.set_pairing(user, **options)
    connected = await bumble.advertise(UUID)
    remote = await Remote.find(ours, SERVICE)
    await remote.connect()
    return remote, await host.within(connected, "Bumble's connection")


async def return_to(ours, remote, bumble, link):
    """The same two on another link; if they have paired on this one, when both have kept their keys."""
    if link is not None:
        await host.within(link.paired, "Bumble's keys")
        await remote.disconnect()
        await link.end()
    ours.forget()
    connected = await bumble.advertise(UUID)
    await remote.connect()
    return await host.within(connected, "Bumble's connection")


async def encrypt(remote, bond, is_authenticated=True):
    await remote.call("encrypt")
    await check_secured(remote, bond, is_authenticated)


async def check_secured(remote, bond, is_authenticated=True):
    link = (await remote.event("security", error=None))["link"]
    said = (link["bond"], link["proven"], link["encrypted"], link["authenticated"], link["keySize"])
    check_equal(said, (bond["bond"], True, True, is_authenticated, 16), "the link")


# Signed writes, with the keys that pairing gave. Their MACs are computed and checked here.


async def pair_again(ours, bumble, table):
    user = table.user(COMPARES)
    bumble.set_pairing(user)
    async with bumble.connected(UUID) as link:
        paired = asyncio.ensure_future(link.connection.pair())
        await table.consent("numericComparison")
        await table.compare(user)
        await host.within(paired, "pairing")
        bond = await table.ended()
        await check_bond(ours, bumble, bond, "numericComparison")
        return bond


async def forget_bonds(bumble):
    for name, _ in await bumble.device.keystore.get_all():
        await bumble.device.keystore.delete(name)


async def _run(part, rules, suite, peer_program, radio, directory):
    options = ("--pairing", rules, "--io", "keyboardDisplay")
    with InteropPeer(peer_program, radio.transport, os.path.join(directory, part.__name__), *options) as ours:
        ours.power_on()
        await part(suite, ours, radio)
        ours.stop()


def run_parts(title, parts):
    """Each part with a radio and a side of ours of its own, under its rules for pairing."""
    play(title, *(functools.partial(_run, part, rules) for part, rules in parts))
