"""Pairing with Bumble by each method and in both roles, every way in which it fails, and bonds that one side lost.

pairing.py INTEROP_PEER LATCH CACHE rootcanal|virtual
"""

import asyncio
import contextlib
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import host
from bumble.core import ProtocolError
from bumble.gatt import Characteristic, Service
from bumble.hci import HCI_Error
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.smp import OobContext, OobLegacyContext, OobSharedData
from support.ours import Remote
from support.interop_peer import InteropPeer
from support.radios import RootCanal, VirtualRadio
from support.steps import StepFailed, Suite, check, check_equal

SERVICE = "FFF0"
UUID = host.UUID.from_16_bits(0xFFF0)
# Core 5.4, Vol 3, Part H, 3.5.5 (Pairing Failed)
AUTHENTICATION_REQUIREMENTS, CONFIRM_VALUE_FAILED, PAIRING_NOT_SUPPORTED = 0x03, 0x04, 0x05
UNSPECIFIED_REASON, REPEATED_ATTEMPTS, NUMERIC_COMPARISON_FAILED = 0x08, 0x09, 0x0C
# Core 5.4, Vol 1, Part F, 1.3 (List of error codes)
PIN_OR_KEY_MISSING = 0x06
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
    """Our side's user: answers what the agent is asked, as long as `obeys` says so."""

    def __init__(self, ours):
        self.ours = ours

    async def answer(self, event, **answer):
        await self.ours.acall("answerPairing", peer=event["peer"], **answer)

    async def consent(self, model, consents=True):
        asked = await self.ours.aevent("agentConsent")
        check_equal(asked["model"], model, "the method that our user is asked about")
        await self.answer(asked, consent=consents)

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


