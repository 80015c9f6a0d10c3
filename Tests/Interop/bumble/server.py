"""Our central before a Bumble peripheral: every GATT procedure as a server answers it, and its errors.

server.py INTEROP_PEER LATCH CACHE rootcanal|virtual
"""

import asyncio
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import host
from bumble.profiles.gatt_service import GenericAttributeProfileService
from host import le
from server_caching import come_back_bonded, see_the_tree_change
from server_rig import LONG, LONG_UUID, SERVICE, Server, link_down, link_up, open_tree
from support.interop_peer import Failed, InteropPeer
from support.ours import refusal
from support.steps import StepFailed, check, check_equal
from support.suites import play


async def discover(suite, server, remote, _):
    with suite.step("the MTU is exchanged first, and large: nothing was asked for it"):
        services = await remote.services()
        check_equal(server.requests()[0], bytes([0x02]) + le(247), "the first request")
        length = await remote.call("maximumWriteLength")
        check_equal((length["withResponse"], length["withoutResponse"]), (512, 244), "what one write carries")
    with suite.step("discover all services, one by UUID, the included") as figure:
        found = [(one["uuid"], one["primary"]) for one in services]
        check_equal(found, [("1800", True), ("1801", True), (SERVICE, True), ("FFD0", True)], "the services")
        main = services[2]
        included = [(one["uuid"], one["primary"]) for one in await remote.included(main)]
        check_equal(included, [("FFE0", False)], "the included services")
        by_uuid = await remote.procedure("discoverServicesByUUID", uuid=SERVICE)
        ranges = [(one["first"], one["last"]) for one in by_uuid["services"]]
        check_equal(ranges, [(server.main.handle, server.main.end_group_handle)], "the services FFF0")
        figure.is_(", ".join(uuid for uuid, _ in found))
    with suite.step(
        "discover characteristics, all and by UUID, and descriptors: the same attributes, the same objects"
    ):
        characteristics = await remote.characteristics(main)
        everything = ["read", "write"]
        check_equal(
            [(one["uuid"], one["properties"], one["handle"]) for one in characteristics],
            [
                ("FFF1", ["read", "writeWithoutResponse", "write"], server.open.handle),
                ("FFF2", everything, server.long.handle),
                ("FFF3", ["notify"], server.notifying.handle),
                ("FFF4", ["indicate"], server.indicating.handle),
                ("FFF5", ["read"], server.twins[0].handle),
                ("FFF5", ["read"], server.twins[1].handle),
                (LONG_UUID, everything, server.wide.handle),
            ],
            "the characteristics",
        )
        descriptors = [[one["uuid"] for one in await remote.descriptors(each)] for each in characteristics]
        expected = [["2901", "2904", LONG_UUID], [], ["2902"], ["2902"], [], [], []]
        check_equal(descriptors, expected, "the descriptors")
        again = await remote.characteristics(main, uuids=["FFF5"])
        check_equal(again, characteristics, "the characteristics after a discovery of some of them")
    with suite.step("the tree by procedures of their own is the tree that Bumble has"):
        database = await remote.procedure("discoverDatabase")
        found = [(one["first"], one["last"], one["uuid"]) for one in database["services"]]
        expected = [(one.handle, one.end_group_handle, one.uuid.to_hex_str("-")) for one in server.server.services]
        check_equal(found, sorted(expected), "the services with their ranges")
        computed = host.cmac(
            bytes(16), b"".join(map(GenericAttributeProfileService.get_attribute_data, server.server.attributes))
        )[::-1]
        check_equal(database["hash"], computed.hex().upper(), "the Database Hash")


