import ATT
import BluetoothCore
import Testing

@Suite("Core 5.4, Vol 3, Part F, 3.3 (Attribute PDU): the bearer")
struct ATTBearerTests {
    typealias Bearer = ATTBearer

    static let start = Instant(nanoseconds: 1_000_000_000)
    static let late = start.advanced(byMilliseconds: ATTBound.transactionTimeoutMilliseconds)

    /// What may be under way, alone or together.
    enum Slot: CaseIterable, Sendable { case request, peerRequest, indication }

    /// What may arrive.
    enum Input: String, CaseIterable, Sendable {
        case readRequest = "0A0100"
        case malformedRequest = "0A01"
        case oversizeRequest = "12010000000000000000000000000000000000000000000000"
        case unknownRequest = "3F0100"
        case unknownCommand = "7F0100"
        case matchingResponse = "0BAA"
        case mismatchedResponse = "13"
        case matchingError = "010A01000A"
        case mismatchedError = "011201000A"
        case malformedError = "010A"
        case confirmation = "1E"
        case malformedConfirmation = "1E00"
        case indication = "1D0100AA"
        case malformedIndication = "1D01"
        case notification = "1B0100AA"
        case writeCommand = "520100AA"
        case malformedCommand = "5201"
        case empty = ""

        var octets: [UInt8] { HexText.decode(rawValue) ?? [] }
    }

    static func bearer(_ slots: Set<Slot>) -> Bearer {
        var bearer = Bearer()
        if slots.contains(.request) { _ = bearer.begin(.readRequest, now: start) }
        if slots.contains(.peerRequest) { _ = bearer.receive(Input.readRequest.octets, now: start) }
        if slots.contains(.indication) { _ = bearer.indicate([0x1D], tag: .app(token: 1), now: start) }
        return bearer
    }

    /// The whole table: a response matters only to our request, a request only to the peer's, a confirmation only to our
    /// indication; the rest depends on nothing.
    static func expected(_ input: Input, _ slots: Set<Slot>) -> Bearer.Arrival {
        let handle = AttributeHandle(1)
        func refused(_ opcode: UInt8, _ code: ATTErrorCode) -> Bearer.Arrival {
            if slots.contains(.peerRequest) { return .failed(.requestOverlap) }
            return .refused(
                .init(requestOpcode: ATTOpcode(rawValue: opcode), handle: AttributeHandle(0), code: code))
        }
        func awaited(_ arrival: Bearer.Arrival) -> Bearer.Arrival { slots.contains(.request) ? arrival : .ignored }
        return switch input {
        case .readRequest:
            slots.contains(.peerRequest) ? .failed(.requestOverlap) : .request(.read(.init(handle: handle)))
        case .malformedRequest: refused(0x0A, .invalidPDU)
        case .oversizeRequest: refused(0x12, .invalidPDU)
        case .unknownRequest: refused(0x3F, .requestNotSupported)
        case .matchingResponse: awaited(.response(.read(.init(value: [0xAA]))))
        case .matchingError:
            awaited(.response(.error(.init(requestOpcode: .readRequest, handle: handle, code: .attributeNotFound))))
        case .mismatchedResponse, .mismatchedError: awaited(.failed(.mismatchedResponse))
        case .malformedError: awaited(.malformedResponse)
        case .confirmation: slots.contains(.indication) ? .confirmation(.app(token: 1), next: nil) : .ignored
        case .indication: .indication(.init(handle: handle, value: [0xAA]))
        case .notification: .notification(.handleValue(.init(handle: handle, value: [0xAA])))
        case .writeCommand: .command(.write(.init(handle: handle, value: [0xAA])))
        case .unknownCommand, .malformedCommand, .malformedConfirmation, .malformedIndication, .empty: .ignored
        }
    }

    static let states: [Set<Slot>] = (0..<8).map { bits in
        Set(Slot.allCases.enumerated().filter { bits >> $0.offset & 1 == 1 }.map(\.element))
    }

    @Test("state × input", arguments: states, Input.allCases)
    func table(_ slots: Set<Slot>, _ input: Input) {
        var bearer = Self.bearer(slots)
        #expect(bearer.receive(input.octets, now: Self.start) == Self.expected(input, slots))
    }

