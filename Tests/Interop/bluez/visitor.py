"""bluetoothd as the central of our lock: scanning, pairing by passkey, reading, being notified, and signed writes."""

import asyncio
import configparser
import io

import bluez
from bluez import CHARACTERISTIC, DEVICE, Refused
from dbus_fast import Variant
from support.daemons import EXIT_OK
from support.steps import StepFailed, check, check_equal

# docs/PROTOCOL.md.
OPERATIONS = {"lock": 1, "unlock": 2}
KEY_STATUS = b"\x01"
RESPONSE, SUCCESS = 0x20, 0x01
BOLTS = {1: "locked", 2: "unlocking", 3: "unlocked", 4: "locking"}

# The groups of bluetoothd's file on a device: as central, as peripheral, and the latter's former name.
LONG_TERM_KEYS = ("LongTermKey", "PeripheralLongTermKey", "SlaveLongTermKey")

# A link that proves nothing is dropped after 6 s, and a machine as slow as this one may need longer: how often it may.
LINKS_TRIED = 10


def lock_uuid(number):
    return f"fd51{number:04x}-d1db-463d-86fd-15efb82160a8"


LOCK_SERVICE = lock_uuid(0)
LOCK_STATE, LOCK_COMMAND, CHALLENGE, CONTROL_POINT = (lock_uuid(number) for number in range(1, 5))


def command(operation, challenge):
    """Lock Command: version 1, the lock's own relock setting, the challenge that it answers."""
    return bytes([0x10 | operation, 0]) + challenge[:6]


class Visitor:
    """One adapter of bluetoothd's, and what it knows of the lock."""

    def __init__(self, host, adapter):
        self.host = host
        self.adapter = f"/org/bluez/{adapter}"
        self.device = None

    async def find(self, service):
        """Scans for a device that advertises the service; what bluetoothd heard of it."""
        await self.host.call(
            self.adapter, bluez.ADAPTER, "SetDiscoveryFilter", "a{sv}", [{"Transport": Variant("s", "le")}]
        )
        await self.host.call(self.adapter, bluez.ADAPTER, "StartDiscovery")
        self.device = await self.host.until(lambda: self._advertiser(service), "bluetoothd hears the advertisement")
        # With the discovery its RSSI goes.
        found = dict(self.host.objects[self.device][DEVICE])
        await self.host.call(self.adapter, bluez.ADAPTER, "StopDiscovery")
        return found

    def _advertiser(self, service):
        for path, interfaces in self.host.objects.items():
            device = interfaces.get(DEVICE, {})
            if path.startswith(self.adapter) and service in device.get("UUIDs", []) and "RSSI" in device:
                return path
        return None

    def recognise(self, service):
        """The device that bluetoothd knows by the service from an earlier life, under its identity address."""
        for path, interfaces in self.host.objects.items():
            if path.startswith(self.adapter) and service in interfaces.get(DEVICE, {}).get("UUIDs", []):
                self.device = path
                return
        raise StepFailed(f"bluetoothd has forgotten the device with {service}: {sorted(self.host.objects)}")

    def is_(self, name):
        return self.host.get(self.device, DEVICE, name) is True

    async def pair(self):
        await self.host.call(self.device, DEVICE, "Pair")
        await self._resolved()

    async def connect(self):
        await bluez.insist(lambda: self.host.call(self.device, DEVICE, "Connect"), "bluetoothd connects")
        await self._resolved()

    async def _resolved(self):
        await self.host.until(lambda: self.is_("ServicesResolved"), "the lock's services are known")

    async def disconnect(self):
        await self.host.call(self.device, DEVICE, "Disconnect")
        await self.host.until(lambda: not self.is_("Connected"), "the link ends")

    def _path(self, uuid):
        path = self.host.find(CHARACTERISTIC, self.device, UUID=uuid)
        check(path is not None, f"bluetoothd knows of no characteristic {uuid}")
        return path

    def flags(self, uuid):
        return self.host.get(self._path(uuid), CHARACTERISTIC, "Flags")

    async def read(self, uuid):
        return (await self.host.call(self._path(uuid), CHARACTERISTIC, "ReadValue", "a{sv}", [{}]))[0]

    async def write(self, uuid, value, kind):
        """`kind` is "request" or "command"; bluetoothd itself decides whether to sign a command."""
        options = {"type": Variant("s", kind)}
        await self.host.call(self._path(uuid), CHARACTERISTIC, "WriteValue", "aya{sv}", [value, options])

    async def subscribe(self, uuid):
        """The function that awaits a value that satisfies its argument."""
        path = self._path(uuid)
        values = self.host.hear(path, CHARACTERISTIC, "Value")
        await self.host.call(path, CHARACTERISTIC, "StartNotify")

        async def next_value(condition, what):
            while True:
                value = await bluez.within(values.get(), what)
                if condition(value):
                    return value

        return next_value


