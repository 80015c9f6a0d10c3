import BluetoothCore
import TestSupport
import Testing

@testable import HCI

private let a = ConnectionHandle(0x40)
private let b = ConnectionHandle(0x41)
private let start = Instant(nanoseconds: 5_000_000_000)

private struct SentPacket: Equatable {
    var header: ACLDataHeader
    var data: [UInt8]
}

extension ACLSendQueue {
    fileprivate init(
        octets: Int, count: Int, links: [ConnectionHandle], standing: ACLStanding = .proven
    ) throws {
        self.init(try #require(ACLBuffers(packetOctets: octets, packetCount: count)))
        for link in links { add(link, standing) }
    }

    fileprivate mutating func add(_ link: ConnectionHandle, _ standing: ACLStanding) {
        addLink(link)
        setStanding(standing, of: link)
    }

    fileprivate mutating func submit(_ octets: [UInt8], _ token: UInt64, on link: ConnectionHandle) throws {
        try submit(octets.span.bytes, token: token, on: link)
    }

    fileprivate mutating func next(now: Instant = start) throws -> SentPacket? {
        var writer = ByteWriter()
        guard nextPacket(now: now, into: &writer) != nil else {
            #expect(writer.bytes.isEmpty)
            return nil
        }
        #expect(writer.bytes.first == HCIPacketType.aclData.rawValue)
        let header = try ACLDataHeader(exactly: Array(writer.bytes[1..<5]))
        let data = Array(writer.bytes.dropFirst(5))
        #expect(Int(header.dataLength) == data.count)
        return SentPacket(header: header, data: data)
    }

    fileprivate mutating func drain(now: Instant = start) throws -> [SentPacket] {
        var packets: [SentPacket] = []
        while let packet = try next(now: now) { packets.append(packet) }
        return packets
    }

    fileprivate mutating func complete(
        _ entries: [(ConnectionHandle, UInt16)], now: Instant = start
    ) -> [ACLSendOutput] {
        var outputs: [ACLSendOutput] = []
        receive(.init(entries.map { .init(handle: $0.0, count: $0.1) }), now: now, into: &outputs)
        return outputs
    }

    fileprivate mutating func remove(_ link: ConnectionHandle) -> [ACLSendOutput] {
        var outputs: [ACLSendOutput] = []
        removeLink(link, into: &outputs)
        return outputs
    }
}

@Suite("Vol 4, Part E, 4.1.1: host to controller data flow control")
struct ACLSendQueueTests {
    @Test("Vol 3, Part A, 7.2.1: a PDU is cut to the controller's length, its first packet marked as such")
    func fragmentation() throws {
        for length in [1, 26, 27, 28, 54, 55, 81, 600] {
            var queue = try ACLSendQueue(octets: 27, count: 30, links: [a])
            let pdu = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
            try queue.submit(pdu, 7, on: a)
            let packets = try queue.drain()
            #expect(packets.flatMap(\.data) == pdu)
            #expect(packets.count == (length + 26) / 27)
            #expect(
                packets.map(\.header.boundary) == packets.indices.map { $0 == 0 ? .firstNonFlushable : .continuing })
            #expect(packets.dropLast().allSatisfy { $0.data.count == 27 })
        }
    }