async def our_peripheral(suite, ours, radio):
    table = Table(ours)
    guarded = await publish(ours)
    for capability, model, how in METHODS:
        async with stranger(radio) as bumble:
            with suite.step(f"our peripheral, {model}, {how}: pair, come back with the LTK"):
                user = table.user(capability)
                bumble.set_pairing(user)
                async with bumble.connected(UUID) as link:
                    paired = asyncio.ensure_future(link.connection.pair())
                    await table.consent(model)
                    await table.take_part(user, model)
                    await host.within(paired, "pairing")
                    await check_bond(ours, bumble, await table.ended(), model)
                await come_back(bumble, guarded, is_authenticated=model != "justWorks")

    failures = [
        ("our user does not consent", NOTHING, {}, PAIRING_NOT_SUPPORTED),
        (
            "our user says that the numbers differ",
            COMPARES,
            {},
            NUMERIC_COMPARISON_FAILED,
        ),
        # So Bumble calls it.
        (
            "Bumble's user says that the numbers differ",
            COMPARES,
            {"equal": False},
            CONFIRM_VALUE_FAILED,
        ),
        ("Bumble's user types another passkey", TYPES, {"off_by": 1}, CONFIRM_VALUE_FAILED),
        ("our user types another passkey", SHOWS, {}, CONFIRM_VALUE_FAILED),
        ("our user types none", SHOWS, {}, UNSPECIFIED_REASON),
    ]
    for title, capability, options, reason in failures:
        async with stranger(radio) as bumble, bumble.connected(UUID) as link:
            with suite.step(f"our peripheral, {title}: no bond") as figure:
                user = table.user(capability, **options)
                bumble.set_pairing(user)
                paired = asyncio.ensure_future(link.connection.pair())
                asked = await ours.aevent("agentConsent")
                await table.answer(asked, consent=title != "our user does not consent")
                if "numbers differ" in title:
                    await table.compare(user, equal=not title.startswith("our"))
                elif title == "our user types another passkey":
                    await table.type(user, off_by=1)
                elif title == "our user types none":
                    await table.answer(await ours.aevent("agentPasskey"))
                check_equal(await refusal(paired), reason, "the reason")
                figure.is_(await table.ended())
                check_equal(await bonds_with(ours, bumble), [], "the bonds")
                if title == "Bumble's user types another passkey":
                    check_equal(
                        await refusal(link.connection.pair()), REPEATED_ATTEMPTS, "the reason, tried again at once"
                    )

    async with stranger(radio) as bumble:
        with suite.step("our peripheral, out of band by a window, without data from Bumble"):
            ours.forget()
            offer = await ours.acall("setPairingWindow", method="outOfBand", credential="by code")
            bumble.set_pairing(host.User(NOTHING), out_of_band=read(offer, gives=False))
            async with bumble.connected(UUID) as link:
                await host.within(link.connection.pair(), "pairing")
                bond = (await ours.aevent("centralPaired"))["bond"]
                bond = await check_bond(ours, bumble, bond, "outOfBand")
                check_equal(bond["credential"], "by code", "the bond's credential")
            await come_back(bumble, guarded)
    async with stranger(radio) as bumble:
        with suite.step("our peripheral, out of band by what it offers to everybody"):
            bumble.set_pairing(host.User(NOTHING), out_of_band=read(await ours.acall("offered"), gives=False))
            async with bumble.connected(UUID) as link:
                paired = asyncio.ensure_future(link.connection.pair())
                await table.consent("outOfBand")
                await host.within(paired, "pairing")
                await check_bond(ours, bumble, await table.ended(), "outOfBand")
            await come_back(bumble, guarded)
    for method, capability in (
        ("numericComparison", COMPARES),
        ("passkeyEntry", SHOWS),
    ):
        async with stranger(radio) as bumble:
            with suite.step(f"our peripheral, {method} by a window that allows nothing else"):
                ours.forget()
                await ours.acall("setPairingWindow", method=method, credential=method)
                user = table.user(capability)
                bumble.set_pairing(user)
                async with bumble.connected(UUID) as link:
                    paired = asyncio.ensure_future(link.connection.pair())
                    if method == "passkeyEntry":
                        asked = await ours.aevent("centralPasskeyRequested")
                        answer = {"passkey": await host.within(user.shown, "the passkey")}
                    else:
                        asked = await ours.aevent("centralCompareNumbers")
                        check_equal(asked["number"], await host.within(user.shown, "the number"), "the number")
                        answer = {"equal": True}
                    await ours.acall("answerPairing", peer=asked["central"], **answer)
                    await host.within(paired, "pairing")
                    await check_bond(ours, bumble, (await ours.aevent("centralPaired"))["bond"], method)
                await come_back(bumble, guarded)

    async with stranger(radio) as bumble, bumble.connected(UUID) as link:
        with suite.step("our peripheral, legacy pairing: refused, for want of Secure Connections"):
            bumble.set_pairing(table.user(NOTHING), secure_connections=False)
            reason = await refusal(link.connection.pair())
            check_equal(reason, AUTHENTICATION_REQUIREMENTS, "the reason")

    await lose_bonds(suite, ours, radio, table, guarded)


async def lose_bonds(suite, ours, radio, table, guarded):
    """A bond that only one side has, when Bumble is the central; and our Security Request."""
    async with stranger(radio) as bumble:
        user = table.user(COMPARES)
        bumble.set_pairing(user)
        with suite.step("our peripheral asks for security: Bumble pairs, and encrypts when it is back"):
            ours.forget()
            link = await bumble.connect(await bumble.find(UUID))
            central = (await ours.aevent("centralConnected"))["central"]
            link.connection.on("security_request", lambda auth_req: asyncio.ensure_future(link.connection.pair()))
            await ours.acall("requestSecurity", peer=central)
            await table.consent("numericComparison")
            await table.compare(user)
            first = await table.ended()
            await check_bond(ours, bumble, first, "numericComparison")
            await link.close()
            ours.forget()
            link = await bumble.connect(await bumble.find(UUID))
            central = (await ours.aevent("centralConnected"))["central"]
            encrypting = asyncio.get_running_loop().create_future()
            link.connection.on("security_request", lambda auth_req: encrypting.set_result(auth_req))
            await ours.acall("requestSecurity", peer=central)
            await host.within(encrypting, "the Security Request")
            await host.within(link.connection.encrypt(), "encryption")
            secured = await ours.aevent("centralSecurity", error=None)
            check_equal((secured["link"]["proven"], secured["link"]["bond"]), (True, first), "the link")
            await link.close()
        with suite.step("our peripheral forgot the bond: PIN or Key Missing, and another pairing"):
            await ours.acall("deleteBond", bond=first)
            link = await bumble.connect(await bumble.find(UUID))
            try:
                await host.within(link.connection.encrypt(), "encryption")
            except HCI_Error as error:
                check_equal(error.error_code, PIN_OR_KEY_MISSING, "how encryption fails")
            else:
                raise StepFailed("the link was encrypted")
            await link.close()
            second = await pair_again(ours, bumble, table)
            check(second != first, "the bond is another")
            await come_back(bumble, guarded)
        with suite.step("Bumble forgot the bond: it pairs again in its place"):
            await forget_bonds(bumble)
            third = await pair_again(ours, bumble, table)
            check(third != second, "the bond is another")
            await come_back(bumble, guarded)


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


