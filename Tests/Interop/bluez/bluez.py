"""bluetoothd inside the virtual machine, by its D-Bus interfaces. The bus is carried out through a serial port, so that
what drives it runs out here."""

import asyncio

from dbus_fast import BusType, Message, MessageType, Variant
from dbus_fast.aio import MessageBus
from dbus_fast.auth import UID_NOT_SPECIFIED, AuthExternal
from dbus_fast.service import ServiceInterface, method

from support.processes import DEADLINE_SECONDS
from support.steps import StepFailed

SERVICE = "org.bluez"
ADAPTER, DEVICE = "org.bluez.Adapter1", "org.bluez.Device1"
CHARACTERISTIC, DESCRIPTOR = "org.bluez.GattCharacteristic1", "org.bluez.GattDescriptor1"
GATT_MANAGER, ADVERTISING_MANAGER = "org.bluez.GattManager1", "org.bluez.LEAdvertisingManager1"
PROPERTIES, OBJECTS = "org.freedesktop.DBus.Properties", "org.freedesktop.DBus.ObjectManager"
# Its name, its path, its interface.
BUS = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
AGENT_PATH = "/latch/agent"

# Only LE, and nothing of the peer's is read that a step does not ask for.
CONFIGURATION = "[General]\nControllerMode = le\n"
OMITTED_PLUGINS = "battery,deviceinfo,a2dp,avrcp,bap,hog,input,network,sap,midi,policy"


class Refused(Exception):
    """bluetoothd answered with an error."""

    def __init__(self, name, text):
        super().__init__(f"{name}: {text}")
        self.name = name
        self.text = text


