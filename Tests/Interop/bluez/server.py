"""Our central before a peripheral that bluetoothd serves: the tree, values short and long, updates, errors, pairing."""

import asyncio

import bluez
from application import ROOT, Advertisement, Characteristic, Descriptor, Service, long_form
from bluez import DEVICE, Agent
from dbus_fast import Variant
from support.ours import Remote, refusal
from support.steps import check, check_equal

SERVICE = "FFF0"
NAME = "Debian"
LONG = bytes(number * 7 % 256 for number in range(512))
# BlueZ 5.66 counts a Prepare Write Request's handle and offset as octets of the value.
LONGEST_WRITE_OCTETS = len(LONG) - 4
LONG_UUID = "0F0E0D0C-0B0A-0908-0706-050403020100"

ATT_NOT_PERMITTED, ATT_AUTHENTICATION, ATT_AUTHORIZATION, ATT_OWN = 0x02, 0x05, 0x08, 0x83


class Tree:
    """What bluetoothd serves."""

    def __init__(self):
        self.inner = Service(f"{ROOT}/inner", long_form("FFE0"), is_primary=False)
        self.main = Service(f"{ROOT}/main", long_form(SERVICE), includes=[self.inner])

        def of_main(name, short, flags, value=b""):
            return Characteristic(self.main, name, short if len(short) > 4 else long_form(short), flags, value)

        self.open = of_main("open", "FFF1", ["read", "write", "write-without-response"], b"\x01\x02\x03")
        self.long = of_main("long", LONG_UUID.lower(), ["read", "write"], LONG)
        self.notifying = of_main("notifying", "FFF3", ["read", "notify"])
        self.indicating = of_main("indicating", "FFF4", ["read", "indicate"])
        self.secure = of_main("secure", "FFF5", ["secure-read", "secure-write"], b"kept")
        self.refusing = of_main("refusing", "FFF6", ["read", "write"])
        self.attributes = [
            self.inner,
            Characteristic(self.inner, "value", long_form("FFE1"), ["read"], b"inner"),
            self.main,
            self.open,
            Descriptor(self.open, "text", long_form("2901"), ["read"], b"Open"),
            Descriptor(self.open, "own", LONG_UUID.lower(), ["read", "write"], b"own"),
            self.long,
            self.notifying,
            self.indicating,
            self.secure,
            self.refusing,
        ]


async def discover(suite, remote):
    """The characteristics of the main service, by type."""
    with suite.step("discover services, the included, characteristics and descriptors") as figure:
        services = {one["uuid"]: one for one in await remote.services()}
        check({"1800", "1801", SERVICE} <= services.keys(), f"the services are {sorted(services)}")
        main = services[SERVICE]
        included = [(one["uuid"], one["primary"]) for one in await remote.included(main)]
        check_equal(included, [("FFE0", False)], "the included services")
        characteristics = await remote.characteristics(main)
        check_equal(
            [(one["uuid"], one["properties"]) for one in characteristics],
            [
                ("FFF1", ["read", "writeWithoutResponse", "write"]),
                (LONG_UUID, ["read", "write"]),
                ("FFF3", ["read", "notify"]),
                ("FFF4", ["read", "indicate"]),
                ("FFF5", ["read", "write"]),
                ("FFF6", ["read", "write"]),
            ],
            "the characteristics",
        )
        descriptors = [[one["uuid"] for one in await remote.descriptors(each)] for each in characteristics]
        check_equal(descriptors, [["2901", LONG_UUID], [], ["2902"], ["2902"], [], []], "the descriptors")
        figure.is_(", ".join(services))
    return {one["uuid"]: one for one in characteristics}


async def check_written(characteristic, value):
    written = await bluez.within(characteristic.written.get(), "bluetoothd tells its application of the write")
    check_equal(written, value, "the value at bluetoothd's application")


