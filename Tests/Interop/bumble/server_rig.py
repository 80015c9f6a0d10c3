"""The tree of a Bumble peripheral that server.py's suites read, write and subscribe to, and the way to it and back."""

import host
from bumble import att
from bumble.gatt import Characteristic, CharacteristicValue, Descriptor, Service
from host import le
from support.ours import Remote

Properties = Characteristic.Properties
Permissions = Characteristic.Permissions
READABLE, WRITEABLE = Permissions.READABLE, Permissions.WRITEABLE

LONG = bytes(number * 7 % 256 for number in range(512))
LONG_UUID = "0F0E0D0C-0B0A-0908-0706-050403020100"
SERVICE = "FFF0"


def uuid(short):
    return host.UUID.from_16_bits(int(short, 16))


def refusing(code):
    """A value that is neither read nor written."""

    def refuse(*_):
        raise att.ATT_Error(error_code=code)

    return CharacteristicValue(read=refuse, write=refuse)


class Server:
    """The tree of a Bumble device, and all that its server is sent."""

    def __init__(self, bumble):
        self.bumble = bumble
        self.server = bumble.device.gatt_server
        self.heard = []
        everything = Properties.READ | Properties.WRITE

        def characteristic(short, properties, permissions, value=b"", descriptors=()):
            return Characteristic(short, properties, permissions, value, list(descriptors))

        self.open = characteristic(
            "FFF1",
            everything | Properties.WRITE_WITHOUT_RESPONSE,
            READABLE | WRITEABLE,
            b"\x01\x02\x03",
            [
                Descriptor("2901", READABLE, b"Open"),
                Descriptor("2904", READABLE, bytes(range(7))),
                Descriptor(LONG_UUID, READABLE | WRITEABLE, b"kept"),
            ],
        )
        self.long = characteristic("FFF2", everything, READABLE | WRITEABLE, LONG)
        self.notifying = characteristic("FFF3", Properties.NOTIFY, Permissions(0))
        self.indicating = characteristic("FFF4", Properties.INDICATE, Permissions(0))
        self.twins = [characteristic("FFF5", Properties.READ, READABLE, value) for value in (b"one", b"two")]
        self.wide = characteristic(LONG_UUID, everything, READABLE | WRITEABLE, b"wide")
        self.refusals = {
            name: characteristic(f"FFD{number}", everything, permissions, value)
            for number, (name, permissions, value) in enumerate(
                [
                    ("encrypted", Permissions.READ_REQUIRES_ENCRYPTION | Permissions.WRITE_REQUIRES_ENCRYPTION, b"e"),
                    (
                        "authorised",
                        Permissions.READ_REQUIRES_AUTHORIZATION | Permissions.WRITE_REQUIRES_AUTHORIZATION,
                        b"",
                    ),
                    ("own", READABLE | WRITEABLE, refusing(0x81)),
                    ("locked", READABLE | WRITEABLE, refusing(0x03)),
                    ("full", READABLE | WRITEABLE, refusing(0x11)),
                ]
            )
        }
        inner = Service("FFE0", [characteristic("FFE1", Properties.READ, READABLE, b"inner")], primary=False)
        self.main = Service(
            SERVICE,
            [self.open, self.long, self.notifying, self.indicating, *self.twins, self.wide],
            included_services=[inner],
        )
        for service in (inner, self.main, Service("FFD0", list(self.refusals.values()))):
            bumble.device.add_service(service)
        hear = self.server.on_gatt_pdu

        def on_gatt_pdu(bearer, pdu):
            self.heard.append(bytes(pdu))
            hear(bearer, pdu)

        self.server.on_gatt_pdu = on_gatt_pdu

    def requests(self):
        """The PDUs heard since this was last asked."""
        heard, self.heard = self.heard, []
        return heard

    def add(self, short):
        """One more service at the tree's end; its handles."""
        value = Characteristic(f"{short[:3]}1", Properties.READ, READABLE, short.encode())
        service = Service(short, [value])
        self.bumble.device.add_service(service)
        return service.handle, value.handle

    async def change(self, link, first, last):
        """Indicates Service Changed; returns when it has been confirmed."""
        changed = self.bumble.device.gatt_service.service_changed_characteristic
        value = le(first) + le(last)
        await host.within(self.server.indicate_subscriber(link.connection, changed, value), "the confirmation")


async def link_up(ours, bumble, service=SERVICE):
    """Bumble advertises, our central finds it and connects."""
    connected = await bumble.advertise(uuid(service))
    remote = await Remote.find(ours, service)
    await remote.connect()
    return remote, await host.within(connected, "Bumble's connection")


async def link_down(remote, link):
    await remote.disconnect()
    await link.end()


async def open_tree(remote):
    """The characteristics of the main service and of that which refuses, by type; of twins the last."""
    services = {one["uuid"]: one for one in await remote.services()}
    found = await remote.characteristics(services[SERVICE]) + await remote.characteristics(services["FFD0"])
    return {one["uuid"]: one for one in found}
