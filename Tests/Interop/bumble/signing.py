"""Signed writes to and from Bumble, with the keys that pairing gave. Their MACs are computed and checked here.

signing.py INTEROP_PEER LATCH CACHE rootcanal|virtual
"""

import asyncio
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import host
from pairing_rig import (
    AUTHENTICATION_FAILURE,
    COMPARES,
    SERVICE,
    UUID,
    Table,
    meet,
    pair_again,
    return_to,
    run_parts,
    stranger,
)
from support.steps import check_equal

SIGNED_WRITE = 0xD2


def signed(csrk, handle, value, counter):
    """Core 5.4, Vol 3, Part H, 2.4.5 (Signing Algorithm)"""
    message = bytes([SIGNED_WRITE]) + host.le(handle) + value + counter.to_bytes(4, "little")
    return message + host.cmac(csrk, message[::-1])[:8][::-1]


async def sign(suite, ours, radio):
    table = Table(ours)
    characteristic = {
        "uuid": "FFF1",
        "properties": ["authenticatedSignedWrites", "read"],
        "permissions": ["readable", "writeable"],
        "value": b"unwritten",
    }
    await ours.acall("addService", service={"uuid": SERVICE, "characteristics": [characteristic]})
    at = (await ours.aevent("added", error=None))["handles"]["FFF1"]
    await ours.acall("advertise", services=[SERVICE])
    async with stranger(radio) as bumble:
        await pair_again(ours, bumble, table)
        # A bond is good for signatures once it has encrypted a link.
        async with bumble.connected(UUID) as link:
            await host.within(link.connection.encrypt(), "encryption")
        reading = b"\x0a" + host.le(at)

        async def write(link, counter, value=b"signed", csrk=bumble.device.csrk):
            link.send(signed(csrk, at, value, counter))

        with suite.step("Bumble signs, our peripheral takes it with its counter, and takes none twice"):
            async with bumble.connected(UUID) as link:
                for counter in (0, 7):
                    await write(link, counter)
                    asked = await ours.aevent("writeRequest")
                    check_equal(asked["path"], f"signed(counter: {counter})", "how the write came")
                    check_equal(bytes.fromhex(asked["writes"][0]["value"]), b"signed", "the value")
                for counter in (7, 3):
                    await write(link, counter, b"again")
                check_equal(await link.ask(reading), b"\x0bsigned", "the value after replays")
        with suite.step("a signature by another key: nothing is written, and the link ends"):
            async with bumble.connected(UUID) as link:
                await write(link, 8, b"forged", bytes(16))
                check_equal(await link.end(), AUTHENTICATION_FAILURE, "why the link ended")
        with suite.step("a signature on an encrypted link: ignored"):
            async with bumble.connected(UUID) as link:
                await host.within(link.connection.encrypt(), "encryption")
                await write(link, 9, b"encrypted")
                check_equal(await link.ask(reading), b"\x0bsigned", "the value")

    async with stranger(radio) as bumble:
        user = table.user(COMPARES)
        remote, link = await meet(ours, bumble, user)
        await remote.call("pair")
        await table.compare(user)
        check_equal((await remote.event("paired"))["error"], None, "pairing")
        csrk = (await host.within(link.paired, "Bumble's keys")).csrk.value[::-1]
        service = next(one for one in await remote.services() if one["uuid"] == SERVICE)
        characteristic = (await remote.characteristics(service))[0]
        link = await return_to(ours, remote, bumble, link)
        await remote.call("encrypt")
        await remote.event("security", error=None)
        with suite.step("our central signs with its CSRK, with a counter that goes on over links"):
            for counters in ((0, 1), (2,)):
                await remote.disconnect()
                await link.end()
                link = await return_to(ours, remote, bumble, None)
                heard = listen(bumble)
                for counter in counters:
                    await remote.call("signedWrite", attribute=characteristic["attribute"], value=b"ours")
                    told = await remote.event("signed", error=None)
                    check_equal(told["counter"], counter, "the counter")
                    expected = signed(csrk, characteristic["handle"], b"ours", counter)
                    check_equal(await host.within(heard.get(), "the signed write"), expected, "the signed write")
        with suite.step("our central signs nothing on an encrypted link"):
            await remote.call("encrypt")
            await remote.event("security", error=None)
            await remote.call("signedWrite", attribute=characteristic["attribute"], value=b"ours")
            told = await remote.event("signed")
            check_equal((told["counter"], told["error"]), (None, {"cb": 13}), "what the app hears")
            await remote.disconnect()
            await link.end()


def listen(bumble):
    """The signed writes that reach Bumble's server, which takes no notice of them."""
    heard = asyncio.Queue()
    server = bumble.device.gatt_server
    hear = type(server).on_gatt_pdu

    def on_gatt_pdu(bearer, pdu):
        if pdu.op_code == SIGNED_WRITE:
            heard.put_nowait(bytes(pdu))
        else:
            hear(server, bearer, pdu)

    server.on_gatt_pdu = on_gatt_pdu
    return heard


# Legacy pairing, where it is allowed.


if __name__ == "__main__":
    run_parts("Bumble and signed writes", [(sign, "level=4")])
