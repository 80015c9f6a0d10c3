import BluetoothHost
import Glibc
import SecurityManager
import Testing

@testable import StatePersistence

/// The host's part of another machine key, and the key's own files.
@Suite("Another machine key: bonds and files")
struct KeyRotationFileTests {
    let scratch = Scratch()

    private var keyFile: String { scratch.directory + "/machine.key" }
    private var keyFiles: [String] { scratch.files.filter { $0.hasPrefix("machine.key") } }

    private func fill(bonds: Int64) throws -> StateStore {
        let state = try scratch.open()
        let store = SQLiteHostStore(state, name: "lock")
        store.append(.localIdentity(Sample.identity(1)))
        for number in 1...bonds { store.append(.bond(.upsert(Sample.bond(number)))) }
        try state.database.commit([store])
        return state
    }

    private func launch() throws -> SQLiteHostStore {
        let store = SQLiteHostStore(try scratch.open(), name: "lock")
        _ = try store.launch()
        return store
    }

    private func rotate() throws {
        let state = try scratch.open()
        let next = try MachineKey.makeNext(of: keyFile)
        let rotation = KeyRotation(database: state.database, from: state.keys, to: next)
        try state.database.transaction { try rotation.perform() }
        _ = try MachineKey.putInPlace(of: keyFile)
    }

    @Test("More bonds than a slice has: each has its keys, and the host its identity, under the new key")
    func manyBonds() throws {
        let expected = try SQLiteHostStore(fill(bonds: Int64(KeyRotation.sliceRows) + 44), name: "lock").load()
        try rotate()
        expectEqual(try SQLiteHostStore(scratch.open(), name: "lock").load(), expected)
    }

    @Test(
        "Altered bond: what the old key refuses the new one does too",
        arguments: [
            "UPDATE host_bond SET credential = 'credential 1' WHERE id = 2",
            "UPDATE host_bond SET state = 2 WHERE id = 2", "UPDATE host_bond SET mac = NULL WHERE id = 2",
            "UPDATE host_bond SET keys = (SELECT keys FROM host_bond WHERE id = 1) WHERE id = 2",
        ])
    func altered(sql: String) throws {
        do {
            let state = try fill(bonds: 3)
            try state.database.transaction { try state.database.connection.execute(sql) }
        }
        for isRotated in [false, true] {
            if isRotated { try rotate() }
            let store = try launch()
            #expect(store.bond(BondID(2)) == nil)
            #expect(store.bond(BondID(1)) == Sample.bond(1) && store.bond(BondID(3)) == Sample.bond(3))
        }
    }

    @Test("The new key's file is for whom the old one's was, and no more", arguments: [0o600, 0o400] as [mode_t])
    func mode(_ mode: mode_t) throws {
        _ = try fill(bonds: 1)
        #expect(chmod(keyFile, mode) == 0)
        let old = Scratch.read(keyFile)
        try rotate()
        #expect(Scratch.mode(keyFile) == UInt32(mode) && Scratch.mode(keyFile + ".old-1") == UInt32(mode))
        #expect(Scratch.read(keyFile + ".old-1") == old && Scratch.read(keyFile) != old)
    }

    @Test("Each rotation leaves one old key, under the next free name, and none is written over")
    func oldKeys() throws {
        _ = try fill(bonds: 1)
        var former: [[UInt8]] = []
        for number in 1...3 {
            former.append(Scratch.read(keyFile))
            try rotate()
            #expect(keyFiles == ["machine.key"] + (1...number).map { "machine.key.old-\($0)" })
        }
        #expect((1...3).map { Scratch.read("\(keyFile).old-\($0)") } == former)
    }

    @Test("Cut off between the old key's second name and the new one's place: it goes on, and there is one old key")
    func cutOff() throws {
        _ = try fill(bonds: 1)
        let old = Scratch.read(keyFile)
        let next = try MachineKey.makeNext(of: keyFile)
        do {
            let state = try scratch.open()
            let rotation = KeyRotation(database: state.database, from: state.keys, to: next)
            try state.database.transaction { try rotation.perform() }
        }
        #expect(link(keyFile, keyFile + ".old-1") == 0)
        #expect(try MachineKey.putInPlace(of: keyFile) == keyFile + ".old-1")
        #expect(keyFiles == ["machine.key", "machine.key.old-1"])
        #expect(Scratch.read(keyFile + ".old-1") == old && Scratch.read(keyFile) != old)
        #expect(try launch().bond(BondID(1)) == Sample.bond(1))
    }
}