    @Test("a closed bearer takes nothing and sends nothing", arguments: Input.allCases)
    func closed(_ input: Input) {
        var bearer = Self.bearer([.request, .peerRequest, .indication])
        #expect(bearer.close() == [.app(token: 1)])
        #expect(bearer.receive(input.octets, now: Self.start) == .ignored)
        #expect(bearer.begin(.readRequest, now: Self.start) == false)
        #expect(bearer.indicate([0x1D], tag: .app(token: 2), now: Self.start) == .closed)
        #expect(bearer.respond() == false)
        #expect(bearer.deadline == nil)
        #expect(bearer.close() == [])
    }

    @Test(
        "3.3.3: a transaction of 30 s ends the bearer",
        arguments: [
            (Slot.request, ATTBearerFailure.requestTimedOut), (.peerRequest, .requestUnanswered),
            (.indication, .indicationTimedOut),
        ])
    func timeout(_ slot: Slot, _ failure: ATTBearerFailure) {
        let bearer = Self.bearer([slot])
        #expect(bearer.deadline == Self.late)
        #expect(bearer.failure(at: Instant(nanoseconds: Self.late.nanoseconds - 1)) == nil)
        #expect(bearer.failure(at: Self.late) == failure)
    }

    @Test("3.3.2: one request at a time, and the next once it is answered")
    func oneRequest() {
        var bearer = Bearer()
        #expect(bearer.begin(.readRequest, now: Self.start) == true)
        #expect(bearer.begin(.readRequest, now: Self.start) == false)
        _ = bearer.receive(Input.matchingResponse.octets, now: Self.start)
        #expect(bearer.begin(.readRequest, now: Self.start) == true)
    }

    @Test("3.3.2: one indication at a time, the others in order, one past the queue refused")
    func indications() {
        var bearer = Bearer()
        #expect(bearer.indicate([0], tag: .app(token: 0), now: Self.start) == .send)
        for token in 1...UInt64(ATTBound.indicationQueueCapacityCount) {
            #expect(bearer.indicate([UInt8(token)], tag: .app(token: token), now: Self.start) == .queued)
        }
        #expect(bearer.indicate([99], tag: .app(token: 99), now: Self.start) == .queueFull)
        let later = Self.start.advanced(byMilliseconds: 1000)
        for token in 0..<UInt64(ATTBound.indicationQueueCapacityCount) {
            let confirmation = ATTBearer.Arrival.confirmation(.app(token: token), next: [UInt8(token + 1)])
            #expect(bearer.receive([0x1E], now: later) == confirmation)
        }
        #expect(bearer.deadline == Self.late.advanced(byMilliseconds: 1000))
        #expect(bearer.close() == [.app(token: UInt64(ATTBound.indicationQueueCapacityCount))])
    }

    @Test(
        "3.4.2: the MTU is the smaller of the two, never below 23",
        arguments: [(517, 100, 100), (64, 517, 64), (517, 5, 23)])
    func mtu(own: Int, peer: Int, agreed: Int) {
        var bearer = Bearer(maximumMTU: own)
        #expect(bearer.mtu == 23)
        #expect(bearer.begin(.exchangeMTURequest, now: Self.start) == true)
        _ = bearer.receive([0x03, UInt8(peer & 0xFF), UInt8(peer >> 8)], now: Self.start)
        #expect(bearer.mtu == agreed)
        #expect(bearer.begin(.exchangeMTURequest, now: Self.start) == false, "3.4.2.1: sent once")
    }

    @Test("3.4.2.1: a second Exchange MTU Request is refused")
    func secondMTURequest() {
        var bearer = Bearer()
        #expect(bearer.receive([0x02, 100, 0], now: Self.start) == .request(.exchangeMTU(.init(clientRxMTU: 100))))
        #expect(bearer.respond() == true)
        let refusal = ATTErrorResponse(
            requestOpcode: .exchangeMTURequest, handle: AttributeHandle(0), code: .requestNotSupported)
        #expect(bearer.receive([0x02, 200, 0], now: Self.start) == .refused(refusal))
    }

    @Test(
        "the MTU that a side takes is brought into its bounds", arguments: [(22, 23), (23, 23), (517, 517), (518, 517)])
    func maximum(asked: Int, taken: Int) { #expect(Bearer(maximumMTU: asked).maximumMTU == taken) }
}
