"""L2CAP channels between our two roles and Bumble's: opened by either side, filled, exhausted, violated and closed.

channels.py INTEROP_PEER LATCH CACHE rootcanal|virtual
"""

import asyncio
import logging
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import host
from bumble import l2cap
from support.interop_peer import InteropPeer
from support.ours import Remote
from support.steps import StepFailed, check, check_equal
from support.suites import play

# Bumble says of a refusal that it is an error, and tells its stack.
logging.getLogger("bumble.l2cap").setLevel(logging.CRITICAL)

SERVICE = "FFF0"
UUID = host.UUID.from_16_bits(0xFFF0)
# What our side says of its end: docs/COREBLUETOOTH.md.
OUR_MTU, OUR_MPS, OUR_WINDOW = 2048, 247, 16_384
THEIR_MTU, THEIR_MPS, THEIR_CREDITS = 1024, 64, 4


def pattern(octets, salt=0):
    return bytes((number * 7 + salt) % 256 for number in range(octets))


class Channel:
    """Both ends of a channel: Bumble's, and ours by its number."""

    def __init__(self, theirs, ours, number):
        self.theirs = theirs
        self.ours = ours
        self.number = number
        self.sdus = asyncio.Queue()
        self.closed = asyncio.get_running_loop().create_future()
        theirs.sink = self.sdus.put_nowait
        theirs.on("close", lambda: self.closed.done() or self.closed.set_result(None))

    async def arrives_here(self, octets):
        """What our app is given, as long as it is."""
        got = b""
        while len(got) < octets:
            event = await self.ours.aevent("channelData", channel=self.number)
            got += bytes.fromhex(event["value"])
        return got

    async def arrives_there(self, octets):
        got = b""
        while len(got) < octets:
            got += await host.within(self.sdus.get(), "an SDU")
        return got

    async def write(self, value):
        return (await self.ours.acall("writeChannel", channel=self.number, value=value))["taken"]

    async def write_all(self, data):
        sent = 0
        while sent < len(data):
            # A command is a line, and a line has a bound.
            piece = data[sent : sent + 2000]
            taken = await self.write(piece)
            sent += taken
            if taken < len(piece):
                await self.ours.aevent("channelSpace", channel=self.number)

    async def exhaust(self, data):
        """Bumble sends until it has no credit left, and has more."""
        exhausted = asyncio.Event()
        send = self.theirs.send_pdu

        def watch(pdu):
            send(pdu)
            # The credit for this one is not taken off yet.
            if self.theirs.credits == 1:
                exhausted.set()

        self.theirs.send_pdu = watch
        for start in range(0, len(data), OUR_MTU):
            self.theirs.write(data[start : start + OUR_MTU])
        await host.within(exhausted.wait(), "Bumble runs out of credits")
        self.theirs.send_pdu = send
        check(self.theirs.out_queue, "Bumble has nothing left to send")

    async def is_ended(self, error=None):
        """Both sides have heard of it; what our app was told."""
        event = await self.ours.aevent("channelClosed", channel=self.number)
        check_equal(event["error"], error, "why the channel ended")
        await host.within(self.closed, "Bumble's channel closes")


