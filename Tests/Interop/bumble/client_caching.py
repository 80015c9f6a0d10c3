"""Clients of client.py whose server changes its tree: Service Changed, the Database Hash, and what is out of sync."""

import host
from bumble.pairing import PairingDelegate
from client_rig import expect, find_by_uuid, value_handle
from host import error, le
from pdus import INDICATION, NOTIFICATION, READ, READ_BY_TYPE, WRITE, read, write
from support.steps import check_equal
from trees import EXTRA, SERVICE


async def see_the_tree_change(suite, server, central):
    """Core 5.4, Vol 3, Part G, 2.5.2.1 (Robust Caching), 7.1 (Service Changed)"""
    changed = find_by_uuid(0x2A05)
    async with central.connected(SERVICE) as link:
        features = int.from_bytes((await link.ask(find_by_uuid(0x2B29)))[2:4], "little")
        with suite.step("claim robust caching, which cannot be taken back"):
            await expect(link, read(features), b"\x0b\x00")
            await expect(link, write(features, b"\x01"), b"\x13")
            await expect(link, read(features), b"\x0b\x01")
            await expect(link, write(features, b"\x00"), error(WRITE, features, 0x13))
        with suite.step("the tree changes, nobody says so: out of sync once, commands ignored, then aware"):
            await server.publish(EXTRA)
            link.send(bytes([0x52]) + le(server["open"]) + b"stale")
            await expect(link, read(server["open"]), error(READ, server["open"], 0x12))
            check_equal(await server.value("open"), b"one", "what a client of another tree wrote")
            await expect(link, read(server["FFC1"]), b"\x0bx")
        with suite.step("subscribed to Service Changed: told of the range, aware by confirming"):
            at = await value_handle(link, 0x2A05)
            await expect(link, write(at + 1, b"\x02\x00"), b"\x13")
            link.confirms = False
            await server.ours.acall("removeService", service="FFC0")
            told = await link.update()
            # The service was its declaration, one characteristic's, and its value.
            expected = bytes([INDICATION]) + le(at) + le(server["FFC1"] - 2) + le(server["FFC1"])
            check_equal(told.hex(), expected.hex(), "Service Changed")
            await expect(link, read(server["open"]), error(READ, server["open"], 0x12))
            link.confirm()
            await expect(link, read(server["open"]), b"\x0bone")
            await expect(link, changed, error(READ_BY_TYPE, at, 0x02))
        with suite.step("unaware again, and aware by reading the Database Hash"):
            before = await link.ask(find_by_uuid(0x2B2A))
            await server.publish(EXTRA)
            check_equal((await link.update())[0], INDICATION, "Service Changed")
            link.confirm()
            after = await link.ask(find_by_uuid(0x2B2A))
            check_equal(before[4:] != after[4:], True, "the Database Hash changed")
            await expect(link, read(server["open"]), b"\x0bone")


async def come_back_to_another_tree(suite, server, central):
    async def passkey():
        return (await server.ours.aevent("passkey"))["passkey"]

    central.set_pairing(host.User(PairingDelegate.KEYBOARD_INPUT_ONLY, types=passkey))
    await server.ours.acall("setPairingWindow", method="passkeyDisplay", credential="client")
    async with central.connected(SERVICE) as link:
        with suite.step("pair by passkey: what was guarded is open, up to level 4"):
            await host.within(link.connection.pair(), "pairing")
            await server.ours.aevent("centralPaired")
            for name in ("encrypted", "authenticated", "secure"):
                await expect(link, read(server[name]), b"\x0b" + name.encode())
                await expect(link, write(server[name] + 1, b"\x01\x00"), b"\x13")
            await expect(link, read(server["authorised"]), error(READ, server["authorised"], 0x08))
        at = await value_handle(link, 0x2A05)
        await expect(link, write(at + 1, b"\x02\x00"), b"\x13")
    await server.ours.aevent("centralDisconnected")
    await server.ours.acall("removeService", service="FFC0")
    link = await central.connect(await central.find(SERVICE))
    with suite.step("the tree changed while a bonded client was away: Service Changed, once it has proved itself"):
        await host.within(link.connection.encrypt(), "encryption")
        told = await link.update()
        check_equal(told.hex(), (bytes([INDICATION]) + le(at) + le(1) + le(0xFFFF)).hex(), "Service Changed")
        for name in ("encrypted", "secure"):
            await expect(link, read(server[name] + 1), b"\x0b\x01\x00")
        await server.ours.acall("update", characteristic="secure", value=b"kept")
        check_equal(await link.update(), bytes([NOTIFICATION]) + le(server["secure"]) + b"kept", "the notification")
    await link.close()
