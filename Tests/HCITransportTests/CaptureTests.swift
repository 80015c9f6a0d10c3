import CLinux
import Glibc
import HCI
import TestSupport
import Testing

@testable import HCITransport

private let event: [UInt8] = [4, 0x0E, 4, 1, 3, 0x0C, 0]
private let reset: [UInt8] = [1, 3, 0x0C, 0]
private let data: [UInt8] = [2, 0x40, 0x20, 2, 0, 0xAA, 0xBB]

/// btsnoop, version 1, H4.
private let header: [UInt8] = Array("btsnoop".utf8) + [0, 0, 0, 0, 1, 0, 0, 0x03, 0xEA]

/// One microsecond after 1970 began.
private func record(_ packet: [UInt8], flags: UInt8) -> [UInt8] {
    let length = [0, 0, 0, UInt8(packet.count)]
    let time: [UInt8] = [0x00, 0xDC, 0xDD, 0xB3, 0x0F, 0x2F, 0x80, 0x01]
    return length + length + [0, 0, 0, flags] + [0, 0, 0, 0] + time + packet
}

private func write(_ octets: [UInt8], to path: String) throws {
    let descriptor = OwnedDescriptor(latch_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600))
    try descriptor.put(octets)
}

@Suite("--capture writes btsnoop")
struct CaptureTests {
    private func open(_ path: String) throws(TransportError) -> BTSnoopWriter {
        try BTSnoopWriter(path: path, unixMicroseconds: { 1 })
    }

    @Test("Wireshark's header, both directions, and whole after each packet")
    func format() throws {
        let directory = try TemporaryDirectory()
        let pair = try Pair(capture: try open(directory.file))
        var expected = header
        #expect(contents(of: directory.file) == expected)
        try pair.controller.put(event)
        _ = try pair.stream.packets()
        expected += record(event, flags: 0b11)
        #expect(contents(of: directory.file) == expected)
        try pair.controller.put(data)
        _ = try pair.stream.packets()
        expected += record(data, flags: 0b01)
        #expect(contents(of: directory.file) == expected)
        try pair.stream.send(reset.span.bytes)
        expected += record(reset, flags: 0b10)
        try pair.stream.send(data.span.bytes)
        expected += record(data, flags: 0b00)
        #expect(contents(of: directory.file) == expected)
        var status = stat()
        #expect(stat(directory.file, &status) == 0 && status.st_mode & 0o777 == 0o600, "keys are in it")
    }

    enum Way: CaseIterable { case unix, tcp, serial, inherited, packets }

    @Test("the same on every transport, and through a reopening", arguments: Way.allCases)
    func everyTransport(_ way: Way) throws {
        let directory = try TemporaryDirectory()
        let capture = try open(directory.file)
        for _ in 0..<2 {
            switch way {
            case .unix:
                let socket = try TemporaryDirectory()
                let listener = try Listener(unix: socket.file)
                let transport = try Transport.open(.unix(path: socket.file))
                try exchange(HCIStream(transport, capture: capture), with: listener.acceptOne())
            case .tcp:
                var port: UInt16 = 0
                let listener = try Listener(loopback: &port)
                let transport = try Transport.open(.tcp(host: "127.0.0.1", port: port))
                let controller = try listener.acceptOne()
                let stream = HCIStream(transport, capture: capture)
                try stream.finishConnecting()
                try exchange(stream, with: controller)
            case .serial:
                let terminal = try Terminal()
                let address = TransportAddress.serial(device: terminal.device, baud: 115_200, flowControl: false)
                try exchange(HCIStream(try Transport.open(address), capture: capture), with: terminal.master)
            case .inherited, .packets:
                let ends = try makeSocketPair(way == .packets ? SOCK_SEQPACKET : SOCK_STREAM)
                let controller = OwnedDescriptor(ends.0)
                try exchange(HCIStream(try Transport.open(.inherited(ends.1)), capture: capture), with: controller)
            }
        }
        let once = record(reset, flags: 0b10) + record(event, flags: 0b11)
        #expect(contents(of: directory.file) == header + once + once)
    }

    private func exchange(_ stream: HCIStream, with controller: borrowing OwnedDescriptor) throws {
        try stream.send(reset.span.bytes)
        try stream.flush()
        #expect(controller.get() == reset)
        try controller.put(event)
        var packets: [[UInt8]] = []
        while packets.isEmpty {
            var waiting = pollfd(fd: stream.descriptor, events: Int16(POLLIN), revents: 0)
            _ = poll(&waiting, 1, -1)
            packets = try stream.packets()
        }
        #expect(packets == [event])
    }

    @Test("a capture that is there is gone on with, and a record that a kill cut short is taken off")
    func goesOn() throws {
        let directory = try TemporaryDirectory()
        let whole = header + record(event, flags: 0b11)
        let torn = record(data, flags: 0b01)
        for cut in 0..<torn.count {
            try write(whole + torn.prefix(cut), to: directory.file)
            let pair = try Pair(capture: try open(directory.file))
            try pair.stream.send(reset.span.bytes)
            #expect(contents(of: directory.file) == whole + record(reset, flags: 0b10), "cut \(cut)")
        }
        for cut in 0..<header.count {
            try write(Array(header.prefix(cut)), to: directory.file)
            _ = try open(directory.file)
            #expect(contents(of: directory.file) == header, "cut \(cut)")
        }
    }

    @Test(
        "a file that is no capture is refused and left as it is",
        arguments: [
            Array("SQLite format 3".utf8) + [0], Array("btsnoop".utf8) + [0, 0, 0, 0, 1, 0, 0, 0x07, 0xD1],
            [0x62, 0x00],
            header + [0, 0, 0, 1, 0, 1, 0, 5] + [UInt8](repeating: 0, count: 16),
        ])
    func refused(_ octets: [UInt8]) throws {
        let directory = try TemporaryDirectory()
        try write(octets, to: directory.file)
        let error = try #require(throws: TransportError.self) { try open(directory.file) }
        #expect(error.kind == .unsupported)
        #expect(error.description.contains(directory.file))
        #expect(contents(of: directory.file) == octets)
    }

    @Test("what is no file, or a link to one, is refused")
    func notAFile() throws {
        let directory = try TemporaryDirectory()
        #expect(throws: TransportError.self) { try open(directory.path) }
        #expect(throws: TransportError.self) { try open("/dev/null") }
        #expect(symlink("/dev/null", directory.file) == 0)
        #expect(throws: TransportError.self) { try open(directory.file) }
    }

    @Test("a full disk stops the capture, which is said once, and not the controller")
    func full() async {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            let directory = try TemporaryDirectory()
            let capture = try BTSnoopWriter(path: directory.file)
            var failures = 0
            capture.onFailure = { _ in failures += 1 }
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { exit(2) }
            let pair = try Pair(capture: capture)
            for _ in 0..<8 { try pair.stream.send(reset.span.bytes) }
            try pair.stream.flush()
            guard failures == 1, capture.failure != nil, pair.controller.get().count == 32 else { exit(1) }
            unlink(directory.file)
        }
    }
}