class BlueZ:
    """What bluetoothd says of itself, as it changes: `objects[path][interface][property]`."""

    def __init__(self, machine):
        self.machine = machine
        self.objects = {}
        # Who has bluetoothd's name from now on, whenever that changes; empty for nobody.
        self.owners = asyncio.Queue()
        self._changed = asyncio.Event()
        self._heard_by = {}
        self._bus = None
        self._has_agent = False

    async def connect(self):
        bus = MessageBus(
            bus_address=f"unix:path={self.machine.port('bus')}",
            bus_type=BusType.SYSTEM,
            # The bridge inside is root there, whoever runs this here.
            auth=AuthExternal(UID_NOT_SPECIFIED),
        )
        self._bus = await within(bus.connect(), "the bus inside answers")
        self._bus.add_message_handler(self._heard)
        for rule in (f"sender='{SERVICE}'", f"type='signal',member='NameOwnerChanged',arg0='{SERVICE}'"):
            await self._call(*BUS, "AddMatch", "s", [rule])

    def command(self, *options):
        """bluetoothd as a line of shell, its configuration written."""
        self.machine.write("/run/bluetoothd.conf", CONFIGURATION)
        words = ("/usr/libexec/bluetooth/bluetoothd", "-n", *options, "-f", "/run/bluetoothd.conf", "-P", OMITTED_PLUGINS)
        return " ".join(words)

    async def start(self):
        """Starts bluetoothd, and waits until it has its interfaces on the bus."""
        self.machine.run(f"{self.command('-d')} >>/run/bluetoothd.log 2>&1 & echo $! >/run/bluetoothd.pid")
        await self.until(self._named, "bluetoothd is on the bus")
        await self.look()

    async def look(self):
        """Asks bluetoothd for all its objects."""
        self.objects = {}
        body = await self.call("/", OBJECTS, "GetManagedObjects")
        for path, interfaces in body[0].items():
            self._add(path, interfaces)

    async def stop(self):
        """SIGTERM, and its end: it has then written what it keeps."""
        self.machine.run("kill $(cat /run/bluetoothd.pid)")
        is_gone = "! kill -0 $(cat /run/bluetoothd.pid) 2>/dev/null"
        await asyncio.to_thread(self.machine.until, is_gone, "bluetoothd ends")
        self.objects = {}
        if self._has_agent:
            self._bus.unexport(AGENT_PATH)
            self._has_agent = False

    async def power(self, adapter, on=True):
        path = f"/org/bluez/{adapter}"
        await self.until(lambda: ADAPTER in self.objects.get(path, {}), f"bluetoothd has {adapter}")
        await self.set(path, ADAPTER, "Powered", Variant("b", on))
        await self.until(lambda: self.get(path, ADAPTER, "Powered") is on, f"{adapter} is {'up' if on else 'down'}")

    def get(self, path, interface, name):
        return self.objects.get(path, {}).get(interface, {}).get(name)

    async def set(self, path, interface, name, value):
        await self.call(path, PROPERTIES, "Set", "ssv", [interface, name, value])

    async def call(self, path, interface, member, signature="", body=()):
        """Of bluetoothd; the answer's body. `Refused` if it is an error."""
        return await self._call(SERVICE, path, interface, member, signature, list(body))

    async def until(self, condition, what):
        """Its first value that counts as true, asked whenever bluetoothd has said something."""

        async def wait():
            while True:
                self._changed.clear()
                value = condition()
                if asyncio.iscoroutine(value):
                    value = await value
                if value:
                    return value
                await self._changed.wait()

        return await within(wait(), what)

    def find(self, interface, under, **properties):
        """The path of the object below `under` whose properties are these."""
        for path, interfaces in self.objects.items():
            found = interfaces.get(interface)
            if path.startswith(under) and found is not None:
                if all(found.get(name) == value for name, value in properties.items()):
                    return path
        return None

    def hear(self, path, interface, name):
        """A queue of every value that the property takes from now on: `objects` keeps only the last."""
        return self._heard_by.setdefault((path, interface, name), asyncio.Queue())

    async def be_asked(self, agent, capability):
        """Registers whoever sits before the machine."""
        manager = "org.bluez.AgentManager1"
        if self._has_agent:
            await self.call("/org/bluez", manager, "UnregisterAgent", "o", [AGENT_PATH])
            self._bus.unexport(AGENT_PATH)
        self._bus.export(AGENT_PATH, agent)
        self._has_agent = True
        await self.call("/org/bluez", manager, "RegisterAgent", "os", [AGENT_PATH, capability])
        await self.call("/org/bluez", manager, "RequestDefaultAgent", "o", [AGENT_PATH])

    async def serve(self, adapter, root, interfaces):
        """Registers a GATT application: all that lies below `root`."""
        self.export(interfaces)
        await self.register(adapter, root)

    def export(self, interfaces):
        for interface in interfaces:
            self._bus.export(interface.path, interface)

    async def register(self, adapter, root):
        await self.call(adapter, GATT_MANAGER, "RegisterApplication", "oa{sv}", [root, {}])

    async def withdraw(self, adapter, root, interfaces):
        await self.call(adapter, GATT_MANAGER, "UnregisterApplication", "o", [root])
        for interface in interfaces:
            self._bus.unexport(interface.path)

    async def advertise(self, adapter, advertisement):
        self.export([advertisement])
        await self.register_advertisement(adapter, advertisement)

    async def register_advertisement(self, adapter, advertisement):
        await self.call(
            adapter, ADVERTISING_MANAGER, "RegisterAdvertisement", "oa{sv}", [advertisement.path, {}]
        )

    async def stop_advertising(self, adapter, advertisement):
        await self.call(adapter, ADVERTISING_MANAGER, "UnregisterAdvertisement", "o", [advertisement.path])
        self._bus.unexport(advertisement.path)

    async def _named(self):
        return (await self._call(*BUS, "NameHasOwner", "s", [SERVICE]))[0]

    async def _call(self, destination, path, interface, member, signature, body):
        message = Message(
            destination=destination, path=path, interface=interface, member=member, signature=signature, body=body
        )
        answer = await within(self._bus.call(message), f"{interface}.{member} of {path}")
        if answer.message_type == MessageType.ERROR:
            raise Refused(answer.error_name, answer.body[0] if answer.body else "")
        return answer.body

    def _heard(self, message):
        if message.message_type != MessageType.SIGNAL:
            return
        if message.member == "NameOwnerChanged" and message.body[0] == SERVICE:
            self.owners.put_nowait(message.body[2])
        elif message.member == "InterfacesAdded":
            self._add(*message.body)
        elif message.member == "InterfacesRemoved":
            path, interfaces = message.body
            for interface in interfaces:
                self.objects.get(path, {}).pop(interface, None)
        elif message.member == "PropertiesChanged":
            interface, changed, gone = message.body
            held = self.objects.setdefault(message.path, {}).setdefault(interface, {})
            held.update({name: value.value for name, value in changed.items()})
            for name, value in changed.items():
                if queue := self._heard_by.get((message.path, interface, name)):
                    queue.put_nowait(value.value)
            for name in gone:
                held.pop(name, None)
        self._changed.set()

    def _add(self, path, interfaces):
        held = self.objects.setdefault(path, {})
        for interface, properties in interfaces.items():
            held[interface] = {name: value.value for name, value in properties.items()}


class Agent(ServiceInterface):
    """What bluetoothd asks of whoever sits before the machine, and shows them. `typing` is awaited for a passkey."""

    def __init__(self, typing=None):
        super().__init__("org.bluez.Agent1")
        self._typing = typing
        self.shown = asyncio.Queue()

    @method()
    async def RequestPasskey(self, device: "o") -> "u":
        return await self._typing()

    @method()
    def DisplayPasskey(self, device: "o", passkey: "u", entered: "q"):
        # Once more for every key that the other side presses.
        if entered == 0:
            self.shown.put_nowait(passkey)

    @method()
    def Cancel(self):
        pass

    @method()
    def Release(self):
        pass


async def within(awaitable, what):
    """Its result; a failure if it takes so long that it will never come."""
    try:
        return await asyncio.wait_for(awaitable, DEADLINE_SECONDS)
    except asyncio.TimeoutError as error:
        raise StepFailed(f"{what}: not within {DEADLINE_SECONDS:.0f} s") from error


async def insist(begin, what):
    """Asks again for what bluetoothd refuses while it still clears the last link away: nothing tells when it has."""

    async def ask():
        while True:
            try:
                return await begin()
            except Refused as error:
                refusal.append(error)
                await asyncio.sleep(0.2)

    refusal = []
    try:
        return await within(ask(), what)
    except StepFailed as error:
        raise StepFailed(f"{error}; {refusal[-1:]}") from error
