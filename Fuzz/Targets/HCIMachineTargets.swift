import BluetoothCore
import HCI

/// Every command ends exactly once, whatever the controller answers and however long it takes.
@Sendable func fuzzCommandQueue(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    var queue = CommandQueue()
    var now = Instant(nanoseconds: 0)
    var outputs: [CommandQueueOutput] = []
    var open: Set<UInt64> = []
    var token: UInt64 = 0

    func settle() {
        for case .completed(let completion) in outputs {
            require(open.remove(completion.token) != nil, "a command ended twice")
            _ = completion.status
        }
        outputs.removeAll()
    }
    func submit(_ command: some HCICommand) {
        token += 1
        open.insert(token)
        queue.submit(command, token: token, now: now, into: &outputs)
    }

    while let event = input.nextEvent() {
        switch event & 7 {
        case 0: submit(HCILERand())
        case 1: submit(HCIReadRSSI(handle: ConnectionHandle(input.uint16())))
        case 2: submit(HCIDisconnect(handle: ConnectionHandle(input.uint16()), reason: .success))
        case 3: submit(HCIReset())
        case 4, 5:
            switch try? HCIEvent(exactly: input.chunk()) {
            case .commandComplete(let complete): queue.receive(complete, now: now, into: &outputs)
            case .commandStatus(let status): queue.receive(status, now: now, into: &outputs)
            default: break
            }
        case 6:
            let opcodes = [HCILERand.opcode, HCIReadRSSI.opcode, HCIDisconnect.opcode, HCIReset.opcode, .none]
            let status = HCICommandStatus(
                status: HCIErrorCode(rawValue: input.octet()), numHCICommandPackets: input.octet(),
                opcode: opcodes[Int(input.octet()) % opcodes.count])
            queue.receive(status, now: now, into: &outputs)
        default:
            now = now.advanced(byMilliseconds: input.milliseconds())
            queue.timerFired(now: now, into: &outputs)
        }
        settle()
    }
    while let deadline = queue.deadline {
        now = max(now, deadline)
        queue.timerFired(now: now, into: &outputs)
        settle()
    }
    require(open.isEmpty, "\(open.count) commands never ended")
}

/// The controller never has more than it has room for, and every PDU ends exactly once.
@Sendable func fuzzACLSendQueue(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    let count = Int(input.octet() % 32) + 1
    let octetsEach = 27 + Int(input.octet())
    guard let buffers = ACLBuffers(packetOctets: octetsEach, packetCount: count) else { return }
    var queue = ACLSendQueue(buffers)
    var outputs: [ACLSendOutput] = []
    var open: Set<UInt64> = []
    var token: UInt64 = 0
    var writer = ByteWriter()
    var now = Instant(nanoseconds: 0)

    func settle() {
        for output in outputs {
            switch output {
            case .completed(_, let token), .dropped(_, let token):
                require(open.remove(token) != nil, "a PDU ended twice")
            case .fault: break
            }
        }
        outputs.removeAll()
        require((0...count).contains(queue.freeCredits), "credits are out of bounds")
        while queue.takeStandstill(now: now) != nil {}
        require(queue.deadline.map { $0 > now } ?? true, "a link that stands still is named without end")
    }

    while let event = input.nextEvent() {
        let handle = ConnectionHandle(UInt16(input.octet() & 7))
        now = now.advanced(byMilliseconds: UInt64(event >> 3) * 1_000)
        switch event & 7 {
        case 0:
            queue.addLink(handle)
            queue.setStanding([.stranger, .named, .proven][Int(event >> 3) % 3], of: handle)
        case 1: queue.removeLink(handle, into: &outputs)
        case 2, 3:
            token += 1
            let pdu = [UInt8](repeating: event, count: Int(input.uint16() & 0x7FF))
            do throws(ACLSendError) {
                let until = pdu.count <= octetsEach && event >> 3 & 1 == 1 ? now.advanced(byMilliseconds: 1_000) : nil
                try queue.submit(pdu.span.bytes, token: token, until: until, on: handle)
                open.insert(token)
            } catch {}
            let queued = queue.queuedOctets(on: handle) ?? 0
            require(queued <= ACLSendQueue.maximumQueuedOctetsPerLink, "a link's queue grows without bound")
        case 4, 5:
            writer.removeAll()
            if let packet = queue.nextPacket(now: now, into: &writer) {
                require((6...5 + octetsEach).contains(writer.bytes.count), "a packet does not fit its buffer")
                if let until = packet.until, until <= now {
                    queue.recall(packet)
                    require(open.remove(packet.token) != nil, "a PDU ended twice")
                }
            }
        case 6:
            let entries = [HCINumberOfCompletedPackets.Entry(handle: handle, count: UInt16(input.octet()))]
            queue.receive(HCINumberOfCompletedPackets(entries), now: now, into: &outputs)
        default:
            if let event = try? HCINumberOfCompletedPackets(exactly: input.chunk()) {
                queue.receive(event, now: now, into: &outputs)
            }
        }
        settle()
    }
    queue.removeAllLinks(into: &outputs)
    settle()
    require(open.isEmpty && queue.freeCredits == count, "without links something is still under way")
}