def read(offer, gives):
    """Bumble reads our out-of-band data, whose numbers go least significant octet first there. What it has for us
    it gives, or it counts as zero."""
    random, confirm = (bytes.fromhex(offer[name])[::-1] for name in ("random", "confirm"))
    context = OobContext()
    if not gives:
        context.r = bytes(16)
    return PairingConfig.OobConfig(
        our_context=context, peer_data=OobSharedData(c=confirm, r=random), legacy_context=None
    )


# Bumble as the responder: our central.


async def our_central(suite, ours, radio):
    table = Table(ours)
    for capability, model, how in METHODS:
        async with stranger(radio) as bumble:
            with suite.step(f"our central, {model}, {how}: pair, come back with the LTK"):
                user = table.user(capability)
                remote, link = await meet(ours, bumble, user)
                await remote.call("pair")
                await table.take_part(user, model)
                check_equal((await remote.event("paired"))["error"], None, "pairing")
                bond = await check_bond(ours, bumble, await table.ended(), model)
                link = await return_to(ours, remote, bumble, link)
                await encrypt(remote, bond, is_authenticated=model != "justWorks")
                await remote.disconnect()
                await link.end()

    failures = [
        ("Bumble's user does not accept", NOTHING, {}, f"refusedByPeer {PAIRING_NOT_SUPPORTED}"),
        (
            "our user says that the numbers differ",
            COMPARES,
            {},
            f"cancelled {NUMERIC_COMPARISON_FAILED}",
        ),
        (
            "Bumble's user says that the numbers differ",
            COMPARES,
            {"equal": False},
            f"refusedByPeer {CONFIRM_VALUE_FAILED}",
        ),
        (
            "Bumble's user types another passkey",
            TYPES,
            {"off_by": 1},
            f"refusedByPeer {CONFIRM_VALUE_FAILED}",
        ),
        ("our user types another passkey", SHOWS, {}, f"refusedByPeer {CONFIRM_VALUE_FAILED}"),
        ("our user types none", SHOWS, {}, f"cancelled {UNSPECIFIED_REASON}"),
    ]
    for title, capability, options, reason in failures:
        async with stranger(radio) as bumble:
            with suite.step(f"our central, {title}: no bond") as figure:
                user = table.user(capability, **options)
                if title == "Bumble's user does not accept":
                    user = host.User(capability, accepts=False)
                remote, link = await meet(ours, bumble, user)
                await remote.call("pair")
                if "numbers differ" in title:
                    await table.compare(user, equal=not title.startswith("our"))
                elif title == "our user types another passkey":
                    await table.type(user, off_by=1)
                elif title == "our user types none":
                    await table.answer(await ours.aevent("agentPasskey"))
                said = spoken((await remote.event("paired"))["error"])
                check_equal(said, reason, "the failure")
                await table.ended()
                figure.is_(said)
                check_equal(await bonds_with(ours, bumble), [], "the bonds")
                if reason.startswith("refusedByPeer"):
                    await remote.call("pair")
                    said = spoken((await remote.event("paired"))["error"])
                    check_equal(said, f"cancelled {REPEATED_ATTEMPTS}", "the failure, tried again at once")
                await remote.disconnect()
                await link.end()

    async with stranger(radio) as bumble:
        with suite.step("our central, out of band by what it was given, with nothing to give"):
            context = OobContext()
            config = PairingConfig.OobConfig(our_context=context, peer_data=None, legacy_context=None)
            remote, link = await meet(ours, bumble, host.User(NOTHING), out_of_band=config)
            data = context.share()
            await remote.call(
                "pair",
                method="outOfBand",
                address=bumble.address,
                random=data.r[::-1],
                confirm=data.c[::-1],
                credential="given",
            )
            bond = await check_bond(ours, bumble, (await remote.event("paired"))["bond"], "outOfBand")
            link = await return_to(ours, remote, bumble, link)
            await encrypt(remote, bond)
            await remote.disconnect()
            await link.end()

    async with stranger(radio) as bumble:
        user = table.user(COMPARES)
        with suite.step("Bumble's peripheral asks for security: our central pairs, and encrypts when it is back"):
            remote, link = await meet(ours, bumble, user)
            link.connection.request_pairing()
            await table.compare(user)
            bond = await check_bond(ours, bumble, await table.ended(), "numericComparison")
            link = await return_to(ours, remote, bumble, link)
            link.connection.request_pairing()
            await check_secured(remote, bond)
        with suite.step("Bumble's peripheral forgot the bond: our central hears of it, and pairs again"):
            await remote.disconnect()
            await link.end()
            await forget_bonds(bumble)
            user = table.user(COMPARES)
            bumble.set_pairing(user)
            link = await return_to(ours, remote, bumble, None)
            await remote.call("encrypt")
            said = (await remote.event("security"))["error"]["host"]
            check_equal(said, "encryptionFailed(PIN or key missing (0x06))", "the failure")
            await remote.call("pair")
            await table.compare(user)
            again = await check_bond(ours, bumble, await table.ended(), "numericComparison")
            check(again["bond"] != bond["bond"], "the bond is another")
            link = await return_to(ours, remote, bumble, link)
            await encrypt(remote, again)
        with suite.step("our central forgot the bond: what it asks for is refused, it pairs, and has it"):
            await ours.acall("deleteBond", bond=again["bond"])
            # A link in the name of a bond that is gone goes too.
            check_equal((await remote.event("disconnected"))["error"], {"cb": 5}, "why the link ended")
            await link.end()
            user = table.user(COMPARES)
            bumble.set_pairing(user)
            link = await return_to(ours, remote, bumble, None)
            service = next(one for one in await remote.services() if one["uuid"] == SERVICE)
            characteristic = (await remote.characteristics(service))[0]
            reading = asyncio.ensure_future(remote.read(characteristic))
            await table.compare(user)
            check_equal(await host.within(reading, "the value"), b"guarded", "the value")
            await check_bond(ours, bumble, await table.ended(), "numericComparison")
            await remote.disconnect()
            await link.end()


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


