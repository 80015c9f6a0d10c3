"""A server of server.py that changes its tree, before our eyes and while we are away."""

import host
from bumble.pairing import PairingDelegate
from host import le
from server_rig import SERVICE, link_down, link_up, open_tree, refusing, uuid
from support.ours import refusal
from support.steps import check_equal


async def see_the_tree_change(suite, server, ours):
    remote, link = await link_up(ours, server.bumble)
    with suite.step("the server says that its tree changed: what was there is void, what is new is discovered"):
        services = await remote.services()
        # Behind the subscription to Service Changed, which nobody asked for.
        await remote.read((await open_tree(remote))["FFF1"])
        first, value = server.add("FFC0")
        await server.change(link, first, value)
        await remote.event("modifiedServices")
        found = await remote.services()
        check_equal([one["uuid"] for one in found], [one["uuid"] for one in services] + ["FFC0"], "the services")
        check_equal(found[: len(services)], services, "those that stood, as objects")
        characteristic = (await remote.characteristics(found[-1]))[0]
        check_equal(await remote.read(characteristic), b"FFC0", "the new value")
    with suite.step("this client claims robust caching and notifications of several values"):
        features = server.bumble.device.gatt_service.client_supported_features_characteristic.value
        check_equal(features, b"\x05", "the Client Supported Features")
    with suite.step("the server says that this client is out of sync: it hears of it, and discovers again"):
        server.add("FFB0")
        honest, server.open.value = server.open.value, refusing(0x12)
        tree = {one["uuid"]: one for one in await remote.characteristics(found[2])}
        check_equal(await refusal(remote.read(tree["FFF1"])), {"att": 0x12}, "reading")
        await remote.event("modifiedServices")
        server.open.value = honest
        check_equal([one["uuid"] for one in await remote.services()][-1], "FFB0", "the newest service")
        check_equal(await remote.read((await open_tree(remote))["FFF1"]), honest, "the value")
    await link_down(remote, link)


async def come_back_bonded(suite, server, ours):
    user = host.User(PairingDelegate.DISPLAY_OUTPUT_ONLY)
    server.bumble.set_pairing(user)
    remote, link = await link_up(ours, server.bumble)
    with suite.step("pair by passkey entry, and read what wants encryption"):
        await remote.call("pair", method="passkeyEntry", credential="server")
        await remote.event("passkeyRequested")
        await remote.call("enterPasskey", passkey=await host.within(user.shown, "the passkey"))
        check_equal((await remote.event("paired"))["error"], None, "pairing")
        # Named by its identity from here on.
        bonds = (await ours.acall("bonds"))["bonds"]
        check_equal([one["identity"] for one in bonds], [server.bumble.address], "whom the bond is with")
        tree = await open_tree(remote)
        check_equal(await remote.read(tree["FFD0"]), b"e", "the value")
        await remote.notify(tree["FFF3"])
    await link_down(remote, link)

    async def come_back():
        connected = await server.bumble.advertise(uuid(SERVICE))
        server.requests()
        # The pairing's link was secured too.
        ours.forget()
        await remote.connect()
        link = await host.within(connected, "Bumble's connection")
        await remote.call("encrypt")
        secured = await remote.event("security", error=None)
        check_equal((secured["link"]["proven"], secured["link"]["encrypted"]), (True, True), "the link")
        return link

    link = await come_back()
    with suite.step("come back bonded: the hash and the name are asked for, and nothing is discovered") as figure:
        tree = await open_tree(remote)
        check_equal(await remote.read(tree["FFD0"]), b"e", "the value")
        asked = server.requests()
        expected = [
            b"\x02" + le(247),
            b"\x08" + le(1) + le(0xFFFF) + le(0x2B2A),
            # An app shows peripherals by the names that they give themselves.
            b"\x08" + le(1) + le(0xFFFF) + le(0x2A00),
            b"\x0a" + le(server.refusals["encrypted"].handle),
        ]
        check_equal(sorted(asked), sorted(expected), "all that was asked")
        figure.is_(f"{len(asked)} requests")
    await link_down(remote, link)
    first, _ = server.add("FFA0")
    link = await come_back()
    with suite.step("the tree changed while it was away: the hash says so, and it is discovered anew"):
        await remote.event("modifiedServices")
        services = await remote.services()
        check_equal(services[-1]["uuid"], "FFA0", "the newest service")
        check_equal(await remote.read((await remote.characteristics(services[-1]))[0]), b"FFA0", "its value")
    await link_down(remote, link)
