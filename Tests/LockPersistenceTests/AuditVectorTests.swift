import BluetoothCore
import BluetoothCrypto
import Glibc
import LockPeripheral
import StatePersistence
import TestSupport
import Testing

@testable import LockPersistence

/// The audit's figures in docs/PROTOCOL.md, computed with Python's `hashlib`, `hmac` and `cryptography`.
@Suite("docs/PROTOCOL.md, The audit")
struct AuditVectorTests {
    private let vectors: DocumentVectors

    init() throws { vectors = try DocumentVectors("vectors") }

    private func value(_ name: String) throws -> [UInt8] {
        try #require(vectors[name].flatMap { HexText.decode($0) }, "no vector “\(name)”")
    }

    @Test("Records, their hashes, and the signatures of an end and of a cut under the machine key's key")
    func figures() throws {
        let scratch = Scratch()
        let descriptor = creat(scratch.directory + "/machine.key", 0o600)
        let machineKey = try value("machine key")
        try #require(descriptor >= 0 && write(descriptor, machineKey, machineKey.count) == machineKey.count)
        close(descriptor)
        let signer = AuditSigner(try scratch.openState().keys)
        #expect(signer.publicKey.octets == (try value("audit key")))

        let boot = BootID(bits: try value("audit boot").reduce(0) { $0 << 8 | UInt128($1) })
        var head = AuditHead.empty
        let first = head.append(
            .launched, boot: boot, at: Instant(nanoseconds: 1_000_000_000), wallClockSeconds: 1_795_600_000)
        let second = head.append(
            .bolt(.locked), boot: boot, at: Instant(nanoseconds: 2_000_000_000), wallClockSeconds: nil)
        for (record, number) in [(first, 1), (second, 2)] {
            #expect(record.encoded == (try value("audit record \(number)")) + (try value("audit hash \(number)")))
            #expect(record.hash == (try value("audit hash \(number)")))
        }
        #expect(signer.checkpoint(head).signature == (try value("audit checkpoint signature")))
        let cut = signer.signed(AuditCut(first: 1, last: 1, hash: first.hash))
        #expect(cut.signature == (try value("audit cut signature")))
    }
}
