"""GAP's modes of discovery and connection, and what advertising data can carry, between ours and a Bumble device.

modes.py INTEROP_PEER LATCH CACHE rootcanal|virtual
"""

import asyncio
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import host
from bumble import hci
from bumble.core import UUID, AdvertisingData, Appearance
from bumble.device import AdvertisingType
from support.interop_peer import Failed, InteropPeer
from support.steps import StepFailed, check, check_equal
from support.suites import play

FLAGS = {"nonDiscoverable": 0x04, "limited": 0x05, "general": 0x06}
# Core 5.4, Vol 4, Part E, 7.7.65.13: the type of the event, and of the scan response to it.
EVENTS = {"connectable": (0x13, 0x1B), "scannable": (0x12, 0x1A), "nonConnectable": (0x10, None)}
SERVICE = UUID.from_16_bits(0xFFF0)
NAME = b"Bell"
NAME_STRUCTURE = bytes([len(NAME) + 1, 0x09]) + NAME
LONG = UUID("FD510000-D1DB-463D-86FD-15EFB82160A8")
# Long enough that a device which would take a connection has taken it.
CONNECTION_SECONDS = 1.5
# Of Bumble's advertisers.
INTERVAL_MILLISECONDS = 50


class Observer:
    """What Bumble's controller reports of one advertiser: event type and octets of each report."""

    def __init__(self, bumble, address):
        self._bumble = bumble
        self._address = address
        self._queue = asyncio.Queue()

    async def __aenter__(self):
        self._bumble.device.host.on("advertising_report", self._heard)
        await self._bumble.device.start_scanning(
            active=True, filter_duplicates=False, scanning_phys=[hci.HCI_LE_1M_PHY]
        )
        return self

    async def __aexit__(self, *_):
        await self._bumble.device.stop_scanning()
        self._bumble.device.host.remove_listener("advertising_report", self._heard)

    def _heard(self, report):
        if report.address.to_string(False) == self._address:
            self._queue.put_nowait((int(report.event_type), bytes(report.data)))

    async def reports(self, count):
        return [await host.within(self._queue.get(), "an advertisement") for _ in range(count)]

    async def whole(self, event_type):
        """The data of the next event of this type, joined when it comes in pieces."""
        data = b""
        while True:
            kind, octets = (await self.reports(1))[0]
            if kind & 0x1F != event_type:
                continue
            data += octets
            if not kind & 0x20:
                return data


async def advertise(ours, mode, connectability, **more):
    await ours.acall("advertiseAs", mode=mode, connectability=connectability, **more)


async def be_heard(suite, ours, bumble, address):
    for mode, flags in FLAGS.items():
        for connectability, (event_type, response_type) in EVENTS.items():
            with suite.step(f"{mode}, {connectability}: the events, their octets, and who may connect") as figure:
                await advertise(ours, mode, connectability, name=NAME.decode(), services=["FFF0"])
                expected = bytes([2, 1, flags, 3, 3, 0xF0, 0xFF])
                kinds = {event_type: expected + (b"" if response_type else NAME_STRUCTURE)}
                if response_type:
                    kinds[response_type] = NAME_STRUCTURE
                async with Observer(bumble, address) as observer:
                    heard = await observer.reports(8)
                check_equal({kind for kind, _ in heard}, set(kinds), "the types of events")
                check(all(kinds[kind] == data for kind, data in heard), f"the octets: {heard}")
                is_connected = await connects(bumble, address)
                check_equal(is_connected, connectability == "connectable", "whether Bumble connected")
                figure.is_(f"{len(heard)} events")


async def connects(bumble, address):
    device = bumble.device
    target = hci.Address(address, hci.Address.RANDOM_DEVICE_ADDRESS)
    try:
        connection = await device.connect(target, timeout=CONNECTION_SECONDS)
    except Exception as error:
        check(type(error).__name__ in ("CommandTimeoutError", "TimeoutError", "ConnectionError"), repr(error))
        return False
    await host.within(connection.disconnect(), "the end of the link")
    return True


async def say_everything(suite, ours, bumble, address):
    everything = dict(
        name=NAME.decode(),
        services=["FFF0", str(LONG)],
        txPower=-4,
        appearance=True,
        manufacturer=b"\x4c\x00\x01\x02",
        serviceData=[{"service": "180F", "data": b"\x63"}, {"service": str(LONG), "data": b"\x01\x02"}],
        solicited=["1805"],
    )
    for connectability, event_type in (("connectable", 0x01), ("nonConnectable", 0x00)):
        with suite.step(f"{connectability}, and more than fits: the rest in an extended advertisement") as figure:
            await advertise(ours, "general", connectability, **everything)
            async with Observer(bumble, address) as observer:
                octets = await observer.whole(event_type)
            said = AdvertisingData.from_bytes(octets)
            long = LONG.to_bytes()
            structures = {
                (AdvertisingData.FLAGS, b"\x06"),
                (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, b"\xf0\xff"),
                (AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, long),
                (AdvertisingData.TX_POWER_LEVEL, b"\xfc"),
                (AdvertisingData.APPEARANCE, b"\x00\x00"),
                (AdvertisingData.LIST_OF_16_BIT_SERVICE_SOLICITATION_UUIDS, b"\x05\x18"),
                (AdvertisingData.MANUFACTURER_SPECIFIC_DATA, b"\x4c\x00\x01\x02"),
                (AdvertisingData.SERVICE_DATA_16_BIT_UUID, b"\x0f\x18\x63"),
                (AdvertisingData.SERVICE_DATA_128_BIT_UUID, long + b"\x01\x02"),
                (AdvertisingData.COMPLETE_LOCAL_NAME, NAME),
            }
            check_equal({(int(kind), data) for kind, data in said.ad_structures}, structures, "the structures")
            figure.is_(f"{len(octets)} octets")

    with suite.step("manufacturer data without a company is refused, and what is advertised goes on"):
        try:
            await advertise(ours, "limited", "scannable", manufacturer=b"\x4c")
        except Failed:
            pass
        else:
            raise StepFailed("it was not refused")
        async with Observer(bumble, address) as observer:
            await observer.whole(0x00)
    await ours.acall("endAdvertising")