# Legacy pairing, where it is allowed.


async def legacy(suite, ours, radio):
    table = Table(ours)
    guarded = await publish(ours)
    for capability, model, how in METHODS:
        if model == "numericComparison":
            continue
        async with stranger(radio) as bumble:
            with suite.step(f"our peripheral, legacy {model}, {how}: pair, come back with EDIV, Rand and LTK"):
                user = table.user(capability)
                bumble.set_pairing(user, secure_connections=False)
                async with bumble.connected(UUID) as link:
                    paired = asyncio.ensure_future(link.connection.pair())
                    await table.consent(model)
                    await table.take_part(user, model)
                    await host.within(paired, "pairing")
                    await check_bond(ours, bumble, await table.ended(), model, secure_connections=False)
                # Level 3 at the most.
                await come_back(bumble, guarded, is_authenticated=False)
        async with stranger(radio) as bumble:
            with suite.step(f"our central, legacy {model}, {how}: pair, come back with EDIV, Rand and LTK"):
                user = table.user(capability)
                remote, link = await meet(ours, bumble, user, secure_connections=False)
                await remote.call("pair")
                await table.take_part(user, model)
                bond = await check_bond(ours, bumble, await table.ended(), model, secure_connections=False)
                await refile(bumble, link)
                link = await return_to(ours, remote, bumble, link)
                await encrypt(remote, bond, is_authenticated=model != "justWorks")
                await remote.disconnect()
                await link.end()


TEMPORARY_KEY = bytes(range(16))


