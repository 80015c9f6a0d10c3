"""What the suites of client.py ask and expect."""

import host
from bumble import gatt
from host import le
from pdus import READ_BY_TYPE
from support.steps import check_equal


class Server:
    """Our peripheral with its trees published, and their handles by name."""

    def __init__(self, ours):
        self.ours = ours
        self.handles = {}

    async def publish(self, service):
        await self.ours.acall("addService", service=service)
        added = await self.ours.aevent("added", service=service["uuid"])
        check_equal(added["error"], None, "publishing")
        self.handles.update(added["handles"])

    def __getitem__(self, name):
        return self.handles[name]

    async def wrote(self, path, *writes):
        """The app was asked for these writes together."""
        asked = await self.ours.aevent("writeRequest")
        told = [(one["characteristic"], one["offset"], bytes.fromhex(one["value"])) for one in asked["writes"]]
        check_equal((asked["path"], told), (path, list(writes)), "the writes that the app was asked for")
        return asked

    async def value(self, name):
        return bytes.fromhex((await self.ours.acall("getValue", characteristic=name))["value"])


async def expect(link, request, response):
    check_equal((await link.ask(request)).hex(), response.hex(), f"the answer to {request.hex()}")


def find_by_uuid(uuid):
    return bytes([READ_BY_TYPE]) + le(1) + le(0xFFFF) + le(uuid)


async def value_handle(link, uuid):
    """Of a characteristic of the GATT service."""
    service = (await host.within(link.client.discover_service(gatt.GATT_GENERIC_ATTRIBUTE_SERVICE), "GATT"))[0]
    characteristics = await host.within(service.discover_characteristics(), "its characteristics")
    return next(one.handle for one in characteristics if one.uuid == host.UUID.from_16_bits(uuid))
