"""Pairing with Bumble by each method and in both roles, every way in which it fails, and bonds that one side lost.

pairing.py INTEROP_PEER LATCH CACHE rootcanal|virtual
"""

import asyncio
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import host
from bumble.hci import HCI_Error
from bumble.pairing import PairingConfig
from bumble.smp import OobContext, OobSharedData
from pairing_rig import (
    AUTHENTICATION_REQUIREMENTS,
    COMPARES,
    CONFIRM_VALUE_FAILED,
    METHODS,
    NOTHING,
    NUMERIC_COMPARISON_FAILED,
    PAIRING_NOT_SUPPORTED,
    PIN_OR_KEY_MISSING,
    REPEATED_ATTEMPTS,
    SERVICE,
    SHOWS,
    TYPES,
    UNSPECIFIED_REASON,
    UUID,
    Table,
    bonds_with,
    check_bond,
    check_secured,
    come_back,
    encrypt,
    forget_bonds,
    meet,
    pair_again,
    publish,
    refusal,
    return_to,
    run_parts,
    spoken,
    stranger,
)
from support.steps import check, check_equal, StepFailed


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
                await table.agree(model)
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


if __name__ == "__main__":
    parts = [(our_peripheral, "renews,offers"), (our_central, "renews")]
    # Half a minute once is enough.
    run_parts("Bumble and pairing", parts + [(fall_silent, "level=3")] if sys.argv[4] == "rootcanal" else parts)
