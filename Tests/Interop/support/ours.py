"""Our central as a script uses it: Apple's calls, each with the callback that ends it."""

from support.steps import check_equal


class Refused(Exception):
    """What a callback said instead of a result: `att` is the peer's answer, `cb` one of Apple's codes."""

    def __init__(self, error):
        super().__init__(str(error))
        self.error = error


class Remote:
    """A peripheral that our central has found."""

    def __init__(self, ours, identifier):
        self.ours = ours
        self.identifier = identifier

    @classmethod
    async def find(cls, ours, service):
        """The first that a scan for a 16-bit service UUID finds."""
        await ours.acall("scan", services=[service])
        found = await ours.aevent("discovered")
        check_equal(found["services"], [service], "what the peripheral advertises")
        await ours.acall("stopScan")
        return cls(ours, found["peripheral"])

    async def call(self, command, **arguments):
        return await self.ours.acall(command, peripheral=self.identifier, **arguments)

    async def event(self, name, **fields):
        """The callback, whatever it says."""
        return await self.ours.aevent(name, peripheral=self.identifier, **fields)

    async def result(self, name, **fields):
        """The callback; raises `Refused` when it has an error."""
        event = await self.event(name, **fields)
        if event["error"] is not None:
            raise Refused(event["error"])
        return event

    async def connect(self):
        await self.call("connect")
        await self.event("connected")

    async def disconnect(self):
        await self.call("cancelConnection")
        check_equal((await self.event("disconnected"))["error"], None, "why the link ended")

    # Discovery.

    async def services(self, uuids=None):
        await self.call("discoverServices", uuids=uuids)
        return (await self.result("services"))["services"]

    async def included(self, service, uuids=None):
        await self.call("discoverIncludedServices", attribute=service["attribute"], uuids=uuids)
        return (await self.result("includedServices", attribute=service["attribute"]))["services"]

    async def characteristics(self, service, uuids=None):
        await self.call("discoverCharacteristics", attribute=service["attribute"], uuids=uuids)
        return (await self.result("characteristics", attribute=service["attribute"]))["characteristics"]

    async def descriptors(self, characteristic):
        await self.call("discoverDescriptors", attribute=characteristic["attribute"])
        return (await self.result("descriptors", attribute=characteristic["attribute"]))["descriptors"]

    # Values.

    async def read(self, attribute):
        await self.call("read", attribute=attribute["attribute"])
        return bytes.fromhex((await self.result("value", attribute=attribute["attribute"]))["value"])

    async def read_descriptor(self, descriptor):
        """The callback, which has a `text`, a `number` or a `value`."""
        await self.call("read", attribute=descriptor["attribute"])
        return await self.result("descriptorValue", attribute=descriptor["attribute"])

    async def write(self, characteristic, value):
        await self.call("write", attribute=characteristic["attribute"], value=value)
        await self.result("written", attribute=characteristic["attribute"])

    async def write_descriptor(self, descriptor, value):
        await self.call("write", attribute=descriptor["attribute"], value=value)
        await self.result("descriptorWritten", attribute=descriptor["attribute"])

    async def write_without_response(self, characteristic, value):
        await self.call("write", attribute=characteristic["attribute"], value=value, withoutResponse=True)

    async def notify(self, characteristic, enabled=True):
        await self.call("setNotify", attribute=characteristic["attribute"], enabled=enabled)
        state = await self.result("notificationState", attribute=characteristic["attribute"])
        check_equal(state["notifying"], enabled, "whether the characteristic notifies")

    async def update(self, characteristic):
        """The next notification's or indication's value."""
        return bytes.fromhex((await self.event("value", attribute=characteristic["attribute"]))["value"])

    async def procedure(self, procedure, **arguments):
        """A procedure by handles, beside Apple's calls; raises `Failed`."""
        return await self.call("procedure", procedure=procedure, **arguments)


async def refusal(asking):
    """What something was refused with."""
    try:
        result = await asking
    except Refused as refused:
        return refused.error
    return {"not refused": result}