async def read_values(suite, server, remote, _):
    tree = await open_tree(remote)
    with suite.step("read values and descriptors, a text, a format, one of 128-bit type"):
        check_equal(await remote.read(tree["FFF1"]), b"\x01\x02\x03", "the value")
        check_equal(await remote.read(tree[LONG_UUID]), b"wide", "the value")
        text, presentation, wide = await remote.descriptors(tree["FFF1"])
        check_equal((await remote.read_descriptor(text))["text"], "Open", "the user description")
        check_equal(bytes.fromhex((await remote.read_descriptor(presentation))["value"]), bytes(range(7)), "the format")
        check_equal(bytes.fromhex((await remote.read_descriptor(wide))["value"]), b"kept", "the descriptor")
    with suite.step("read 512 octets in parts of what the MTU carries"):
        server.requests()
        check_equal(await remote.read(tree["FFF2"]), LONG, "the long value")
        at = le(server.long.handle)
        expected = [b"\x0a" + at, b"\x0c" + at + le(246), b"\x0c" + at + le(492)]
        check_equal(server.requests(), expected, "the requests for it")
    with suite.step("read by UUID, several of fixed and of variable length"):
        values = (await remote.procedure("readByUUID", uuid="FFF5"))["values"]
        one, two = (twin.handle for twin in server.twins)
        found = [(value["handle"], bytes.fromhex(value["value"])) for value in values]
        check_equal(found, [(one, b"one"), (two, b"two")], "the values by UUID")
        value = (await remote.procedure("readMultiple", handles=[one, server.open.handle, two]))["value"]
        check_equal(bytes.fromhex(value), b"one\x01\x02\x03two", "the values as one")
        handles = [server.open.handle, server.wide.handle, server.twins[0].handle]
        values = (await remote.procedure("readMultipleVariable", handles=handles))["values"]
        check_equal([bytes.fromhex(one["value"]) for one in values], [b"\x01\x02\x03", b"wide", b"one"], "the values")


async def write_values(suite, server, remote, _):
    tree = await open_tree(remote)
    with suite.step("write with and without response, and a descriptor"):
        server.requests()
        await remote.write(tree["FFF1"], b"abc")
        # Beside what our host asks by itself once a link is up.
        requests = [pdu for pdu in server.requests() if pdu[1:3] == le(server.open.handle)]
        check_equal(requests, [b"\x12" + le(server.open.handle) + b"abc"], "the requests for the value")
        check_equal(server.open.value, b"abc", "the value")
        written = asyncio.get_running_loop().create_future()
        server.open.once("write", lambda _, value: written.set_result(value))
        await remote.write_without_response(tree["FFF1"], b"defg")
        check_equal(await host.within(written, "the write"), b"defg", "the value written without response")
        wide = (await remote.descriptors(tree["FFF1"]))[2]
        await remote.write_descriptor(wide, b"written")
        check_equal(server.open.descriptors[2].value, b"written", "the descriptor")
    with suite.step("write 512 octets in parts"):
        server.requests()
        await remote.write(tree["FFF2"], LONG[::-1])
        check_equal(server.long.value, LONG[::-1], "the value")
        at = le(server.long.handle)
        parts = [b"\x16" + at + le(offset) + LONG[::-1][offset : offset + 242] for offset in (0, 242, 484)]
        check_equal(server.requests(), [*parts, b"\x18\x01"], "the requests for it")
    with suite.step("write two values reliably; a part that comes back changed cancels both"):
        writes = [{"handle": server.open.handle, "value": b"1"}, {"handle": server.wide.handle, "value": b"2"}]
        await remote.procedure("reliableWrites", writes=writes)
        check_equal((server.open.value, server.wide.value), (b"1", b"2"), "the values")
        honest = server.server.on_att_prepare_write_request

        def lie(bearer, request):
            answer = bytes([0x17]) + le(request.attribute_handle) + le(request.value_offset) + b"?"
            server.server.send_gatt_pdu(bearer, answer)

        server.server.on_att_prepare_write_request = lie
        server.requests()
        try:
            await remote.procedure("reliableWrites", writes=writes)
        except Failed as failed:
            check("echoDiffers" in failed.error["host"], f"the failure is {failed.error}")
        else:
            raise StepFailed("a part that came back changed was taken")
        finally:
            server.server.on_att_prepare_write_request = honest
        check_equal(server.requests()[-1], b"\x18\x00", "the last request")


