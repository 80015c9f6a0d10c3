// swift-tools-version: 6.2
import PackageDescription

// One package, so that rooms share `package` symbols and only users of the library meet `public` ones.
// docs/ARCHITECTURE.md draws the arrows; Tests/ArchitectureTests holds this file to them.

let swift: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableExperimentalFeature("Lifetimes"),
    .enableUpcomingFeature("ExistentialAny"),
    // The members of libc's structures are CLinux's or Glibc's, by whose headers a job of the compiler read first: a file that
    // uses them where CLinux can be had imports both.
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// An app's: what a new package has.
let app: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]

/// What a launch does not have to do, it does not wait for: the executable's own pointers are relocated from a packed table
/// (glibc 2.36), no name of its own is looked up in it, and the Swift runtime's part of the C++ library comes with it instead of
/// the whole with its own relocations. Of the linkers lld, which every Swift toolchain has, does all of this. A release's alone,
/// and the executable's alone: flags like these are not for packages that depend on the library.
let launch: [LinkerSetting] = [
    .unsafeFlags(
        [
            "-use-ld=lld", "-L\(Context.packageDirectory)/config/linker", "-Xclang-linker", "-static-libgcc",
            "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs", "-Xlinker", "--no-export-dynamic",
        ], .when(platforms: [.linux], configuration: .release))
]

/// `folder`: under Sources, if it has another name than the module.
func room(_ name: String, _ dependencies: [Target.Dependency] = [], folder: String? = nil) -> Target {
    .target(name: name, dependencies: dependencies, path: folder.map { "Sources/\($0)" }, swiftSettings: swift)
}

func tests(_ room: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: "\(room)Tests", dependencies: [.byName(name: room)] + dependencies, path: "Tests/\(room)Tests",
        swiftSettings: swift)
}

/// Apps of nobody's: neither the package's symbols nor its settings.
func apps(_ name: String, in folder: String, _ mode: SwiftLanguageMode) -> Target {
    .testTarget(
        name: name, dependencies: ["CoreBluetooth"], path: "Tests/SourceCompatibility/\(folder)", packageAccess: false,
        swiftSettings: [.swiftLanguageMode(mode)])
}

/// An app that knows nothing but Apple's API. `rules`: what it promises to the drill of apps.
func example(_ name: String, _ dependencies: [Target.Dependency] = [], rules: String? = nil) -> Target {
    .executableTarget(
        name: name, dependencies: ["CoreBluetooth"] + dependencies, path: "Examples/\(name)",
        exclude: rules.map { [$0] } ?? [], swiftSettings: swift)
}