async def use(suite, title, channel):
    """The same of a channel whoever opened it."""
    with suite.step(f"{title}: SDUs of 1, 2, MPS and MTU octets, and those beside them, both ways"):
        for octets in (1, 2, OUR_MPS - 3, OUR_MPS - 2, OUR_MPS - 1, OUR_MPS, OUR_MPS + 1, OUR_MTU - 1, OUR_MTU):
            sdu = pattern(octets, octets)
            channel.theirs.write(sdu)
            check_equal((await channel.arrives_here(octets)).hex(), sdu.hex(), f"{octets} octets")
        for octets in (1, 2, THEIR_MPS - 2, THEIR_MPS - 1, THEIR_MPS, THEIR_MTU - 1, THEIR_MTU):
            sdu = pattern(octets, octets)
            check_equal(await channel.write(sdu), octets, "octets taken")
            check_equal((await channel.arrives_there(octets)).hex(), sdu.hex(), f"{octets} octets")
    with suite.step(f"{title}: 16 KiB each way at once, on 4 credits of Bumble's") as figure:
        begin = asyncio.get_running_loop().time()
        there, here = pattern(16_384, 1), pattern(16_384, 2)
        for start in range(0, len(here), OUR_MTU):
            channel.theirs.write(here[start : start + OUR_MTU])

        _, got_here, got_there = await asyncio.gather(
            channel.write_all(there), channel.arrives_here(len(here)), channel.arrives_there(len(there))
        )
        check(got_here == here and got_there == there, "the octets are not those that were sent")
        figure.is_(f"{32_768 / 1024 / (asyncio.get_running_loop().time() - begin):.0f} KiB/s")
    with suite.step(f"{title}: our app does not read, and Bumble runs out of credits; it reads, and the rest comes"):
        await channel.ours.acall("readChannelsAtOnce", enabled=False)
        octets = 4 * OUR_WINDOW
        data = pattern(octets, 3)
        await channel.exhaust(data)
        await channel.ours.acall("readChannelsAtOnce", enabled=True)
        check(await channel.arrives_here(octets) == data, "the octets are not those that were sent")


def first_frame(length, information):
    return length.to_bytes(2, "little") + information


async def violate(suite, title, open_channel):
    async def each(what, violation):
        with suite.step(f"{title}: {what}: our side disconnects the channel"):
            channel = await open_channel()
            violation(channel.theirs)
            # CBError.unknown: the peer broke the rules of the channel.
            await channel.is_ended({"cb": 0})

    def too_many_credits(theirs):
        for _ in range(2):
            theirs.send_control_frame(
                l2cap.L2CAP_LE_Flow_Control_Credit(
                    identifier=theirs.manager.next_identifier(theirs.connection), cid=theirs.source_cid, credits=0xFFFF
                )
            )

    await each("credits beyond 65,535", too_many_credits)
    await each("an SDU longer than the MTU", lambda theirs: theirs.send_pdu(first_frame(OUR_MTU + 1, b"\x01")))
    await each("a frame longer than the MPS", lambda theirs: theirs.send_pdu(first_frame(400, bytes(OUR_MPS + 1))))
    await each("a frame longer than anything", lambda theirs: theirs.send_pdu(first_frame(2000, bytes(1000))))
    await each("more octets than the SDU has", lambda theirs: theirs.send_pdu(first_frame(3, b"\x01\x02\x03\x04")))
    await each("no length at all", lambda theirs: theirs.send_pdu(b"\x01"))
    with suite.step(f"{title}: a frame without credit: our side disconnects the channel"):
        channel = await open_channel()
        await channel.ours.acall("readChannelsAtOnce", enabled=False)
        await channel.exhaust(pattern(2 * OUR_WINDOW))
        channel.theirs.send_pdu(b"\x01")
        await channel.is_ended({"cb": 0})
        await channel.ours.acall("readChannelsAtOnce", enabled=True)


async def refused(asking, result):
    try:
        await host.within(asking, "the refusal")
    except l2cap.L2capError as error:
        check_equal(error.error_code, result, "the result")
    else:
        raise StepFailed("the channel was opened")


