import Foundation
import Testing

/// The arrows of docs/ARCHITECTURE.md, held against what each file imports.
@Suite struct ArrowTests {
    /// What each room may import. Nothing pure sees a shell, a store, Foundation or Dispatch; what a daemon links sees no
    /// full Foundation.
    static let allowed: [String: Set<String>] = [
        "BluetoothCore": [],
        "BluetoothCrypto": ["BluetoothCore", "COpenSSL"],
        "HCI": ["BluetoothCore"],
        "L2CAP": ["BluetoothCore"],
        "ATT": ["BluetoothCore"],
        "GATT": ["ATT", "BluetoothCore", "BluetoothCrypto"],
        "SecurityManager": ["BluetoothCore", "BluetoothCrypto"],
        "DBus": [],
        "SetupCodeGiving": ["BluetoothCore"],
        "BlueZ": ["ATT", "BluetoothCore", "DBus", "GATT"],
        "Desktop": ["BluetoothCore", "DBus"],
        "BluetoothHost": [
            "ATT", "BlueZ", "BluetoothCore", "BluetoothCrypto", "DBus", "GATT", "HCI", "L2CAP", "SecurityManager",
        ],
        "CoreBluetoothEssentials": [
            "ATT", "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "Dispatch", "FoundationEssentials", "GATT",
            "HCI",
            "SecurityManager", "Synchronization",
        ],
        "CoreBluetooth": [
            "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CoreBluetoothEssentials", "Dispatch", "Foundation",
            "Glibc", "HCITransport", "HostComposition", "SecurityManager", "StatePersistence", "Synchronization",
        ],
        "GPIO": ["BluetoothCore", "CGPIO", "CLinux", "Glibc"],
        "StrikeControl": ["BluetoothCore"],
        "LockProtocol": ["BluetoothCore", "BluetoothCrypto"],
        "LockPeripheral": [
            "ATT", "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CoreBluetoothEssentials",
            "FoundationEssentials", "GATT", "HCI", "LockProtocol", "SecurityManager",
        ],
        "LockCentral": [
            "ATT", "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CoreBluetoothEssentials",
            "FoundationEssentials", "GATT", "HCI", "LockProtocol", "SecurityManager",
        ],
        "ProximityWalks": ["BluetoothCore", "LockCentral"],
        "StatePersistence": [
            "ATT", "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CLinux", "CSQLite", "GATT", "Glibc",
            "SecurityManager",
        ],
        "LockPersistence": [
            "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "LockCentral", "LockPeripheral", "LockProtocol",
            "StatePersistence",
        ],
        "DBusTransport": ["BluetoothCore", "CSystemBus", "DBus", "Glibc", "HCITransport"],
        "HCITransport": [
            "BluetoothCore", "BluetoothHost", "CBlueZ", "CLinux", "DBus", "Glibc", "HCI", "SecurityManager",
            "Synchronization",
        ],
        "HostComposition": [
            "BlueZ", "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CLinux", "CoreBluetoothEssentials",
            "DBusTransport", "Glibc", "HCITransport", "SecurityManager", "SetupCodeGiving", "StatePersistence",
            "Synchronization",
        ],
        "DaemonControl": ["BluetoothCore", "CLinux", "FoundationEssentials", "Glibc"],
        "VirtualRadio": ["CLinux", "CRadioCrypto", "Glibc"],
        "CommandInterface": ["BluetoothCore", "CLinux", "DaemonControl", "Glibc"],
        // What holds a door's line: no Bluetooth, no store.
        "StrikeKeeping": [
            "BluetoothCore", "CLinux", "CommandInterface", "DaemonControl", "GPIO", "Glibc", "StrikeControl",
        ],
        "LatchStrike": ["CommandInterface", "StrikeKeeping"],
        // What may write to the kernel's Bluetooth management: neither a stack nor a store.
        "LatchOOB": ["CBlueZ", "CLinux", "CSystemBus", "CommandInterface", "Glibc", "SetupCodeGiving"],
        // What a door runs: neither the radio nor the drills.
        "latch": [
            "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CLinux", "CQRencode", "CommandInterface",
            "CoreBluetoothEssentials", "DBus", "DBusTransport", "DaemonControl", "Desktop", "GATT", "Glibc", "HCI",
            "HCITransport", "HostComposition", "LockCentral", "LockPeripheral", "LockPersistence", "LockProtocol",
            "ProximityWalks", "SecurityManager", "StatePersistence",
        ],
    ]

    @Test("A room imports only what its arrows allow", arguments: allowed.keys.sorted())
    func arrows(room: String) throws {
        let files = try SourceTree.files(in: room)
        #expect(!files.isEmpty, "the room is empty")
        for file in files {
            let foreign = try SourceTree.imports(of: file).subtracting(Self.allowed[room] ?? [])
                .subtracting(Self.shells(of: file))
            #expect(foreign.isEmpty, "\(file.lastPathComponent) imports \(foreign.sorted())")
        }
    }

    /// The actuators are the lock's one way out to the world: a journal is a file. Signatures without number are verified on threads, which
    /// have ended when the answer is there. And what breaks the products on purpose is in no build that anybody runs.
    static func shells(of file: URL) -> Set<String> {
        if file.path.hasSuffix("/Crypto/Ed25519+Many.swift") { return ["Glibc"] }
        if file.path.contains("/LockPeripheral/Actuators/") { return ["CLinux", "Glibc", "StrikeControl"] }
        return file.path.hasSuffix("/BluetoothCore/Plant.swift") ? ["Glibc"] : []
    }

