import ATT
import BluetoothCore

/// The client's procedures on one link: one runs, the others wait in the order in which they were asked.
struct GATTClient: Sendable {
    private struct Waiting: Sendable {
        let token: UInt64
        let operation: GATTClientOperation
    }

    private enum State: Sendable {
        case idle
        case exchangingMTU(token: UInt64)
        case running(token: UInt64, any ClientProcedure)
    }

    private var state = State.idle
    private var waiting: [Waiting] = []
    private var pdus = RecycledOctets()

    /// What is wrong when it is not taken.
    mutating func enqueue(_ operation: GATTClientOperation, token: UInt64, mtu: Int) -> GATTClientError? {
        // The procedure itself is made when its turn comes: by then the MTU may be another.
        guard operation.procedure(mtu: mtu) != nil || operation == .exchangeMTU else { return .invalidOperation }
        guard waiting.count < ClientBound.operationQueueCapacityCount else { return .queueFull }
        waiting.append(Waiting(token: token, operation: operation))
        return nil
    }

    /// Starts what waits, if nothing runs.
    mutating func advance(
        _ bearer: inout ATTBearer, now: Instant, _ outputs: inout [GATTOutput]
    ) {
        while case .idle = state, !waiting.isEmpty {
            let next = waiting.removeFirst()
            guard var procedure = next.operation.procedure(mtu: bearer.mtu) else {
                startMTUExchange(next.token, &bearer, now, &outputs)
                continue
            }
            let step = procedure.start(mtu: bearer.mtu)
            take(step, next.token, procedure, &bearer, now, &outputs)
        }
    }

    /// Core 5.4, Vol 3, Part G, 4.3.1 (Exchange MTU): once on a bearer; asked again, it yields what was agreed.
    private mutating func startMTUExchange(
        _ token: UInt64, _ bearer: inout ATTBearer, _ now: Instant, _ outputs: inout [GATTOutput]
    ) {
        let request = ATTExchangeMTURequest(clientRxMTU: UInt16(truncatingIfNeeded: bearer.maximumMTU))
        guard bearer.begin(.exchangeMTURequest, now: now) else {
            outputs.append(.clientCompleted(token: token, .success(.mtu(bearer.mtu))))
            return
        }
        state = .exchangingMTU(token: token)
        outputs.append(.send(request.pdu))
    }

    private mutating func take(
        _ step: ClientStep, _ token: UInt64, _ procedure: any ClientProcedure,
        _ bearer: inout ATTBearer, _ now: Instant, _ outputs: inout [GATTOutput]
    ) {
        switch step {
        case .request(let request):
            guard bearer.begin(request.opcode, now: now) else {
                state = .idle
                outputs.append(.clientCompleted(token: token, .failure(.bearerClosed)))
                return
            }
            state = .running(token: token, procedure)
            outputs.append(.send(pdus.pdu(request.parameters)))
        case .finished(let result):
            state = .idle
            outputs.append(.clientCompleted(token: token, result))
        }
    }

    /// The answer to the request under way; nil for one that could not be decoded.
    mutating func receive(
        _ response: ATTResponse?, _ bearer: inout ATTBearer, now: Instant,
        _ outputs: inout [GATTOutput]
    ) {
        let current = state
        state = .idle
        switch current {
        case .idle: break
        case .exchangingMTU(let token):
            // A server that does not know the request keeps the default MTU: that is an answer, too.
            outputs.append(
                .clientCompleted(
                    token: token,
                    response == nil ? .failure(.malformedAnswer(.undecodable)) : .success(.mtu(bearer.mtu))))
        case .running(let token, var procedure):
            guard let response else {
                outputs.append(.clientCompleted(token: token, .failure(.malformedAnswer(.undecodable))))
                break
            }
            let step = procedure.receive(response, mtu: bearer.mtu)
            take(step, token, procedure, &bearer, now, &outputs)
        }
        advance(&bearer, now: now, &outputs)
    }

    /// The bearer is gone, and with it everything asked.
    mutating func close(_ outputs: inout [GATTOutput]) {
        switch state {
        case .idle: break
        case .exchangingMTU(let token), .running(let token, _):
            outputs.append(.clientCompleted(token: token, .failure(.bearerClosed)))
        }
        for operation in waiting {
            outputs.append(.clientCompleted(token: operation.token, .failure(.bearerClosed)))
        }
        state = .idle
        waiting = []
    }
}
