import Foundation
import Testing

/// What a door's binary is made of. Octets of the file, so that neither a symbol table nor a tool to read one is needed.
@Suite("Linkage")
struct LinkageTests {
    /// How mangled names and metadata write the modules that only `latch-lab` has, and a function of their C.
    static let marks = ["12VirtualRadio", "10Simulation", "6Drills", "latch_radio_aes128"]

    /// What `latch` has and its strike's keeper has not.
    static let strangers = ["13BluetoothHost", "15BluetoothCrypto", "14LockPeripheral", "16StatePersistence"]

    private static func contents(_ program: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: program), options: .alwaysMapped)
    }

    @Test("a door's program has nothing of the radio and the drills, and the search would find them", arguments: marks)
    func absent(mark: String) throws {
        let sought = Data(mark.utf8)
        #expect(try Self.contents(Program.lab).range(of: sought) != nil, "the search finds nothing at all")
        #expect(try Self.contents(Program.path).range(of: sought) == nil)
    }

    @Test("what holds a door's line has nothing of Bluetooth, of keys, or of a store", arguments: strangers)
    func strike(mark: String) throws {
        let sought = Data(mark.utf8)
        #expect(try Self.contents(Program.path).range(of: sought) != nil, "the search finds nothing at all")
        #expect(try Self.contents(Program.strike).range(of: sought) == nil)
    }

    /// Of the type whose cases these are. `scripts/mutants` looks for it where it is, with the same octets.
    @Test("no program has a guard that can be taken out", arguments: [Program.path, Program.lab, Program.strike])
    func whole(program: String) throws {
        #expect(try Self.contents(program).range(of: Data("13BluetoothCore5Plant".utf8)) == nil)
    }

    /// A file in which nothing of the program can be read would pass the search above.
    @Test("the search finds what a door's program has")
    func present() throws {
        for mark in ["14LockPeripheral", "13BluetoothHost"] {
            #expect(try Self.contents(Program.path).range(of: Data(mark.utf8)) != nil, "\(mark)")
        }
    }
}
