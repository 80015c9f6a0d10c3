"""A Bumble central before our generic peripheral: every GATT procedure as a client asks it, and every refusal.

client.py INTEROP_PEER LATCH CACHE rootcanal|virtual
"""

import asyncio
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import host
from bumble import gatt
from client_caching import come_back_to_another_tree, see_the_tree_change
from client_rig import Server, expect
from host import error, le
from pdus import (
    EXECUTE,
    FIND_BY_TYPE_VALUE,
    FIND_INFORMATION,
    INDICATION,
    NOTIFICATION,
    PREPARE,
    READ,
    READ_BLOB,
    READ_BY_GROUP_TYPE,
    READ_BY_TYPE,
    READ_MULTIPLE,
    READ_MULTIPLE_VARIABLE,
    WRITE,
    execute,
    prepare,
    read,
    write,
)
from support.interop_peer import InteropPeer
from support.steps import check_equal
from support.suites import play
from trees import GUARDED, INNER, LONG, LONG_UUID, MAIN, SERVICE

Properties = gatt.Characteristic.Properties


def described(service):
    """What a tree says of a service: its type, and of each characteristic type, properties and descriptors."""
    return service.uuid.to_hex_str("-"), [
        (
            one.uuid.to_hex_str("-"),
            int(one.properties),
            [descriptor.type.to_hex_str("-") for descriptor in one.descriptors],
        )
        for one in service.characteristics
    ]


async def discover(suite, server, link):
    client = link.client
    with suite.step("discover all primary services") as figure:
        services = await host.within(client.discover_services(), "services")
        check_equal(
            [one.uuid.to_hex_str() for one in services], ["1800", "1801", "FFF0", "FFD0"], "the primary services"
        )
        figure.is_(", ".join(f"{one.uuid.to_hex_str()} {one.handle}–{one.end_group_handle}" for one in services))
    main = services[2]
    with suite.step("discover primary services by UUID"):
        found = await host.within(client.discover_service(SERVICE), "the service")
        ranges = [(one.handle, one.end_group_handle) for one in found]
        check_equal(ranges, [(main.handle, main.end_group_handle)], "the services FFF0")
    with suite.step("find included services, one of them secondary"):
        included = await host.within(client.discover_included_services(main), "included services")
        ranges = [(one.uuid.to_hex_str(), one.handle, one.end_group_handle) for one in included]
        # Service declaration, characteristic declaration, value.
        check_equal(ranges, [("FFE0", server["FFE1"] - 2, server["FFE1"])], "what FFF0 includes")
        request = bytes([READ_BY_GROUP_TYPE]) + le(1) + le(0xFFFF) + le(0x2801)
        answer = bytes([0x11, 6]) + le(server["FFE1"] - 2) + le(server["FFE1"]) + le(0xFFE0)
        await expect(link, request, answer)
    with suite.step("discover all characteristics and descriptors of each service") as figure:
        for service in services:
            await host.within(service.discover_characteristics(), "characteristics")
            for characteristic in service.characteristics:
                await host.within(characteristic.discover_descriptors(), "descriptors")
        everything = Properties.READ | Properties.WRITE
        guarded = everything | Properties.NOTIFY
        check_equal(
            [described(one) for one in services[2:]],
            [
                (
                    "FFF0",
                    [
                        ("FFF1", everything | Properties.WRITE_WITHOUT_RESPONSE, ["2901", "2904"]),
                        ("FFF2", everything, []),
                        ("FFF3", Properties.NOTIFY, ["2902"]),
                        ("FFF4", Properties.INDICATE, ["2902"]),
                        ("FFF5", Properties.READ, []),
                        ("FFF5", Properties.READ, []),
                        (LONG_UUID, everything, []),
                        ("FFF6", Properties.READ, []),
                        ("FFF7", Properties.WRITE, []),
                    ],
                ),
                ("FFD0", [(f"FFD{number}", guarded, ["2902"]) for number in range(1, 5)]),
            ],
            "the tree",
        )
        values = [one.handle for service in services[2:] for one in service.characteristics]
        names = [one["name"] for service in (MAIN, GUARDED) for one in service["characteristics"]]
        check_equal(values, [server[name] for name in names], "the value handles")
        figure.is_(f"{sum(len(one.characteristics) for one in services)} characteristics")
    with suite.step("discover characteristics by UUID"):
        found = await host.within(client.discover_characteristics([host.UUID.from_16_bits(0xFFF5)], main), "FFF5")
        check_equal([one.handle for one in found], [server["first"], server["second"]], "the characteristics FFF5")
    with suite.step("read the Database Hash: it is that of the tree as it is found and read") as figure:
        computed = await host.database_hash(link)
        request = bytes([READ_BY_TYPE]) + le(1) + le(0xFFFF) + le(0x2B2A)
        answer = await link.ask(request)
        check_equal((answer[:2].hex(), answer[4:].hex()), ("0912", computed.hex()), "the Database Hash")
        figure.is_(computed.hex())