    @Test("Every library room has its arrows written down")
    func complete() throws {
        let composed: Set<String> = ["Drills", "FaultDisk", "LatchLab", "Simulation"]
        let written = Set(Self.allowed.keys).union(composed).union(SourceTree.systemModules)
        #expect(try Set(SourceTree.rooms().keys) == written)
    }

    @Test("Every folder of the sources is a room of the package")
    func folders() throws {
        let found = try FileManager.default.contentsOfDirectory(atPath: SourceTree.root.path)
        #expect(try Set(found) == Set(SourceTree.rooms().values))
    }

    @Test("The examples are apps of Apple's API: of this package they import nothing else, but the form of a parcel")
    func examples() throws {
        let folder = SourceTree.root.deletingLastPathComponent().appendingPathComponent("Examples")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        #expect(!files.isEmpty)
        for file in files {
            let foreign = try SourceTree.imports(of: folder.appendingPathComponent(file))
                .subtracting(["CoreBluetooth", "Foundation", "Parcel"])
            #expect(foreign.isEmpty, "\(file) imports \(foreign.sorted())")
        }
    }

    /// How often a file may trap, and why it may. No peer reaches one of these: a key's length is our own, and what is read
    /// from a disk or a peer is measured before it becomes a key.
    static let mayTrap: [String: Int] = [
        // OpenSSL without AES or memory has no answer that a caller could use.
        "Required.swift": 1,
        // Keys and nonces of a wrong length, which only our own code can hand in.
        "AES128.swift": 2, "AuthenticatedEncryption.swift": 4, "CMAC.swift": 1,
        // An empty database that has no room for two services.
        "GATTServer.swift": 1,
        // Apple's initialisers end the process for what is no UUID.
        "CBUUID.swift": 2,
    ]

    static let traps = [
        "fatalError(", "try!", "as!", "precondition(", "preconditionFailure(", "assert(", "assertionFailure(",
        "unowned(unsafe)", "unsafeBitCast(",
    ]

    @Test("No file of a library traps on purpose", arguments: allowed.keys.sorted())
    func noTraps(room: String) throws {
        for file in try SourceTree.files(in: room) {
            let found = try SourceTree.lines(of: file).filter { line in Self.traps.contains { line.1.contains($0) } }
            let places = found.map { "\($0.0): \($0.1)" }.joined(separator: "\n")
            let mayTrap = Self.mayTrap[file.lastPathComponent] ?? 0
            #expect(found.count == mayTrap, "\(file.lastPathComponent) traps\n\(places)")
        }
    }
}

/// The tree as it lies beside this file.
enum SourceTree {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources")

    /// C, and no room of ours.
    static let systemModules: Set<String> = [
        "CBlueZ", "CCutDisk", "CFaultDisk", "CGPIO", "CLinux", "COpenSSL", "CQRencode", "CRadioCrypto", "CSQLite",
        "CSystemBus",
    ]

    private typealias Declaration = Regex<(Substring, name: Substring, rest: Substring)>.Match

    private static func declarations(of manifest: String) -> [Declaration] {
        let declaration =
            #/(?:room|\.systemLibrary|\.executableTarget|\.target)\(\s*(?:name:\s*)?"(?<name>\w+)"(?<rest>(?:[^()]|\([^()]*\))*)\)/#
        return manifest.matches(of: declaration)
    }

    private static func manifest() throws -> String {
        try String(
            contentsOf: root.deletingLastPathComponent().appendingPathComponent("Package.swift"), encoding: .utf8)
    }

    /// Each target of the package's that lies under Sources, and its folder there.
    static func rooms() throws -> [String: String] {
        var rooms: [String: String] = [:]
        for match in declarations(of: try manifest()) {
            let rest = match.output.rest
            if let path = rest.firstMatch(of: #/path:\s*"(?<path>[^"]+)"/#)?.output.path {
                if path.hasPrefix("Sources/") {
                    rooms[String(match.output.name)] = String(path.dropFirst("Sources/".count))
                }
                continue
            }
            let folder = rest.firstMatch(of: #/folder:\s*"(?<folder>\w+)"/#)?.output.folder
            rooms[String(match.output.name)] = String(folder ?? match.output.name)
        }
        return rooms
    }

    /// What the manifest lets each of its targets import.
    static func dependencies() throws -> [String: Set<String>] { dependencies(in: try manifest()) }

    static func dependencies(in manifest: String) -> [String: Set<String>] {
        var dependencies: [String: Set<String>] = [:]
        for match in declarations(of: manifest) {
            let list = match.output.rest.firstMatch(of: #/^\s*,\s*(?:dependencies:\s*)?\[(?<list>[^\]]*)\]/#)?.output
                .list
            let names = (list ?? "").matches(of: #/"(?<name>\w+)"/#).map { String($0.output.name) }
            dependencies[String(match.output.name)] = Set(names)
        }
        return dependencies
    }

    static func files(in room: String) throws -> [URL] {
        let folder = root.appendingPathComponent(try rooms()[room] ?? room)
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        return paths.filter { $0.hasSuffix(".swift") }.sorted().map(folder.appendingPathComponent)
    }

    static func lines(of file: URL) throws -> [(Int, Substring)] {
        let text = try String(contentsOf: file, encoding: .utf8)
        return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            .map { ($0.offset + 1, $0.element) }
            .filter { !$0.1.drop(while: \.isWhitespace).hasPrefix("//") }
    }

    static func imports(of file: URL) throws -> Set<String> {
        Set(
            try lines(of: file).compactMap { _, line in
                let words = line.split(separator: " ")
                guard let index = words.firstIndex(of: "import"), index + 1 < words.count, index <= 1 else {
                    return nil
                }
                return String(words[index + 1])
            })
    }
}