    @Test("no more packets than the controller has buffers, and more only as it completes them")
    func credits() throws {
        var queue = try ACLSendQueue(octets: 27, count: 4, links: [a])
        for token in 1...5 as ClosedRange<UInt64> { try queue.submit([UInt8(token)], token, on: a) }
        #expect(try queue.drain().map(\.data) == [[1], [2], [3]])
        queue.add(b, .proven)
        for token in 6...7 as ClosedRange<UInt64> { try queue.submit([UInt8(token)], token, on: b) }
        #expect(try queue.drain().map(\.data) == [[6]])
        #expect(queue.freeCredits == 0)
        #expect(queue.remove(b) == [.dropped(b, token: 6), .dropped(b, token: 7)])
        #expect(queue.freeCredits == 1)
        #expect(queue.complete([(a, 2)]) == [.completed(a, token: 1), .completed(a, token: 2)])
        #expect(try queue.drain().map(\.data) == [[4], [5]])
        #expect(
            queue.complete([(a, 3)]) == [
                .completed(a, token: 3), .completed(a, token: 4), .completed(a, token: 5),
            ])
        #expect(queue.freeCredits == 4)
    }

    @Test("a PDU of three packets is done with its third, even when the rest is still to be sent")
    func completionOfFragments() throws {
        var queue = try ACLSendQueue(octets: 27, count: 3, links: [a])
        try queue.submit(Array(repeating: 1, count: 60), 1, on: a)
        #expect(try queue.drain().count == 2)
        #expect(queue.complete([(a, 2)]) == [])
        #expect(try queue.drain().count == 1)
        #expect(queue.complete([(a, 1)]) == [.completed(a, token: 1)])
    }

    /// Gives out the next packet, to be taken back or not.
    private func nextPacket(_ queue: inout ACLSendQueue) -> ACLPacket? {
        var writer = ByteWriter()
        return queue.nextPacket(now: start, into: &writer)
    }

    @Test(
        "A packet that has not left after all gives its buffer back, and the PDUs before and behind it are completed in order"
    )
    func recalled() throws {
        for position in 0..<3 {
            var queue = try ACLSendQueue(octets: 27, count: 8, links: [a])
            for token in 1...3 as ClosedRange<UInt64> {
                let until = Int(token) == position + 1 ? start : nil
                try queue.submit([UInt8(token)].span.bytes, token: token, until: until, on: a)
            }
            let packets = [nextPacket(&queue), nextPacket(&queue), nextPacket(&queue)].compactMap { $0 }
            #expect(packets.map(\.until) == (0..<3).map { $0 == position ? start : nil })
            #expect(queue.freeCredits == 5)
            queue.recall(packets[position])
            #expect(queue.freeCredits == 6)
            queue.recall(packets[position])
            #expect(queue.freeCredits == 6, "once")
            let others = (1...3).filter { $0 != UInt64(position + 1) }.map { ACLSendOutput.completed(a, token: $0) }
            #expect(queue.complete([(a, 1)]) == [others[0]])
            try queue.submit([9], 9, on: a)
            #expect(try queue.drain().count == 1)
            #expect(queue.complete([(a, 2)]) == [others[1], .completed(a, token: 9)])
            #expect(queue.freeCredits == 8 && queue.deadline == nil)
        }
    }

    @Test("A lone packet that is taken back leaves a link at rest, and one that is dropped is not heard of again")
    func recalledAlone() throws {
        var queue = try ACLSendQueue(octets: 27, count: 4, links: [a])
        try queue.submit([1].span.bytes, token: 1, until: start, on: a)
        let packet = try #require(nextPacket(&queue))
        #expect(queue.deadline != nil)
        queue.recall(packet)
        #expect(queue.deadline == nil && queue.freeCredits == 4)
        #expect(queue.remove(a).isEmpty)
        queue.recall(packet)
        #expect(queue.freeCredits == 4)
    }

    @Test("What must not leave late fits one buffer, or is not taken")
    func unpunctual() throws {
        var queue = try ACLSendQueue(octets: 27, count: 4, links: [a])
        try queue.submit([UInt8](repeating: 1, count: 27).span.bytes, token: 1, until: start, on: a)
        #expect(throws: ACLSendError.unpunctual) {
            try queue.submit([UInt8](repeating: 1, count: 28).span.bytes, token: 2, until: start, on: a)
        }
    }

    @Test("Attack: a controller that completes what was never sent gives itself no credits")
    func bogusCounts() throws {
        var queue = try ACLSendQueue(octets: 27, count: 2, links: [a, b])
        try queue.submit([1], 1, on: a)
        _ = try queue.drain()
        #expect(queue.complete([(ConnectionHandle(0x99), 1)]) == [.fault(.unknownLink(ConnectionHandle(0x99)))])
        #expect(queue.complete([(b, 1)]) == [.fault(.completedTooMany(b, excess: 1))])
        #expect(queue.freeCredits == 1)
        #expect(
            queue.complete([(a, 0xFFFF)]) == [
                .completed(a, token: 1), .fault(.completedTooMany(a, excess: 0xFFFE)),
            ])
        #expect(queue.freeCredits == 2)
    }

    @Test("a disconnection gives the link's buffers back and says what was dropped")
    func disconnection() throws {
        var queue = try ACLSendQueue(octets: 27, count: 2, links: [a, b])
        try queue.submit(Array(repeating: 1, count: 54), 1, on: a)
        try queue.submit([2], 2, on: a)
        _ = try queue.drain()
        try queue.submit([3], 3, on: b)
        #expect(queue.remove(a) == [.dropped(a, token: 1), .dropped(a, token: 2)])
        #expect(queue.remove(a) == [])
        #expect(try queue.drain().map(\.data) == [[3]])
        #expect(queue.freeCredits == 1)
        // The controller's last word on the dead link changes nothing.
        #expect(queue.complete([(a, 2)]) == [.fault(.unknownLink(a))])
        #expect(throws: ACLSendError.unknownLink) { try queue.submit([1], 4, on: a) }
    }

    @Test("a handle that is used again starts with nothing of the link before it")
    func handleReuse() throws {
        var queue = try ACLSendQueue(octets: 27, count: 4, links: [a])
        try queue.submit(Array(repeating: 1, count: 150), 1, on: a)
        _ = try queue.next()
        _ = queue.remove(a)
        queue.addLink(a)
        #expect(try queue.drain() == [])
        try queue.submit([9], 2, on: a)
        #expect(try queue.drain().map(\.header.boundary) == [.firstNonFlushable])
        #expect(queue.complete([(a, 1)]) == [.completed(a, token: 2)])
    }

    @Test("links take turns, packet by packet")
    func fairness() throws {
        var queue = try ACLSendQueue(octets: 27, count: 8, links: [a, b])
        try queue.submit(Array(repeating: 1, count: 81), 1, on: a)
        try queue.submit(Array(repeating: 2, count: 81), 2, on: b)
        #expect(try queue.drain().map(\.header.handle) == [a, b, a, b, a, b])
    }

    @Test("Attack: a peer out of range does not take the last buffer from the others")
    func stalledLink() throws {
        var queue = try ACLSendQueue(octets: 27, count: 4, links: [a, b])
        for token in 0..<20 as Range<UInt64> { try queue.submit([1], token, on: a) }
        #expect(try queue.drain().count == 3)
        try queue.submit([2], 99, on: b)
        #expect(try queue.drain().map(\.header.handle) == [b])
        #expect(queue.complete([(b, 1)]) == [.completed(b, token: 99)])
        #expect(try queue.drain() == [])
    }

    @Test("Attack: a lone link gets every buffer but one, which is for the next link, though it has proved who it is")
    func loneLink() throws {
        for count in 1...4 {
            var queue = try ACLSendQueue(octets: 27, count: count, links: [a])
            for token in 0..<20 as Range<UInt64> { try queue.submit([1], token, on: a) }
            #expect(try queue.drain().count == max(1, count - 1))
            queue.add(b, .proven)
            try queue.submit([2], 99, on: b)
            #expect(try queue.drain().map(\.header.handle) == (count > 1 ? [b] : []))
        }
    }

    @Test("Bulk has a quarter of the buffers, what waits counted, and one at least", arguments: 1...20)
    func bulkShare(count: Int) throws {
        var queue = try ACLSendQueue(octets: 27, count: count, links: [a, b])
        var taken = 0
        while queue.hasRoomForBulk(on: a) {
            try queue.submit([UInt8](repeating: 1, count: 27), UInt64(taken), on: a)
            taken += 1
            if taken.isMultiple(of: 2) { _ = try queue.drain() }
        }
        #expect(taken == max(1, count / ACLSendQueue.bulkShare))
        #expect(queue.hasRoomForBulk(on: b))
        _ = try queue.drain()
        #expect(!queue.hasRoomForBulk(on: a))
        _ = queue.complete([(a, 1)])
        #expect(queue.hasRoomForBulk(on: a))
        // A PDU of several packets is as many.
        try queue.submit([UInt8](repeating: 1, count: 28), 99, on: a)
        #expect(!queue.hasRoomForBulk(on: a))
    }

    @Test(
        "Attack: strangers who take nothing leave a buffer to a known name and one to who has proved it",
        arguments: 1...9)
    func keptBuffers(count: Int) throws {
        let strangers = (0..<12 as Range<UInt16>).map { ConnectionHandle(0x100 + $0) }
        var queue = try ACLSendQueue(octets: 27, count: count, links: strangers, standing: .stranger)
        for stranger in strangers { try queue.submit(Array(repeating: 1, count: 270), 1, on: stranger) }
        #expect(try queue.drain().count == count - min(2, count / 2))
        queue.add(a, .named)
        try queue.submit([2], 2, on: a)
        #expect(try queue.drain().map(\.header.handle) == (count > 3 ? [a] : []))
        queue.add(b, .proven)
        try queue.submit([3], 3, on: b)
        #expect(try queue.drain().map(\.header.handle) == (count > 1 ? [b] : []))
        // Who waited has its turn once there is room beyond what is kept.
        guard count > 1 else { return }
        #expect(queue.complete([(b, 1)]) == [.completed(b, token: 3)])
        queue.setStanding(.proven, of: a)
        #expect(try queue.drain().map(\.header.handle) == (count > 3 ? [] : [a]))
    }

    @Test("Attack: a link of which the controller completes nothing for thirty seconds is named, once, and no earlier")
    func standstill() throws {
        let limit = ACLSendQueue.standstillMaximumMilliseconds
        var queue = try ACLSendQueue(octets: 27, count: 4, links: [a, b])
        #expect(queue.deadline == nil)
        try queue.submit(Array(repeating: 1, count: 54), 1, on: a)
        #expect(queue.deadline == nil, "the controller has nothing yet")
        #expect(try queue.drain(now: start).count == 2)
        #expect(queue.deadline == start.advanced(byMilliseconds: limit))
        // One of two is progress; so is nothing that the controller claims beyond what it had.
        let later = start.advanced(byMilliseconds: limit - 1)
        _ = queue.complete([(a, 0), (b, 1)], now: later)
        #expect(queue.deadline == start.advanced(byMilliseconds: limit))
        _ = queue.complete([(a, 1)], now: later)
        let due = later.advanced(byMilliseconds: limit)
        #expect(queue.deadline == due)
        // More in the controller's hands is no progress.
        try queue.submit([1], 2, on: a)
        #expect(try queue.drain(now: due).count == 1)
        #expect(queue.takeStandstill(now: later) == nil)
        #expect(queue.takeStandstill(now: due) == a)
        #expect(queue.takeStandstill(now: due) == nil && queue.deadline == nil)
        _ = queue.complete([(a, 1)], now: due)
        #expect(queue.deadline == due.advanced(byMilliseconds: limit))
        _ = queue.complete([(a, 1)], now: due)
        #expect(queue.deadline == nil, "all of it is done")
    }

    @Test("one octet more than a link may queue is refused, and what is sent makes room")
    func bound() throws {
        var queue = try ACLSendQueue(octets: 1000, count: 4, links: [a, b])
        let bound = ACLSendQueue.maximumQueuedOctetsPerLink
        try queue.submit(Array(repeating: 1, count: bound), 1, on: a)
        #expect(queue.queuedOctets(on: a) == bound)
        #expect(throws: ACLSendError.queueFull) { try queue.submit([2], 2, on: a) }
        try queue.submit([3], 3, on: b)
        _ = try queue.next()
        try queue.submit([4], 4, on: a)
        #expect(throws: ACLSendError.emptyPDU) { try queue.submit([], 5, on: a) }
        #expect(queue.queuedOctets(on: ConnectionHandle(0x99)) == nil)
    }

    @Test("7.8.2: LE buffers where there are some, else the shared ones, else none")
    func buffers() {
        let shared = HCIReadBufferSize.ReturnParameters(
            aclDataPacketLength: 1021, synchronousDataPacketLength: 0, totalNumACLDataPackets: 5,
            totalNumSynchronousDataPackets: 0)
        func le(_ length: UInt16, _ count: UInt8) -> HCILEReadBufferSize.ReturnParameters {
            .init(aclDataPacketLength: length, totalNumACLDataPackets: count)
        }
        #expect(ACLBuffers(le: le(251, 12), shared: shared) == ACLBuffers(packetOctets: 251, packetCount: 12))
        #expect(ACLBuffers(le: le(0, 0), shared: shared) == ACLBuffers(packetOctets: 1021, packetCount: 5))
        #expect(ACLBuffers(le: le(251, 0), shared: shared) == ACLBuffers(packetOctets: 1021, packetCount: 5))
        #expect(ACLBuffers(le: le(0, 0), shared: nil) == nil)
        #expect(ACLBuffers(packetOctets: 27, packetCount: 1) != nil)
        #expect(ACLBuffers(packetOctets: 26, packetCount: 1) == nil)
        #expect(ACLBuffers(packetOctets: 27, packetCount: 0) == nil)
    }

    @Test("any traffic: credits hold, links' PDUs arrive whole and in order, each token ends once")
    func property() throws {
        var random = SeededGenerator(announcedBy: "ACLSendQueueTests")
        for _ in 0..<60 { try simulate(&random) }
    }

    private func simulate(_ random: inout SeededGenerator) throws {
        let count = Int.random(in: 1...6, using: &random)
        var queue = try ACLSendQueue(octets: 27, count: count, links: [])
        var model = Model()
        var token: UInt64 = 0
        for _ in 0..<400 {
            let link = ConnectionHandle(UInt16.random(in: 0x40...0x43, using: &random))
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                model.end(queue.remove(link))
                model.forget(link)
            case 1...2: queue.addLink(link)
            case 3...9:
                token += 1
                let pdu = (0..<Int.random(in: 1...120, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                if (try? queue.submit(pdu, token, on: link)) != nil { model.submit(pdu, token, on: link) }
            case 10...14:
                if let packet = try queue.next() { model.take(packet) }
            default:
                let held = model.held[link, default: 0]
                guard held > 0 else { continue }
                let done = Int.random(in: 1...held, using: &random)
                model.held[link] = held - done
                model.end(queue.complete([(link, UInt16(done))]))
            }
            #expect(model.held.values.reduce(0, +) == count - queue.freeCredits, "seed \(random.seed)")
            #expect(queue.freeCredits >= 0, "seed \(random.seed)")
        }
        repeat {
            for (link, held) in model.held where held > 0 {
                model.held[link] = 0
                model.end(queue.complete([(link, UInt16(held))]))
            }
            for packet in try queue.drain() { model.take(packet) }
        } while model.held.values.contains { $0 > 0 }
        #expect(model.open.values.allSatisfy { $0.isEmpty }, "seed \(random.seed): \(model.open)")
        #expect(model.expected.values.allSatisfy { $0.isEmpty }, "seed \(random.seed)")
    }

    /// A controller that keeps count, and what must reach it.
    private struct Model {
        var held: [ConnectionHandle: Int] = [:]
        /// Octets still to come on each link.
        var expected: [ConnectionHandle: [UInt8]] = [:]
        /// Tokens not yet ended, in order.
        var open: [ConnectionHandle: [UInt64]] = [:]

        mutating func submit(_ pdu: [UInt8], _ token: UInt64, on link: ConnectionHandle) {
            expected[link, default: []] += pdu
            open[link, default: []].append(token)
        }

        mutating func take(_ packet: SentPacket) {
            let link = packet.header.handle
            held[link, default: 0] += 1
            #expect(Array(expected[link, default: []].prefix(packet.data.count)) == packet.data)
            expected[link]?.removeFirst(packet.data.count)
        }

        mutating func end(_ outputs: [ACLSendOutput]) {
            for output in outputs {
                switch output {
                case .completed(let link, let token), .dropped(let link, let token):
                    #expect(open[link]?.first == token)
                    open[link]?.removeFirst()
                case .fault(let fault): Issue.record("\(fault)")
                }
            }
        }

        mutating func forget(_ link: ConnectionHandle) {
            held[link] = nil
            expected[link] = nil
        }
    }
}