async def be_refused(suite, server, remote, _):
    tree = await open_tree(remote)
    codes = {"encrypted": 0x0F, "authorised": 0x08, "own": 0x81, "locked": 0x03, "full": 0x11}
    with suite.step("each error that a server answers reaches the app with its code") as figure:
        for (name, code), number in zip(codes.items(), range(5)):
            characteristic = tree[f"FFD{number}"]
            check_equal(await refusal(remote.read(characteristic)), {"att": code}, f"reading {name}")
            check_equal(await refusal(remote.write(characteristic, b"x")), {"att": code}, f"writing {name}")
            long = await refusal(remote.write(characteristic, LONG))
            check_equal(long, {"att": code}, f"writing {name} in parts")
        figure.is_(", ".join(f"0x{code:02X}" for code in codes.values()))
    with suite.step("handles that nothing has, types that nothing is of, properties that are not there"):
        for asked, refused in (
            (("read", {"handle": 0xFFF0}), {"att": 0x01, "handle": 0xFFF0}),
            (("write", {"handle": 0xFFF0, "value": b"x"}), {"att": 0x01, "handle": 0xFFF0}),
            (("readByUUID", {"uuid": "ABCD"}), {"att": 0x0A, "handle": 1}),
        ):
            try:
                result = await remote.procedure(asked[0], **asked[1])
            except Failed as failed:
                result = failed.error
            check_equal(result, refused, f"{asked[0]} {asked[1]}")
        server.requests()
        # No descriptor to write: nothing is sent.
        check_equal(await refusal(remote.notify(tree["FFF1"])), {"cb": 2}, "subscribing to what cannot notify")
        check_equal(server.requests(), [], "requests")


async def be_told(suite, server, remote, link):
    tree = await open_tree(remote)
    with suite.step("subscribe and be notified, as much as the MTU carries; several values in one PDU; unsubscribe"):
        await remote.notify(tree["FFF3"])
        configuration = server.server.read_cccd(link.connection, server.notifying)
        check_equal(configuration, b"\x01\x00", "what the server was told")
        for value in (b"tick", LONG):
            await server.server.notify_subscriber(link.connection, server.notifying, value)
            check_equal(await remote.update(tree["FFF3"]), value[:244], "the notification")
        at = le(server.notifying.handle)
        link.send(b"\x23" + at + le(1) + b"a" + at + le(2) + b"bc")
        check_equal([await remote.update(tree["FFF3"]) for _ in range(2)], [b"a", b"bc"], "the notifications")
        await remote.notify(tree["FFF3"], enabled=False)
        configuration = server.server.read_cccd(link.connection, server.notifying)
        check_equal(configuration, b"\x00\x00", "what the server was told")
    with suite.step("be indicated, and confirm"):
        await remote.notify(tree["FFF4"])
        for value in (b"one", b"two"):
            told = server.server.indicate_subscriber(link.connection, server.indicating, value)
            await host.within(told, "the confirmation")
            check_equal(await remote.update(tree["FFF4"]), value, "the indication")
    with suite.step("read the signal strength") as figure:
        await remote.call("readRSSI")
        rssi = (await remote.result("rssi"))["rssi"]
        check(-127 <= rssi <= 20, f"{rssi} dBm")
        figure.is_(f"{rssi} dBm")


async def small_mtu(suite, server, ours):
    server.server.max_mtu = 23
    remote, link = await link_up(ours, server.bumble)
    with suite.step("a server that takes 23 octets: long values go in parts of 22 and 18"):
        tree = await open_tree(remote)
        server.long.value = LONG
        check_equal(await remote.read(tree["FFF2"]), LONG, "the long value")
        await remote.write(tree["FFF2"], LONG[::-1])
        check_equal(server.long.value, LONG[::-1], "the long value")
        length = await remote.call("maximumWriteLength")
        check_equal((length["withResponse"], length["withoutResponse"]), (512, 20), "what one write carries")
    await link_down(remote, link)
    server.server.max_mtu = 517


async def run(suite, peer_program, radio, directory):
    with InteropPeer(peer_program, radio.transport, os.path.join(directory, "ours")) as ours:
        ours.power_on()
        async with host.Host.on(radio) as bumble:
            server = Server(bumble)
            for part in (discover, read_values, write_values, be_refused, be_told):
                remote, link = await link_up(ours, bumble)
                await part(suite, server, remote, link)
                await link_down(remote, link)
            await small_mtu(suite, server, ours)
            await see_the_tree_change(suite, server, ours)
            await come_back_bonded(suite, server, ours)
        ours.stop()


if __name__ == "__main__":
    play("Bumble as a server", run)