async def exchange_values(suite, tree, remote, found):
    with suite.step("read and write, with and without response"):
        check_equal(await remote.read(found["FFF1"]), b"\x01\x02\x03", "the value")
        await remote.write(found["FFF1"], b"by request")
        await check_written(tree.open, b"by request")
        await remote.write_without_response(found["FFF1"], b"by command")
        await check_written(tree.open, b"by command")
        check_equal(await remote.read(found["FFF1"]), b"by command", "the value")

    with suite.step(f"read {len(LONG)} octets in parts, and write {LONGEST_WRITE_OCTETS}"):
        check_equal(await remote.read(found[LONG_UUID]), LONG, "the long value")
        written = LONG[:LONGEST_WRITE_OCTETS][::-1]
        await remote.write(found[LONG_UUID], written)
        await check_written(tree.long, written)

    with suite.step("read a user description, write a descriptor of 128-bit type"):
        text, own = await remote.descriptors(found["FFF1"])
        check_equal((await remote.read_descriptor(text))["text"], "Open", "the user description")
        await remote.write_descriptor(own, b"another")
        check_equal(bytes.fromhex((await remote.read_descriptor(own))["value"]), b"another", "the descriptor")

    with suite.step("be notified, and indicated to, each confirmed"):
        for uuid, updating in (("FFF3", tree.notifying), ("FFF4", tree.indicating)):
            await remote.notify(found[uuid])
            await bluez.within(updating.subscribed.wait(), "bluetoothd tells its application of the subscription")
            for value in (b"first", b"second", bytes(range(200))):
                updating.confirmed.clear()
                updating.update(value)
                check_equal(await remote.update(found[uuid]), value, f"the update of {uuid}")
                if updating is tree.indicating:
                    await bluez.within(updating.confirmed.wait(), "bluetoothd tells its application that it arrived")
            await remote.notify(found[uuid], enabled=False)
            await bluez.within(updating.unsubscribed.wait(), "bluetoothd tells its application that it is over")

    with suite.step("be refused: by the application, with an error of its own, without authority"):
        for name, text, code in (
            ("NotPermitted", "", ATT_NOT_PERMITTED),
            ("NotAuthorized", "", ATT_AUTHORIZATION),
            ("Failed", "0x83", ATT_OWN),
        ):
            tree.refusing.refusal = (f"org.bluez.Error.{name}", text)
            check_equal(await refusal(remote.read(found["FFF6"])), {"att": code}, f"the answer to {name}")


async def pair(suite, host, agent, tree, remote, found):
    with suite.step("be refused what needs an authenticated LE Secure Connections link"):
        answer = await refusal(remote.read(found["FFF5"]))
        check_equal(answer, {"att": ATT_AUTHENTICATION}, "the answer")

    with suite.step("pair: bluetoothd shows a passkey, and ours types it"):
        await remote.call("pair", method="passkeyEntry", credential="debian")
        await remote.event("passkeyRequested")
        shown = await bluez.within(agent.shown.get(), "bluetoothd shows a passkey")
        await remote.call("enterPasskey", passkey=shown)
        await remote.result("paired")
        await remote.result("security")
        check_equal(await remote.read(found["FFF5"]), b"kept", "the protected value")
        await remote.write(found["FFF5"], b"changed")
        await check_written(tree.secure, b"changed")

    with suite.step("come back, encrypt with the LTK, read the same without discovering anything"):
        before = discoveries(host)
        await remote.disconnect()
        await remote.connect()
        # bluetoothd hangs up on who encrypts before it has the link: an answer says that it has.
        check_equal(await remote.read(found["FFF1"]), b"by command", "the open value")
        await remote.call("encrypt")
        link = (await remote.result("security"))["link"]
        check_equal((link["authenticated"], link["secureConnections"]), (True, True), "what the link is")
        check_equal(await remote.read(found["FFF5"]), b"changed", "the protected value")
        check_equal(discoveries(host), before, "the number of discovering requests at bluetoothd")


def discoveries(host):
    """How many Find Information and Read By Group Type Requests bluetoothd's log tells of."""
    return int(host.machine.run("grep -cE 'ATT PDU received: 0x(04|10)' /run/bluetoothd.log"))


async def change(suite, host, adapter, tree, remote):
    with suite.step("hear by Service Changed that the application is gone"):
        await host.withdraw(adapter, ROOT, tree.attributes)
        # One service in each indication, or both in one.
        gone = set()
        while SERVICE not in gone:
            modified = await remote.event("modifiedServices")
            gone |= {one["uuid"] for one in modified["services"]}

    with suite.step("hear that bluetoothd hangs up"):
        device = host.find(DEVICE, adapter, Connected=True)
        await host.call(device, DEVICE, "Disconnect")
        await remote.event("disconnected")


async def run(suite, host, adapter_name, ours):
    adapter = f"/org/bluez/{adapter_name}"
    tree = Tree()
    advertisement = Advertisement(NAME, [long_form(SERVICE)])
    agent = Agent()
    # What the kernel says of its keyboard and display on a link is what it had when the link was made.
    await host.be_asked(agent, "DisplayOnly")
    with suite.step("bluetoothd serves an application, and advertises it; ours hears it") as figure:
        await host.set(adapter, bluez.ADAPTER, "Pairable", Variant("b", True))
        await host.serve(adapter, ROOT, tree.attributes)
        await host.advertise(adapter, advertisement)
        remote = await Remote.find(ours, SERVICE)
        figure.is_(f"{len(tree.attributes)} attributes")
    with suite.step("connect"):
        await remote.connect()
    found = await discover(suite, remote)
    await exchange_values(suite, tree, remote, found)
    await pair(suite, host, agent, tree, remote, found)
    await change(suite, host, adapter, tree, remote)
    await host.stop_advertising(adapter, advertisement)
