import DaemonControl
import Drills
import VirtualRadio

/// Lines of a control socket, read as everything that they may be.
@Sendable func fuzzControlLine(_ octets: [UInt8]) {
    var framer = LineFramer()
    guard let lines = try? framer.receive(octets + [0x0A]) else { return }
    for line in lines {
        require(line.count <= LineFramer.maximumLineOctets, "a line is too long")
        if let value = try? JSONValue(line: line) {
            let text = Array(value.text.utf8)
            // A control character may be six octets of escape.
            require(text.count <= 6 * line.count, "a value grew beyond its escapes")
            require(!text.contains(0x0A), "a line holds a line feed")
            require((try? JSONValue(line: text)) == value, "a value does not survive its text")
        }
        if let request = try? PeripheralRequest(line: line) {
            let again = try? PeripheralRequest(line: request.line.dropLast())
            require(again == request, "a request does not survive its line")
        }
        if let request = try? CentralRequest(line: line) {
            let again = try? CentralRequest(line: request.line.dropLast())
            require(again?.line == request.line, "a request does not survive its line")
        }
        if let reply = ControlReply(line: line) {
            require(ControlReply(line: reply.line.dropLast()) == reply, "a reply does not survive its line")
        }
    }
}

extension ControlRequest {
    fileprivate init(line: ArraySlice<UInt8>) throws(ControlFailure) { try self.init(line: Array(line)) }
}

extension ControlReply {
    fileprivate init?(line: ArraySlice<UInt8>) { self.init(line: Array(line)) }
}

@Sendable func fuzzConfiguration(_ octets: [UInt8]) {
    let text = String(decoding: octets, as: UTF8.self)
    do throws(ConfigurationError) {
        let configuration = try ConfigurationText(text, file: "fuzz")
        require(configuration.entries.count <= text.unicodeScalars.count, "entries were made up")
    } catch {
        require(error.position.line >= 1 && error.position.column >= 1, "an error is nowhere")
        require(!error.description.isEmpty, "an error says nothing")
    }
}

/// A file read in pieces gives what it gives whole.
@Sendable func fuzzBTSnoop(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    let cut = max(1, Int(input.octet()))
    let file = input.rest()
    require(packets(file, cutEvery: cut) == packets(file, cutEvery: file.count + 1), "packets depend on the reads")
}

private func packets(_ file: [UInt8], cutEvery size: Int) -> [CapturePacket]? {
    var reader = BTSnoopReader()
    var packets: [CapturePacket] = []
    for start in stride(from: 0, to: file.count, by: size) {
        guard let read = try? reader.read(file[start..<min(start + size, file.count)]) else { return nil }
        packets += read
    }
    return packets
}

/// Two hosts that send their controllers anything. What a controller keeps for a host is bounded.
@Sendable func fuzzVirtualRadio(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    var radio = VirtualRadio(configuration: AirConfiguration(pacing: input.bool() ? .immediate : .paced))
    var controllers = [radio.addController(), radio.addController()]
    while let event = input.nextEvent() {
        let chosen = controllers[Int(event >> 7) % controllers.count]
        switch event & 15 {
        case 0...7: radio.send(input.chunk(), from: chosen)
        // Small: an air with two advertisers at their shortest interval has some hundred events a second.
        case 8, 9, 10: radio.advance(toNanoseconds: radio.now + UInt64(input.octet()) * 4_000_000)
        case 11: radio.power(chosen, on: input.bool())
        case 12: input.bool() ? radio.cut(controllers[0], controllers[1]) : radio.join(controllers[0], controllers[1])
        case 13: radio.setDistance(controllers[0], controllers[1], metres: Double(input.uint16()) / 16)
        case 14:
            for packet in radio.drain(chosen) { require(packet.count >= 3, "a controller says half a packet") }
        default:
            guard controllers.count < 6 else { continue }
            radio.unplug(chosen)
            controllers = controllers.map { $0 == chosen ? radio.addController() : $0 }
        }
    }
    for controller in controllers {
        // The packet that fills the outbox may be the longest that there is.
        let kept = radio.drain(controller).reduce(0) { $0 + $1.count }
        require(kept <= 65_536 + 5 + 0xFFFF + 65_536, "a controller's outbox has no bound")
    }
}

/// Lines of the radio's control socket, with two hosts that hear what comes of them.
@Sendable func fuzzRadioControl(_ octets: [UInt8]) {
    var radio = VirtualRadio(configuration: AirConfiguration(pacing: .immediate))
    let controllers = [radio.addController(), radio.addController()]
    let advertise: [[UInt8]] = [[1, 3, 0x0C, 0], [1, 0x0A, 0x20, 1, 1]]
    for packet in advertise { radio.send(packet, from: controllers[0]) }
    for line in octets.split(separator: 0x0A, maxSplits: 63) {
        let answer = radio.perform(controlLine: String(decoding: line, as: UTF8.self))
        require(answer?.contains("\n") != true, "an answer is more than a line")
        radio.advance(toNanoseconds: radio.now + 10_000_000)
    }
    for controller in controllers {
        let kept = radio.drain(controller).reduce(0) { $0 + $1.count }
        require(kept <= 65_536 + 5 + 0xFFFF + 65_536, "a controller's outbox has no bound")
    }
}