# What Bumble's advertisers are, by the name of their mode. A broadcaster has no flags.
ADVERTISERS = {
    "limited": b"\x02\x01\x05",
    "general": b"\x02\x01\x06",
    "connectable": b"\x02\x01\x04",
    "broadcaster": b"",
}
LISTED = {
    "limitedDiscovery": {"limited"},
    "generalDiscovery": {"limited", "general"},
    "observation": set(ADVERTISERS),
}


CONNECTABLE = AdvertisingType.UNDIRECTED_CONNECTABLE_SCANNABLE


async def bumble_advertises(bumble, data, kind=CONNECTABLE):
    await bumble.device.start_advertising(
        kind,
        advertising_data=data,
        scan_response_data=NAME_STRUCTURE,
        advertising_interval_min=INTERVAL_MILLISECONDS,
        advertising_interval_max=INTERVAL_MILLISECONDS,
    )


async def discover(suite, ours, bumble):
    identity = bumble.address
    for procedure, listed in LISTED.items():
        for who, flags in ADVERTISERS.items():
            with suite.step(f"{procedure}: {'lists' if who in listed else 'passes over'} a device that is {who}"):
                kind = AdvertisingType.UNDIRECTED_SCANNABLE if who == "broadcaster" else CONNECTABLE
                await bumble_advertises(bumble, flags + b"\x03\x03\xf0\xff", kind)
                ours.forget()
                await ours.acall("discover", procedure=procedure)
                # Apple's scan lists everybody: what it hears, the procedure was told too.
                await ours.acall("scan", services=["FFF0"], duplicates=True)
                for _ in range(3):
                    await ours.aevent("discovered")
                if who in listed:
                    named = await ours.aevent("listed", address=identity, localName=NAME.decode())
                    mode = who if who in FLAGS else "nonDiscoverable"
                    said = named["mode"], named["connectable"]
                    check_equal(said, (mode, who != "broadcaster"), "its scan response")
                await ours.acall("stopScan")
                await ours.acall("endDiscovery")
                left = [event for event in ours.forget() if event["event"] == "listed"]
                check(who in listed or not left, f"it was listed: {left}")
                await bumble.device.stop_advertising()


async def hear_everything(suite, ours, bumble):
    with suite.step("a passive observer reads each structure of Bumble's, and asks for no scan response"):
        data = AdvertisingData(
            [
                (AdvertisingData.FLAGS, b"\x06"),
                (AdvertisingData.TX_POWER_LEVEL, b"\xfc"),
                (AdvertisingData.APPEARANCE, bytes(Appearance(Appearance.Category.KEYRING, 0))),
                (AdvertisingData.LIST_OF_16_BIT_SERVICE_SOLICITATION_UUIDS, b"\x05\x18"),
                (AdvertisingData.SERVICE_DATA_16_BIT_UUID, b"\x0f\x18\x63"),
                (AdvertisingData.MANUFACTURER_SPECIFIC_DATA, b"\x4c\x00\x01\x02"),
            ]
        )
        await bumble_advertises(bumble, bytes(data))
        ours.forget()
        await ours.acall("discover", procedure="generalDiscovery", passive=True)
        for _ in range(5):
            listed = await ours.aevent("listed", address=bumble.address)
            keys = ("localName", "txPower", "appearance", "solicited", "serviceData", "manufacturer")
            check_equal(
                [listed[key] for key in keys],
                [None, -4, 0x0240, ["1805"], [{"service": "180F", "data": "63"}], "4C000102"],
                "what was read",
            )
        await ours.acall("endDiscovery")
        await bumble.device.stop_advertising()


async def run(suite, peer_program, radio, directory):
    with InteropPeer(peer_program, radio.transport, os.path.join(directory, "ours")) as ours:
        ours.power_on()
        address = ours.call("identity")["address"].split("/")[0]
        async with host.Host.on(radio) as bumble:
            await be_heard(suite, ours, bumble, address)
            await say_everything(suite, ours, bumble, address)
            await discover(suite, ours, bumble)
            await hear_everything(suite, ours, bumble)
        ours.stop()


if __name__ == "__main__":
    play("Modes and advertising data with Bumble", run)