let package = Package(
    name: "latch",
    products: [
        .library(name: "CoreBluetooth", targets: ["CoreBluetooth"]),
        .executable(name: "latch", targets: ["latch"]),
        .executable(name: "latch-strike", targets: ["LatchStrike"]),
        .executable(name: "latch-oob", targets: ["LatchOOB"]),
        .executable(name: "latch-lab", targets: ["LatchLab"]),
    ],
    targets: [
        // System libraries and the calls that Glibc's module does not export.
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "COpenSSL", linkerSettings: [.linkedLibrary("crypto")]),
        .target(name: "CRadioCrypto", linkerSettings: [.linkedLibrary("crypto")]),
        .systemLibrary(name: "CBlueZ", providers: [.apt(["libbluetooth-dev"])]),
        .target(name: "CQRencode"),
        .target(name: "CSystemBus"),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CGPIO"),

        // The host stack, bottom to top. Pure: no Foundation, clock, random source or I/O.
        room("BluetoothCore"),
        room("BluetoothCrypto", ["BluetoothCore", "COpenSSL"], folder: "Crypto"),
        room("HCI", ["BluetoothCore"]),
        room("L2CAP", ["BluetoothCore"]),
        room("ATT", ["BluetoothCore"]),
        room("GATT", ["ATT", "BluetoothCore", "BluetoothCrypto"]),
        room("SecurityManager", ["BluetoothCore", "BluetoothCrypto"]),
        // The same adapter's central role beside everybody else's, as bluetoothd gives it. Pure too.
        room("DBus"),
        room("SetupCodeGiving", ["BluetoothCore"]),
        room("BlueZ", ["ATT", "BluetoothCore", "DBus", "GATT"]),
        // Who sits at a laptop, as logind and the desktop's notifications know them. Pure too.
        room("Desktop", ["BluetoothCore", "DBus"]),
        room(
            "BluetoothHost",
            [
                "ATT", "BlueZ", "BluetoothCore", "BluetoothCrypto", "DBus", "GATT", "HCI", "L2CAP", "SecurityManager",
            ]),

        // Apple's API over the host.
        room(
            "CoreBluetoothEssentials",
            ["ATT", "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "GATT", "HCI", "SecurityManager"]),
        room(
            "CoreBluetooth",
            [
                "BluetoothCore", "BluetoothHost", "CoreBluetoothEssentials", "HCITransport", "HostComposition",
                "SecurityManager", "StatePersistence",
            ]),

        // A strike on a line of a GPIO chip, and the small program that keeps it.
        room("GPIO", ["BluetoothCore", "CGPIO", "CLinux"]),
        room("StrikeControl", ["BluetoothCore"]),

        // The lock and the key.
        room("LockProtocol", ["BluetoothCore", "BluetoothCrypto"]),
        room(
            "LockPeripheral",
            [
                "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CLinux", "CoreBluetoothEssentials", "GATT", "HCI",
                "LockProtocol", "SecurityManager", "StrikeControl",
            ]),
        room(
            "LockCentral",
            [
                "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CoreBluetoothEssentials", "LockProtocol",
                "SecurityManager",
            ]),

        // A walk with the key: its trace, what it proposes for the door, how it is drawn. Pure.
        room("ProximityWalks", ["BluetoothCore", "LockCentral"]),

        // Shells: disk and descriptors.
        room(
            "StatePersistence",
            [
                "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CLinux", "CSQLite", "GATT", "SecurityManager",
            ]),
        room(
            "LockPersistence",
            [
                "BluetoothCore", "LockCentral", "LockPeripheral", "LockProtocol", "StatePersistence",
            ]),
        // Host, loop, controller and store as one: what daemons, apps and the tests' peers stand on.
        room(
            "HostComposition",
            [
                "BlueZ", "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CLinux", "CoreBluetoothEssentials",
                "DBusTransport", "HCITransport", "SecurityManager", "SetupCodeGiving", "StatePersistence",
            ]),
        room(
            "HCITransport", ["BluetoothCore", "BluetoothHost", "CBlueZ", "CLinux", "DBus", "HCI", "SecurityManager"]),
        room("DBusTransport", ["BluetoothCore", "CSystemBus", "DBus", "HCITransport"]),

        // How operators speak to a running daemon.
        room("DaemonControl", ["BluetoothCore", "CLinux"]),

        // A controller that shares nothing with the host.
        room("VirtualRadio", ["CLinux", "CRadioCrypto"]),

        // SQLite on a disk that fails.
        .target(name: "CFaultDisk", dependencies: ["CSQLite"]),
        room("FaultDisk", ["CFaultDisk"]),
        // Both products in one process, on one air and under one clock that nobody waits for.
        room(
            "Simulation",
            [
                "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CoreBluetoothEssentials", "FaultDisk", "HCI",
                "GPIO", "LockCentral", "LockPeripheral", "LockPersistence", "LockProtocol", "SecurityManager",
                "ProximityWalks", "StatePersistence", "StrikeControl", "StrikeKeeping", "VirtualRadio",
            ]),

        .target(name: "CCutDisk", linkerSettings: [.linkedLibrary("fuse3")]),
        room("Drills", ["BluetoothCore", "CCutDisk", "CLinux", "CSQLite", "DaemonControl"]),

        // The programs: what a door or a laptop installs, and what an engineer needs besides.
        room("CommandInterface", ["BluetoothCore", "CLinux", "DaemonControl"]),
        room(
            "StrikeKeeping",
            ["BluetoothCore", "CLinux", "CommandInterface", "DaemonControl", "GPIO", "StrikeControl"]),
        .executableTarget(
            name: "latch",
            dependencies: [
                "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CLinux", "CQRencode", "CommandInterface",
                "CoreBluetoothEssentials", "DBus", "DBusTransport", "DaemonControl", "Desktop", "GATT", "HCI",
                "HCITransport", "HostComposition", "LockCentral", "LockPeripheral", "LockPersistence", "LockProtocol",
                "ProximityWalks", "SecurityManager", "StatePersistence",
            ],
            swiftSettings: swift, linkerSettings: launch),
        .executableTarget(
            name: "LatchStrike", dependencies: ["CommandInterface", "StrikeKeeping"],
            swiftSettings: swift, linkerSettings: launch),
        .executableTarget(
            name: "LatchOOB",
            dependencies: ["CBlueZ", "CLinux", "CSystemBus", "CommandInterface", "SetupCodeGiving"],
            swiftSettings: swift, linkerSettings: launch),
        .executableTarget(
            name: "LatchLab",
            dependencies: [
                "BluetoothCore", "CLinux", "CommandInterface", "DaemonControl", "Drills", "LockCentral",
                "ProximityWalks",
                "Simulation", "StrikeControl", "StrikeKeeping", "VirtualRadio",
            ],
            swiftSettings: swift),
        .target(name: "AllocationCounter", path: "Benchmarks/AllocationCounter"),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "ATT", "AllocationCounter", "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CLinux",
                "CoreBluetoothEssentials", "DaemonControl", "GATT",
                "HCI", "HCITransport", "HostComposition", "LockPeripheral", "LockPersistence", "LockProtocol",
                "SecurityManager", "StatePersistence",
            ],
            path: "Benchmarks", exclude: ["AllocationCounter", "ReturningApp"], swiftSettings: swift),
        // An app that `Benchmarks restored` kills and watches coming back, built as an app is.
        .executableTarget(
            name: "ReturningApp", dependencies: ["CoreBluetooth"], path: "Benchmarks/ReturningApp",
            packageAccess: false,
            swiftSettings: app),
        .target(
            name: "FuzzTargets",
            dependencies: [
                "ATT", "BlueZ", "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "DBus", "DaemonControl", "Drills",
                "GATT", "HCI", "HCITransport", "L2CAP", "LockCentral", "LockPeripheral", "LockProtocol",
                "SecurityManager",
                "StrikeControl", "VirtualRadio",
            ],
            path: "Fuzz/Targets", swiftSettings: swift),

        // Apps that know nothing but Apple's API.
        example("Doorbell", rules: "doorbell.drill"),
        example("Visitor", rules: "visitor.drill"),
        example("HeartRateSensor", rules: "sensor.drill"),
        example("HeartRateMonitor", rules: "monitor.drill"),
        example("Greeter"),
        example("Guest"),
        example("Padlock"),
        example("Phone"),
        // What goes through the channel between the next two.
        .target(name: "Parcel", path: "Examples/Parcel", swiftSettings: swift),
        example("Mailbox", ["Parcel"]),
        example("Courier", ["Parcel"]),

        // What the suites of Tests/Interop drive over JSON.
        .executableTarget(
            name: "InteropPeer",
            dependencies: [
                "ATT", "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CLinux", "CoreBluetoothEssentials",
                "DaemonControl", "GATT", "HCI", "HCITransport", "HostComposition", "SecurityManager",
                "StatePersistence",
            ],
            path: "Tests/Interop/InteropPeer", swiftSettings: swift),

        // An app with a bug, for the drill of apps to find.
        .executableTarget(
            name: "ForgetfulVisitor", dependencies: ["CoreBluetooth"], path: "Tests/ForgetfulVisitor",
            exclude: ["forgetful.drill"], swiftSettings: swift),

        // An app of nobody's, for the comparison of restarts.
        .executableTarget(
            name: "Metronome", dependencies: ["CoreBluetooth"], path: "Tests/Interop/Metronome", swiftSettings: swift),

        // An app that does what it is told, for the restoration matrix.
        .executableTarget(
            name: "MatrixApp", dependencies: ["CoreBluetooth"], path: "Tests/MatrixApp", swiftSettings: swift),

        // What the documentation shows, whole: with an app's settings, and in programs where it runs.
        .target(
            name: "DocumentationSamples", dependencies: ["CoreBluetooth"], path: "Tests/DocumentationSamples/Classes",
            swiftSettings: app),
        .executableTarget(
            name: "FirstSteps", dependencies: ["CoreBluetooth"], path: "Tests/DocumentationSamples/FirstSteps",
            swiftSettings: app),
        .executableTarget(
            name: "Thermostat", dependencies: ["CoreBluetooth"], path: "Tests/DocumentationSamples/Thermostat",
            swiftSettings: app),
        .executableTarget(
            name: "Remote", dependencies: ["CoreBluetooth"], path: "Tests/DocumentationSamples/Remote",
            swiftSettings: app),

        // What several rooms' tests share.
        .target(
            name: "BlueZSupport", dependencies: ["BluetoothCore", "DBus"], path: "Tests/BlueZSupport",
            swiftSettings: swift),
        .target(
            name: "BusSupport", dependencies: ["DBus", "DBusTransport", "HCITransport", "TestSupport"],
            path: "Tests/BusSupport", swiftSettings: swift),
        .target(name: "TestSupport", dependencies: ["CLinux"], path: "Tests/TestSupport", swiftSettings: swift),
        .target(
            name: "StoreTrials", dependencies: ["CLinux", "FaultDisk", "TestSupport"], path: "Tests/StoreTrials",
            swiftSettings: swift),
        .target(
            name: "WorldSupport", dependencies: ["BluetoothHost", "HCI", "HCITransport", "Simulation", "VirtualRadio"],
            path: "Tests/WorldSupport", swiftSettings: swift),
        // What a lock's drills without a radio look at.
        .target(
            name: "LockJudge",
            dependencies: ["BluetoothCore", "BluetoothCrypto", "LockPeripheral", "LockProtocol", "Simulation"],
            path: "Tests/LockJudge", swiftSettings: swift),
        .target(
            name: "MemoryStores",
            dependencies: ["BluetoothCrypto", "BluetoothHost", "LockCentral", "LockPeripheral", "LockProtocol"],
            path: "Tests/MemoryStores", swiftSettings: swift),

        tests("BluetoothCore"),
        tests("BluetoothCrypto", ["BluetoothCore"]),
        tests("HCI", ["BluetoothCore", "TestSupport"]),
        tests("L2CAP", ["BluetoothCore"]),
        tests("ATT", ["BluetoothCore"]),
        tests("GATT", ["ATT", "BluetoothCore", "BluetoothCrypto", "TestSupport"]),
        tests("SecurityManager", ["BluetoothCore", "BluetoothCrypto"]),
        tests("DBus"),
        tests("SetupCodeGiving", ["BluetoothCore"]),
        tests(
            "HostComposition",
            [
                "BluetoothCore", "BluetoothCrypto", "CLinux", "HCITransport", "SecurityManager", "SetupCodeGiving",
                "TestSupport",
            ]),
        tests("Desktop", ["BluetoothCore", "DBus"]),
        tests("BlueZ", ["ATT", "BlueZSupport", "BluetoothCore", "DBus", "GATT"]),
        tests(
            "BluetoothHost",
            [
                "ATT", "BlueZ", "BlueZSupport", "BluetoothCore", "BluetoothCrypto", "DBus", "GATT", "HCI", "L2CAP",
                "SecurityManager", "TestSupport", "Simulation", "VirtualRadio", "WorldSupport",
            ]),
        tests(
            "CoreBluetoothEssentials",
            [
                "ATT", "BlueZ", "BlueZSupport", "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "DBus", "GATT",
                "HCI",
                "L2CAP", "LockCentral", "LockJudge", "LockPeripheral", "LockProtocol", "MemoryStores",
                "SecurityManager", "Simulation", "TestSupport", "VirtualRadio", "WorldSupport",
            ]),
        tests(
            "CoreBluetooth",
            [
                "BluetoothCore", "BluetoothHost", "CLinux", "CoreBluetoothEssentials", "Courier", "Doorbell", "Greeter",
                "Guest", "HCITransport", "HeartRateMonitor", "HeartRateSensor", "HostComposition", "LatchLab",
                "Mailbox", "MatrixApp", "Padlock", "Parcel", "Phone", "Remote", "ReturningApp", "StatePersistence",
                "TestSupport", "Thermostat", "Visitor",
            ]),
        tests("GPIO", ["BluetoothCore", "TestSupport"]),
        tests("StrikeControl", ["BluetoothCore", "TestSupport"]),
        tests(
            "StrikeKeeping",
            ["BluetoothCore", "CLinux", "CommandInterface", "DaemonControl", "GPIO", "StrikeControl", "TestSupport"]),
        tests("LockProtocol", ["BluetoothCore", "BluetoothCrypto", "TestSupport"]),
        tests(
            "LockPeripheral",
            [
                "BluetoothCore", "BluetoothCrypto", "LockJudge", "LockProtocol", "MemoryStores", "SecurityManager",
                "Simulation", "StrikeControl", "TestSupport",
            ]),
        tests("LockCentral", ["BluetoothCore", "BluetoothCrypto", "LockProtocol", "MemoryStores", "SecurityManager"]),
        tests("ProximityWalks", ["LockCentral"]),
        .executableTarget(
            name: "StoreHammer",
            dependencies: [
                "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CLinux", "GATT", "SecurityManager",
                "StatePersistence",
            ],
            path: "Tests/StoreHammer", swiftSettings: swift),
        tests(
            "StatePersistence",
            [
                "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CLinux", "CSQLite", "FaultDisk", "GATT",
                "SecurityManager", "StoreHammer", "StoreTrials", "TestSupport",
            ]),
        tests(
            "LockPersistence",
            [
                "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CSQLite", "FaultDisk", "GATT", "LockCentral",
                "LockJudge", "LockPeripheral", "LockProtocol", "MemoryStores", "SecurityManager", "Simulation",
                "StatePersistence", "StoreTrials", "TestSupport",
            ]),
        tests(
            "HCITransport",
            ["BluetoothCore", "BluetoothCrypto", "BluetoothHost", "CLinux", "HCI", "SecurityManager", "TestSupport"]),
        tests("DBusTransport", ["BusSupport", "CLinux", "DBus", "HCITransport", "TestSupport"]),
        tests("DaemonControl", ["BluetoothCore", "CLinux", "TestSupport"]),
        tests("VirtualRadio", ["Simulation", "TestSupport", "WorldSupport"]),
        tests(
            "Simulation",
            [
                "BluetoothCore", "GPIO", "LockCentral", "LockPeripheral", "LockProtocol", "StrikeControl",
                "StrikeKeeping",
                "ProximityWalks", "TestSupport",
            ]),
        tests("WorldSupport", ["Drills", "Simulation", "TestSupport", "VirtualRadio"]),
        tests(
            "Drills",
            [
                "CSQLite", "DaemonControl", "Doorbell", "ForgetfulVisitor", "HeartRateMonitor", "HeartRateSensor",
                "LatchLab", "TestSupport", "Visitor", "latch",
            ]),
        tests(
            "latch",
            [
                "BluetoothCore", "BluetoothCrypto", "BluetoothHost", "BusSupport", "CLinux", "CSQLite",
                "CommandInterface",
                "DBus", "DBusTransport", "DaemonControl", "Desktop", "GPIO", "HCI", "HCITransport", "HostComposition",
                "LatchLab", "LatchOOB", "LatchStrike", "LockCentral", "LockPeripheral",
                "LockProtocol", "SecurityManager", "SetupCodeGiving", "Simulation", "StatePersistence", "StrikeControl",
                "StrikeKeeping",
                "TestSupport",
            ]),
        .testTarget(
            name: "FuzzReplayTests", dependencies: ["FuzzTargets"], path: "Tests/FuzzReplayTests",
            swiftSettings: swift),
        // Apps as others write them, in both language modes, with nothing of ours but the product. A folder that both have is a
        // link to one.
        apps("SourceCompatibilitySwift5Tests", in: "Swift5", .v5),
        apps("SourceCompatibilitySwift6Tests", in: "Swift6", .v6),
        .testTarget(name: "ArchitectureTests", path: "Tests/ArchitectureTests", swiftSettings: swift),
        .testTarget(name: "ConformanceTests", path: "Tests/ConformanceTests", swiftSettings: swift),
    ]
)

// Its `main` is libFuzzer's driver, which only scripts/fuzz links.
if Context.environment["LATCH_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(name: "Fuzzer", dependencies: ["FuzzTargets"], path: "Fuzz/Main", swiftSettings: swift))
}