async def read_values(suite, server, link):
    client = link.client
    with suite.step("read a value, a descriptor, a value by UUID"):
        await expect(link, read(server["open"]), b"\x0b\x01\x02\x03")
        await expect(link, read(server["open"] + 1), b"\x0bOpen")
        by_uuid = bytes([READ_BY_TYPE]) + le(1) + le(0xFFFF) + le(0xFFF5)
        pairs = le(server["first"]) + b"one" + le(server["second"]) + b"two"
        await expect(link, by_uuid, bytes([0x09, 5]) + pairs)
    with suite.step("read 512 octets in parts of 22"):
        value = await host.within(client.read_value(server["long"]), "the long value")
        check_equal(value, LONG, "the long value")
        await expect(link, bytes([READ_BLOB]) + le(server["long"]) + le(500), b"\x0d" + LONG[500:])
        await expect(link, bytes([READ_BLOB]) + le(server["long"]) + le(512), b"\x0d")
    with suite.step("read several values, of fixed and of variable length"):
        handles = le(server["first"]) + le(server["open"]) + le(server["second"])
        await expect(link, bytes([READ_MULTIPLE]) + handles, b"\x0fone\x01\x02\x03two")
        parts = le(3) + b"one" + le(3) + b"\x01\x02\x03" + le(3) + b"two"
        await expect(link, bytes([READ_MULTIPLE_VARIABLE]) + handles, b"\x21" + parts)
        handles = le(server["first"]) + le(server["long"])
        # Cut to 23 octets; the length is the whole value's.
        await expect(link, bytes([READ_MULTIPLE_VARIABLE]) + handles, b"\x21" + le(3) + b"one" + le(512) + LONG[:15])
    with suite.step("read a value that the app answers later, and one that it refuses with an error of its own"):
        asked = asyncio.ensure_future(link.ask(read(server["scripted"])))
        request = await server.ours.aevent("readRequest", characteristic="scripted")
        await server.ours.acall("respond", request=request["request"], value=b"later")
        check_equal(await asked, b"\x0blater", "the answer")
        asked = asyncio.ensure_future(link.ask(read(server["scripted"])))
        request = await server.ours.aevent("readRequest", characteristic="scripted")
        await server.ours.acall("respond", request=request["request"], error=0x85)
        check_equal(await asked, error(READ, server["scripted"], 0x85), "the answer")


async def write_values(suite, server, link):
    client = link.client
    with suite.step("write with and without response"):
        await expect(link, write(server["open"], b"abc"), b"\x13")
        await server.wrote("request", ("open", 0, b"abc"))
        link.send(bytes([0x52]) + le(server["open"]) + b"defg")
        await server.wrote("command", ("open", 0, b"defg"))
        await expect(link, read(server["open"]), b"\x0bdefg")
    with suite.step("write 512 octets in parts of 18, which the app is asked for as one"):
        await host.within(client.write_long_value(server["long"], LONG[::-1]), "the long write")
        await server.wrote("request", ("long", 0, LONG[::-1]))
        check_equal(await server.value("long"), LONG[::-1], "the value")
        await expect(link, prepare(server["long"], 510, b"end"), b"\x17" + prepare(server["long"], 510, b"end")[1:])
        await expect(link, execute(1), error(EXECUTE, server["long"], 0x0D))
        check_equal(await server.value("long"), LONG[::-1], "the value after a write past 512")
    with suite.step("write three values reliably; cancel; fail one and take none"):
        parts = [("open", 0, b"one"), ("long", 4, b"two"), ("writeOnly", 0, b"three")]
        for name, offset, value in parts:
            await expect(link, prepare(server[name], offset, value), b"\x17" + prepare(server[name], offset, value)[1:])
        await expect(link, execute(1), b"\x19")
        await server.wrote("request", *parts)
        values = {name: await server.value(name) for name in ("open", "long", "writeOnly")}
        check_equal(values, {"open": b"one", "long": LONG[::-1][:4] + b"two", "writeOnly": b"three"}, "the values")

        for name in ("open", "long"):
            await link.ask(prepare(server[name], 0, b"gone"))
        await expect(link, execute(0), b"\x19")
        await expect(link, execute(1), b"\x19")
        # The second is longer than its characteristic takes.
        await link.ask(prepare(server["open"], 0, b"gone"))
        await link.ask(prepare(server["writeOnly"], 0, b"gone away"))
        await expect(link, execute(1), error(EXECUTE, server["open"], 0x0D))
        await server.wrote("request", ("open", 0, b"gone"), ("writeOnly", 0, b"gone away"))
        check_equal(await server.value("open"), b"one", "the first of two values, the second of which was refused")
        check_equal(await server.value("writeOnly"), b"three", "the second")