async def peripheral(suite, ours, bumble):
    """Our peripheral, Bumble's central, which opens."""
    for encrypted in (False, True):
        await ours.acall("publishChannel", encrypted=encrypted)
    psm, guarded = [(await ours.aevent("channelPublished", error=None))["psm"] for _ in range(2)]
    await ours.acall("advertise", services=[SERVICE])
    await ours.aevent("advertising", error=None)
    Result = l2cap.L2CAP_LE_Credit_Based_Connection_Response.Result
    async with bumble.connected(UUID) as link:

        def ask(psm):
            spec = l2cap.LeCreditBasedChannelSpec(psm, THEIR_MTU, THEIR_MPS, THEIR_CREDITS)
            return link.connection.create_l2cap_channel(spec)

        async def open_channel():
            theirs = await host.within(ask(psm), "the channel")
            check_equal((theirs.peer_mtu, theirs.peer_mps), (OUR_MTU, OUR_MPS), "what our side says of its end")
            opened = await ours.aevent("channelOpened", psm=psm)
            return Channel(theirs, ours, opened["channel"])

        with suite.step("Bumble opens a channel to our service; one that nobody offers, and a guarded one, are refused"):
            channel = await open_channel()
            await refused(ask(0xF0), Result.CONNECTION_REFUSED_LE_PSM_NOT_SUPPORTED)
            await refused(ask(guarded), Result.CONNECTION_REFUSED_INSUFFICIENT_AUTHENTICATION)
        await use(suite, "opened by Bumble", channel)
        with suite.step("Bumble closes it, and then our side another"):
            await host.within(channel.theirs.disconnect(), "the disconnection")
            await channel.is_ended()
            channel = await open_channel()
            check_equal(await channel.write(b"last"), 4, "octets taken")
            await ours.acall("closeChannel", channel=channel.number)
            check_equal(await channel.arrives_there(4), b"last", "what was written before")
            await channel.is_ended()
        with suite.step("eight channels on one link, and no ninth until one is gone"):
            channels = [await open_channel() for _ in range(8)]
            await refused(ask(psm), Result.CONNECTION_REFUSED_NO_RESOURCES_AVAILABLE)
            for number, channel in enumerate(channels):
                channel.theirs.write(pattern(300, number))
            for number, channel in enumerate(channels):
                check_equal(await channel.arrives_here(300), pattern(300, number), f"what channel {number} carried")
            for channel in channels:
                await host.within(channel.theirs.disconnect(), "the disconnection")
                await channel.is_ended()
            await host.within((await open_channel()).theirs.disconnect(), "the disconnection")
            await ours.aevent("channelClosed")
        await violate(suite, "opened by Bumble", open_channel)
        with suite.step("a link that ends takes its channels with it"):
            channel = await open_channel()
            await link.close()
            check((await ours.aevent("channelClosed", channel=channel.number))["error"] is not None, "no reason is told")
    await ours.acall("stopAdvertising")


async def central(suite, ours, bumble):
    """Our central, which opens; Bumble's peripheral."""
    accepted = asyncio.Queue()
    spec = l2cap.LeCreditBasedChannelSpec(None, THEIR_MTU, THEIR_MPS, THEIR_CREDITS)
    server = bumble.device.create_l2cap_server(spec, accepted.put_nowait)
    connected = await bumble.advertise(UUID)
    remote = await Remote.find(ours, SERVICE)
    await remote.connect()
    link = await host.within(connected, "Bumble's connection")

    async def open_channel():
        await remote.call("openChannel", psm=server.psm)
        opened = await ours.aevent("channelOpened", psm=server.psm)
        return Channel(await host.within(accepted.get(), "Bumble's channel"), ours, opened["channel"])

    with suite.step("our side opens a channel to Bumble's service; one that nobody offers is refused"):
        channel = await open_channel()
        await remote.call("openChannel", psm=0xF0)
        # CBError.operationNotSupported
        check_equal((await ours.aevent("channelOpened"))["error"], {"cb": 13}, "the refusal")
    await use(suite, "opened by our side", channel)
    with suite.step("our side closes it behind 16 KiB on 4 credits, and Bumble another"):
        data = pattern(16_384, 5)
        await channel.write_all(data)
        await ours.acall("closeChannel", channel=channel.number)
        check(await channel.arrives_there(len(data)) == data, "the octets are not those that were sent")
        await channel.is_ended()
        channel = await open_channel()
        await host.within(channel.theirs.disconnect(), "the disconnection")
        await channel.is_ended()
    await violate(suite, "opened by our side", open_channel)
    await remote.disconnect()
    await link.end()


async def run(suite, peer_program, radio, directory):
    with InteropPeer(peer_program, radio.transport, os.path.join(directory, "ours")) as ours:
        ours.power_on()
        for part in (peripheral, central):
            async with host.Host.on(radio) as bumble:
                await part(suite, ours, bumble)
            ours.forget()
        ours.stop()


if __name__ == "__main__":
    play("L2CAP channels with Bumble", run)