async def legacy_out_of_band(suite, ours, radio):
    """With a temporary key that both were given; least significant octet first at Bumble."""
    table = Table(ours)
    guarded = await publish(ours)
    config = PairingConfig.OobConfig(
        our_context=None, peer_data=None, legacy_context=OobLegacyContext(tk=TEMPORARY_KEY[::-1])
    )
    user = host.User(NOTHING)
    async with stranger(radio) as bumble:
        with suite.step("our peripheral, legacy out of band: pair, come back with EDIV, Rand and LTK"):
            bumble.set_pairing(user, secure_connections=False, out_of_band=config)
            async with bumble.connected(UUID) as link:
                paired = asyncio.ensure_future(link.connection.pair())
                await table.consent("outOfBand")
                await host.within(paired, "pairing")
                await check_bond(ours, bumble, await table.ended(), "outOfBand", secure_connections=False)
            await come_back(bumble, guarded, is_authenticated=False)
    async with stranger(radio) as bumble:
        with suite.step("our central, legacy out of band: pair, come back with EDIV, Rand and LTK"):
            remote, link = await meet(ours, bumble, user, secure_connections=False, out_of_band=config)
            await remote.call("pair")
            bond = await check_bond(ours, bumble, await table.ended(), "outOfBand", secure_connections=False)
            await refile(bumble, link)
            link = await return_to(ours, remote, bumble, link)
            await encrypt(remote, bond)
            await remote.disconnect()
            await link.end()


async def refile(bumble, link):
    """What Bumble gave as a responder it files as a central's, and looks for as a peripheral's."""
    await host.within(link.paired, "Bumble's keys")
    for _, keys in await bumble.device.keystore.get_all():
        keys.ltk_peripheral = keys.ltk_central


async def fall_silent(suite, ours, radio):
    """Core 5.4, Vol 3, Part H, 3.4 (SMP Timeout): 30 s, waited for in both roles at once."""
    await publish(ours)

    async def never():
        await asyncio.get_running_loop().create_future()

    async with stranger(radio) as initiator, stranger(radio) as responder:
        with suite.step("a user of Bumble's never types, in either role: the pairing times out") as figure:
            initiator.set_pairing(host.User(TYPES, types=never))
            link = await initiator.connect(await initiator.find(UUID))
            central = (await ours.aevent("centralConnected"))["central"]
            pairing = asyncio.ensure_future(link.connection.pair())
            await ours.acall("answerPairing", peer=(await ours.aevent("agentConsent"))["peer"], consent=True)
            remote, other = await meet(ours, responder, host.User(TYPES, types=never))
            await remote.call("pair")
            ended = [await ours.aevent("agentEnded", peer=peer) for peer in (central, remote.identifier)]
            check_equal([spoken(one["error"]) for one in ended], ["timedOut"] * 2, "the ends")
            pairing.cancel()
            await remote.event("paired")
            await remote.call("pair")
            said = spoken((await remote.event("paired"))["error"])
            check_equal(said, f"cancelled {REPEATED_ATTEMPTS}", "the failure, tried again")
            figure.is_(said)
            await link.close()
            await remote.disconnect()
            await other.end()


async def run(suite, peer_program, radio, directory, name, part, *options):
    with InteropPeer(peer_program, radio.transport, os.path.join(directory, name), *options) as ours:
        ours.power_on()
        await part(suite, ours, radio)
        ours.stop()


def main(peer_program, latch, cache, kind):
    suite = Suite(f"Bumble and pairing over {kind}")
    with tempfile.TemporaryDirectory(prefix="latch-interop-") as directory:
        for name, part, rules in (
            ("peripheral", our_peripheral, "renews,offers"),
            ("central", our_central, "renews"),
            ("legacy", legacy, "legacy"),
            ("out of band", legacy_out_of_band, f"legacyKey={TEMPORARY_KEY.hex()}"),
            ("silence", fall_silent, "level=3"),
        ):
            # Half a minute once is enough.
            if part is fall_silent and kind != "rootcanal":
                continue
            radio = RootCanal(cache, directory) if kind == "rootcanal" else VirtualRadio(latch, directory)
            with radio:
                options = ("--pairing", rules, "--io", "keyboardDisplay")
                asyncio.run(run(suite, peer_program, radio, directory, name, part, *options))
                radio.stop()
    suite.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