async def enrol(suite, visitor, lock):
    with suite.step("bluetoothd hears the lock advertise") as figure:
        device = await visitor.find(LOCK_SERVICE)
        figure.is_(f"{device['Address']}, {device['RSSI']} dBm")

    window, _ = await asyncio.to_thread(lock.open_window, "debian", "--method", "passkey")

    async def passkey():
        shown = await asyncio.to_thread(window.wait_for_event, "passkey")
        return int(shown["passkey"])

    with window:
        with suite.step("bluetoothd pairs by the passkey that the lock shows, and discovers") as figure:
            await visitor.host.be_asked(bluez.Agent(passkey), "KeyboardOnly")
            await visitor.pair()
            check_equal(
                sorted(visitor.flags(LOCK_COMMAND)),
                ["authenticated-signed-writes", "write", "write-without-response"],
                "the properties of Lock Command",
            )
            known = [path for path in visitor.host.objects if path.startswith(f"{visitor.device}/service")]
            figure.is_(f"{len(known)} attributes")
            await visitor.disconnect()

        with suite.step("it comes back encrypted, and asks for Key Status by an indication: the bond is confirmed"):
            await visitor.connect()
            answers = await visitor.subscribe(CONTROL_POINT)
            await visitor.write(CONTROL_POINT, KEY_STATUS, "request")
            begin = bytes([RESPONSE]) + KEY_STATUS + bytes([SUCCESS])
            await answers(lambda value: value.startswith(begin), "the answer to Key Status")
            answer = await asyncio.to_thread(window.answer)
            check_equal(answer.status, EXIT_OK, "the window's exit status")
            bonds = [(one["name"], one["bond_state"]) for one in lock.status()["credentials"]]
            check_equal(bonds, [("debian", "confirmed")], "the lock's bonds")


async def command_encrypted(suite, visitor, lock):
    with suite.step("it reads Lock State, which only an encrypted and authenticated link may"):
        state = await visitor.read(LOCK_STATE)
        check_equal(BOLTS[state[0]], "locked", "the bolt in Lock State")

    with suite.step("it unlocks by Write Request, and is notified of the bolt's way"):
        states = await visitor.subscribe(LOCK_STATE)
        challenge = await visitor.read(CHALLENGE)
        await visitor.write(LOCK_COMMAND, command(OPERATIONS["unlock"], challenge), "request")
        await states(lambda state: BOLTS.get(state[0]) == "unlocked", "Lock State says unlocked")
        check_equal(lock.status()["bolt"], "unlocked", "the bolt")
        await visitor.disconnect()