async def be_refused(suite, server, link):
    first = server["open"]
    cases = [
        ("read what is for writing", read(server["writeOnly"]), (READ, server["writeOnly"], 0x02)),
        ("write what is for reading", write(server["readOnly"], b"x"), (WRITE, server["readOnly"], 0x03)),
        ("prepare what is for reading", prepare(server["readOnly"], 0, b"x"), (PREPARE, server["readOnly"], 0x03)),
        ("write a constant", write(server["first"], b"x"), (WRITE, server["first"], 0x03)),
        ("read handle 0", read(0), (READ, 0, 0x01)),
        ("read a handle that nothing has", read(0xFFF0), (READ, 0xFFF0, 0x01)),
        ("write a handle that nothing has", write(0xFFF0, b""), (WRITE, 0xFFF0, 0x01)),
        ("read past the end", bytes([READ_BLOB]) + le(first) + le(9), (READ_BLOB, first, 0x07)),
        ("write more than fits", write(server["writeOnly"], bytes(9)), (WRITE, server["writeOnly"], 0x0D)),
        (
            "read several, one of them for writing",
            bytes([READ_MULTIPLE]) + le(first) + le(server["writeOnly"]),
            (READ_MULTIPLE, server["writeOnly"], 0x02),
        ),
        (
            "find in a range that ends before it begins",
            bytes([FIND_INFORMATION]) + le(9) + le(8),
            (FIND_INFORMATION, 9, 0x01),
        ),
        ("find from handle 0", bytes([FIND_INFORMATION]) + le(0) + le(8), (FIND_INFORMATION, 0, 0x01)),
        (
            "find where nothing is",
            bytes([FIND_INFORMATION]) + le(0xFFF0) + le(0xFFFF),
            (FIND_INFORMATION, 0xFFF0, 0x0A),
        ),
        (
            "find a service that is not",
            bytes([FIND_BY_TYPE_VALUE]) + le(1) + le(0xFFFF) + le(0x2800) + le(0xABCD),
            (FIND_BY_TYPE_VALUE, 1, 0x0A),
        ),
        (
            "read by a UUID that is not",
            bytes([READ_BY_TYPE]) + le(1) + le(0xFFFF) + le(0xABCD),
            (READ_BY_TYPE, 1, 0x0A),
        ),
        (
            "read by the UUID of what is for writing",
            bytes([READ_BY_TYPE]) + le(1) + le(0xFFFF) + le(0xFFF7),
            (READ_BY_TYPE, server["writeOnly"], 0x02),
        ),
        (
            "group by what is no group",
            bytes([READ_BY_GROUP_TYPE]) + le(1) + le(0xFFFF) + le(0x2803),
            (READ_BY_GROUP_TYPE, 1, 0x10),
        ),
        ("a request cut short", bytes([READ, 1]), (READ, 0, 0x04)),
        (
            "a configuration that the properties forbid",
            write(server["notifying"] + 1, b"\x02\x00"),
            (WRITE, server["notifying"] + 1, 0x13),
        ),
        (
            "a configuration of one octet",
            write(server["notifying"] + 1, b"\x01"),
            (WRITE, server["notifying"] + 1, 0x0D),
        ),
    ] + [
        (f"{verb} {name}", pdu, (pdu[0], handle, code))
        for name, code in (("encrypted", 0x05), ("authenticated", 0x05), ("secure", 0x05), ("authorised", 0x08))
        for verb, handle, pdu in (
            ("read", server[name], read(server[name])),
            ("read long", server[name], bytes([READ_BLOB]) + le(server[name]) + le(0)),
            ("write", server[name], write(server[name], b"x")),
            ("prepare", server[name], prepare(server[name], 0, b"x")),
            ("subscribe to", server[name] + 1, write(server[name] + 1, b"\x01\x00")),
        )
    ]
    with suite.step("every refusal, with its request, its handle and its reason") as figure:
        for title, request, refusal in cases:
            answer = await link.ask(request)
            check_equal(answer.hex(), error(*refusal).hex(), title)
        figure.is_(f"{len(cases)} requests")
    with suite.step("prepare more than is kept: the queue is full, and empty again when it is cancelled"):
        kept = 0
        while (answer := await link.ask(prepare(server["long"], 0, bytes(18))))[0] == 0x17:
            kept += 1
        check_equal(answer, error(PREPARE, server["long"], 0x09), "the refusal")
        check_equal(kept, 4096 // (18 + 16), "the parts that were kept")
        await expect(link, execute(0), b"\x19")
        await expect(link, prepare(server["long"], 0, b"x"), b"\x17" + prepare(server["long"], 0, b"x")[1:])
        await expect(link, execute(0), b"\x19")


async def be_told(suite, server, link):
    ours = server.ours

    async def update(name, value):
        check_equal(await ours.acall("update", characteristic=name, value=value), {"sent": True}, f"updating {name}")

    with suite.step("subscribe, be notified, cut to the MTU; unsubscribe, and hear nothing"):
        at = server["notifying"]
        await update("notifying", b"too early")
        await expect(link, write(at + 1, b"\x01\x00"), b"\x13")
        await ours.aevent("subscribed", characteristic="notifying")
        await expect(link, read(at + 1), b"\x0b\x01\x00")
        await update("notifying", b"tick")
        check_equal(await link.update(), bytes([NOTIFICATION]) + le(at) + b"tick", "the notification")
        await update("notifying", LONG)
        check_equal(await link.update(), bytes([NOTIFICATION]) + le(at) + LONG[:20], "the notification")
        await expect(link, write(at + 1, b"\x00\x00"), b"\x13")
        await ours.aevent("unsubscribed", characteristic="notifying")
        await update("notifying", b"too late")
        # What is asked after it is answered after it.
        await link.ask(read(server["open"]))
        check_equal(link.updates.qsize(), 0, "notifications after unsubscribing")
    with suite.step("be indicated, one at a time: the second waits for the first one's confirmation"):
        at = server["indicating"]
        await expect(link, write(at + 1, b"\x02\x00"), b"\x13")
        await ours.aevent("subscribed", characteristic="indicating")
        link.confirms = False
        await update("indicating", b"first")
        await update("indicating", b"second")
        check_equal(await link.update(), bytes([INDICATION]) + le(at) + b"first", "the indication")
        # Requests are answered meanwhile.
        await link.ask(read(server["open"]))
        check_equal(link.updates.qsize(), 0, "indications before the first is confirmed")
        link.confirm()
        check_equal(await link.update(), bytes([INDICATION]) + le(at) + b"second", "the indication")
        link.confirm()
        link.confirms = True
        await link.ask(read(server["open"]))
        check_equal(link.updates.qsize(), 0, "indications after the second is confirmed")


async def exchange(suite, server, central, mtu):
    async with central.connected(SERVICE) as link:
        with suite.step(f"exchange the MTU of {mtu}: reads, notifications and blobs are as long"):
            check_equal(await link.exchange_mtu(mtu), mtu, "the MTU")
            await server.ours.acall("setValue", characteristic="long", value=LONG)
            await expect(link, read(server["long"]), b"\x0b" + LONG[: mtu - 1])
            await expect(link, bytes([READ_BLOB]) + le(server["long"]) + le(3), b"\x0d" + LONG[3 : mtu + 2])
            await link.ask(write(server["notifying"] + 1, b"\x01\x00"))
            subscribed = await server.ours.aevent("subscribed", characteristic="notifying")
            taken = await server.ours.acall("central", central=subscribed["central"])
            check_equal(taken["maximumUpdateLength"], mtu - 3, "what the app is told of a notification's length")
            await server.ours.acall("update", characteristic="notifying", value=LONG)
            sent = bytes([NOTIFICATION]) + le(server["notifying"]) + LONG[: mtu - 3]
            check_equal(await link.update(), sent, "the notification")
            value = LONG[: mtu - 3][::-1]
            await expect(link, write(server["long"], value), b"\x13")
            check_equal(await server.value("long"), value, "the value")
            await server.ours.aevent("writeRequest")
    await server.ours.aevent("centralDisconnected")


async def run(suite, peer_program, radio, directory):
    with InteropPeer(peer_program, radio.transport, os.path.join(directory, "ours"), "--mtu", "517") as ours:
        ours.power_on()
        server = Server(ours)
        for service in (INNER, MAIN, GUARDED):
            await server.publish(service)
        await ours.acall("advertise", services=["FFF0"])
        await ours.aevent("advertising", error=None)
        async with host.Host.on(radio) as central:
            for part in (discover, read_values, write_values, be_refused, be_told):
                async with central.connected(SERVICE) as link:
                    await part(suite, server, link)
                await ours.aevent("centralDisconnected")
            for mtu in (23, 247, 517):
                await exchange(suite, server, central, mtu)
            ours.forget()
            await see_the_tree_change(suite, server, central)
            await ours.aevent("centralDisconnected")
            await come_back_to_another_tree(suite, server, central)
        ours.stop()


if __name__ == "__main__":
    play("Bumble as a client", run)
