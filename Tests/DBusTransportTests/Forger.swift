import Foundation
import Glibc
import TestSupport
import Testing

/// A connection to a bus that says what no library says: answers to calls that were never made to it, and calls and signals to one
/// connection alone.
///
/// D-Bus Specification, Authentication Protocol; Message Protocol
final class Forger {
    private let descriptor: Int32
    private var serial: UInt32 = 0
    /// The bus's for it, which nobody else can have.
    private(set) var name = ""

    /// As the user that this process has.
    init(at address: String) throws {
        descriptor = try makeConnection(to: String(address.dropFirst("unix:path=".count)))
        let user = "\(getuid())".utf8.map { String($0, radix: 16) }.joined()
        write(Array("\0AUTH EXTERNAL \(user)\r\n".utf8))
        try #require(String(decoding: read(), as: UTF8.self).hasPrefix("OK "))
        write(Array("BEGIN\r\n".utf8))
        call("org.freedesktop.DBus", "Hello")
        let hello = String(decoding: read(), as: UTF8.self)
        name = try #require(hello.firstMatch(of: /:1\.[0-9]+/).map { String($0.0) })
    }

    deinit { close(descriptor) }

    private func write(_ octets: [UInt8]) {
        var rest = octets[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    private func read() -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: 4_096)
        let count = octets.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        return Array(octets.prefix(max(0, count)))
    }

    /// Nobody answers it where it goes to a peer that does not.
    func call(_ destination: String, _ member: String) {
        send(type: 1, [(1, "o", text("/org/freedesktop/DBus")), (3, "s", text(member)), (6, "s", text(destination))])
    }

    /// The same with a body, which has its signature in front.
    func call(_ destination: String, _ member: String, _ body: (signature: String, octets: [UInt8])) {
        send(
            type: 1,
            [
                (1, "o", text("/")), (3, "s", text(member)), (6, "s", text(destination)),
                (8, "g", signature(body.signature)),
            ], body: body.octets)
    }

    /// To this connection alone, which no match of its own keeps out.
    func signal(_ destination: String, _ member: String, _ body: (signature: String, octets: [UInt8])) {
        send(
            type: 4,
            [
                (1, "o", text("/")), (2, "s", text("org.latch.Forged")), (3, "s", text(member)),
                (6, "s", text(destination)), (8, "g", signature(body.signature)),
            ], body: body.octets)
    }

    /// What it has said so far is with the bus, and with those that it has said it to behind that.
    func settle() {
        call("org.freedesktop.DBus", "GetId")
        hear { $0.contains(/[0-9a-f]{32}/) }
    }

    /// Reads what it is told until it was told this.
    func hear(_ isTold: (String) -> Bool) {
        var told = ""
        while !isTold(told) {
            let octets = read()
            guard !octets.isEmpty else { return }
            told += String(decoding: octets, as: UTF8.self)
        }
    }

    /// The answer, with a text, to the message of this number of `victim`'s.
    func answer(_ victim: String, _ number: UInt32, _ said: String) {
        send(
            type: 2, [(5, "u", octets(number)), (6, "s", text(victim)), (8, "g", signature("s"))],
            body: text(said))
    }

    /// The same with a yes or a no.
    func answer(_ victim: String, _ number: UInt32, _ said: Bool) {
        send(
            type: 2, [(5, "u", octets(number)), (6, "s", text(victim)), (8, "g", signature("b"))],
            body: octets(said ? 1 : 0))
    }

    /// The same with a refusal.
    func refuse(_ victim: String, _ number: UInt32, _ name: String) {
        send(type: 3, [(4, "s", text(name)), (5, "u", octets(number)), (6, "s", text(victim))])
    }

    private func send(type: UInt8, _ fields: [(code: UInt8, signature: String, value: [UInt8])], body: [UInt8] = []) {
        serial += 1
        var array: [UInt8] = []
        for field in fields {
            pad(&array, to: 8)
            array += [field.code, 1] + Array(field.signature.utf8) + [0]
            array += field.value
        }
        var message = [UInt8(ascii: "l"), type, 0, 1] + octets(UInt32(body.count)) + octets(serial)
        message += octets(UInt32(array.count)) + array
        pad(&message, to: 8)
        write(message + body)
    }

    /// Values begin at multiples of four here: a field's head has four octets behind a multiple of eight.
    private func text(_ text: String) -> [UInt8] { octets(UInt32(text.utf8.count)) + Array(text.utf8) + [0] }

    private func signature(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) + [0] }

    private func octets(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }

    private func pad(_ octets: inout [UInt8], to multiple: Int) {
        octets += [UInt8](repeating: 0, count: (multiple - octets.count % multiple) % multiple)
    }
}
