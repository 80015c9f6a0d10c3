import BluetoothCore
import L2CAP

/// Fragments of any kind in any order: a PDU is never longer than its link takes.
@Sendable func fuzzRecombiner(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    let maximum = 23 + Int(input.octet()) * 2
    var recombiner = Recombiner(maximumPayloadOctets: maximum)
    while let event = input.nextEvent() {
        let fragment: Fragment = event & 1 == 0 ? .start : .continuation
        do throws(RecombinationError) {
            if let frame = try recombiner.receive(fragment, input.chunk().span.bytes) {
                require(frame.payload.count <= maximum, "a PDU is longer than its link takes")
                require(!recombiner.isMidPDU, "a PDU is complete and goes on")
                requireRoundTrip(BasicFrame.self, frame.encoded)
            }
        } catch {
            require(!recombiner.isMidPDU, "a fault leaves a PDU open")
        }
    }
}

@Sendable func fuzzL2CAPFrame(_ octets: [UInt8]) {
    requireRoundTrip(BasicFrame.self, octets)
    requireRoundTrip(SignallingPDU.self, octets)
    requireRoundTrip(ConnectionParameters.self, octets)
}

/// Whatever a peer signals, it gets at most one answer, of the channel's size.
@Sendable func fuzzLESignalling(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    var channel = LESignallingChannel(role: input.bool() ? .central : .peripheral)
    var now = Instant(nanoseconds: 0)
    var outputs: [LESignallingOutput] = []
    var asked = 0
    while let event = input.nextEvent() {
        outputs.removeAll()
        switch event & 3 {
        case 0, 1: channel.receive(input.chunk(), into: &outputs)
        case 2:
            let parameters = ConnectionParameters(
                intervalMin: input.uint16(), intervalMax: input.uint16(), latency: input.uint16(),
                timeout: input.uint16())
            do throws(LESignallingError) {
                try channel.requestUpdate(parameters, now: now, into: &outputs)
                asked += 1
            } catch {}
        default:
            now = now.advanced(byMilliseconds: input.milliseconds())
            channel.timerFired(now: now, into: &outputs)
        }
        var sent = 0
        for output in outputs {
            switch output {
            case .send(let payload):
                sent += 1
                require(payload.count <= LESignallingChannel.mtu, "a signal is longer than its channel")
                requireRoundTrip(SignallingPDU.self, payload)
            case .updateConnection(let parameters): require(parameters.isValid, "invalid parameters are taken")
            case .updateFinished:
                asked -= 1
                require(asked >= 0, "a request ended twice")
            }
        }
        require(sent <= 1, "one event, \(sent) signals")
        require((channel.deadline != nil) == (asked == 1), "a request is lost, or waits for nothing")
    }
}