class Signer:
    """bluetoothd without the lock's LTK, which is when it signs: its file on the lock is written anew for each life."""

    def __init__(self, visitor, path, kept):
        self.visitor = visitor
        self.path = path
        self.kept = kept

    @classmethod
    async def of(cls, visitor):
        """Takes the keys that pairing distributed from bluetoothd's own file."""
        host = visitor.host
        own = host.get(visitor.adapter, bluez.ADAPTER, "Address")
        await host.stop()
        path = host.machine.run(f"echo /var/lib/bluetooth/{own}/*/info")
        kept = configparser.ConfigParser(interpolation=None)
        kept.optionxform = str
        kept.read_string(host.machine.run(f"cat {path}"))
        check("LocalSignatureKey" in kept, f"no signature key was distributed: {kept.sections()}")
        for group in LONG_TERM_KEYS:
            kept.remove_section(group)
        await host.start()
        return cls(visitor, path, kept)

    async def live(self, counter):
        """Another life of bluetoothd's, whose next SignCounter is this one, and its link to the lock."""
        host = self.visitor.host
        self.kept["LocalSignatureKey"]["Counter"] = str(counter)
        text = io.StringIO()
        self.kept.write(text, space_around_delimiters=False)
        await host.stop()
        # When a link to a device without an LTK ends, bluetoothd forgets the device and its file.
        host.machine.run(f"mkdir -p {self.path.removesuffix('/info')}")
        host.machine.write(self.path, text.getvalue())
        await host.start()
        await host.power(self.visitor.adapter.removeprefix("/org/bluez/"))
        self.visitor.recognise(LOCK_SERVICE)
        await self.visitor.connect()

    async def sign(self, operation, counter):
        """A signed command that answers a fresh challenge. It is dealt with when this returns."""
        for _ in range(LINKS_TRIED):
            is_sent = False
            try:
                challenge = await self.visitor.read(CHALLENGE)
                await self.visitor.write(LOCK_COMMAND, command(operation, challenge), "command")
                is_sent = True
                # What is answered after it shows that it has been dealt with.
                await self.visitor.read(CHALLENGE)
                return
            except Refused as error:
                if is_sent:
                    raise StepFailed(f"the link ended under the command: {error}") from error
            await self.live(counter)
        raise StepFailed(f"none of {LINKS_TRIED} links lasted long enough to command")


async def command_signed(suite, signer, lock):
    for verb, counter in (("lock", 0), ("unlock", 1)):
        with suite.step(f"it {verb}s by a Signed Write Command, which the lock verifies and carries out") as figure:
            before = len(grants(lock))
            lock.errors.skip()
            await signer.sign(OPERATIONS[verb], counter)
            check_equal(len(grants(lock)), before + 1, "the number of commands granted")
            # A command that came by any other way has no counter.
            granted = grants(lock)[-1]
            check_equal((granted["operation"], granted.get("counter")), (verb, counter), "what was granted")
            await asyncio.to_thread(lock.wait_for_event, "bolt", bolt=f"{verb}ed")
            figure.is_(f"counter {counter}")


async def replay_counters(suite, signer, lock):
    with suite.step("its counter is set back: what it signs anew with the used ones is ignored") as figure:
        await signer.live(0)
        before = len(grants(lock))
        for counter in (0, 1):
            await signer.sign(OPERATIONS["lock"], counter)
        check_equal(len(grants(lock)), before, "the number of commands granted")
        check_equal(lock.status()["bolt"], "unlocked", "the bolt")
        figure.is_("counters 0 and 1")

    with suite.step("the next counter, which is unused, is taken"):
        lock.errors.skip()
        await signer.sign(OPERATIONS["lock"], 2)
        check_equal(grants(lock)[-1].get("counter"), 2, "the counter of the command granted")
        await asyncio.to_thread(lock.wait_for_event, "bolt", bolt="locked")


def grants(lock):
    return [event for event in lock.events() if event.get("what") == "granted"]


async def run(suite, host, adapter, lock):
    visitor = Visitor(host, adapter)
    await enrol(suite, visitor, lock)
    await command_encrypted(suite, visitor, lock)
    with suite.step("bluetoothd's LTK is taken from it, the signature key that pairing distributed left") as figure:
        signer = await Signer.of(visitor)
        await signer.live(0)
        figure.is_("left: " + ", ".join(signer.kept.sections()))
    await command_signed(suite, signer, lock)
    await replay_counters(suite, signer, lock)
