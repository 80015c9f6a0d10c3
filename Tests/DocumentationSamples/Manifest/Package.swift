// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "thermostat",
    dependencies: [.package(path: "../latch")],
    targets: [
        .executableTarget(
            name: "Thermostat",
            dependencies: [.product(name: "CoreBluetooth", package: "latch", condition: .when(platforms: [.linux]))])
    ]
)
