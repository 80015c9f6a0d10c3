import BluetoothCore
import LockPeripheral
import LockProtocol
import TestSupport
import Testing

/// The procedures' vectors of docs/PROTOCOL.md, asked of a lock in the order of the page.
@Suite("docs/PROTOCOL.md, the control point")
struct ProcedureVectorTests {
    @Test("Each request is answered as it is written down; every procedure has one that succeeds")
    func procedures() throws {
        let vectors = try DocumentVectors("procedures")
        var bench = LockBench([
            Credential(0x0102_0304_0506_0708, "Ana", .owner), Credential(0x1112_1314_1516_1718, "Bo", .guest),
        ])
        var succeeded: Set<ControlPointOpcode> = []
        for name in vectors.names where name.hasSuffix(" request") {
            let request = try #require(vectors[name].flatMap { HexText.decode($0) })
            if name == "set time request" { bench.wallClockSeconds = nil }
            let answer = bench.ask(request, on: 0x0102_0304_0506_0708)
            let expected = vectors[String(name.dropLast(7)) + "response"].flatMap { HexText.decode($0) }
            #expect(answer?.encoded == expected, "\(name)")
            if let opcode = request.first, answer?.result == .success {
                succeeded.insert(ControlPointOpcode(rawValue: opcode))
            }
            if let procedure = try? ControlPointProcedure(exactly: request) { #expect(procedure.encoded == request) }
        }
        // A bond that is confirmed agrees on no key.
        #expect(succeeded == Set(ControlPointOpcode.known).subtracting([.agreeOnKey, .confirmKey]))
    }
}
