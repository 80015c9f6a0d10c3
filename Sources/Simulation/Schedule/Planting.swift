import BluetoothCore

extension Simulation {
    /// Puts a fault into both products, for the whole process.
    ///
    /// - Throws: ``SimulationFailure/cannotPlant(_:)`` where this build has no such fault.
    package static func plant(_ name: String) throws {
        #if LATCH_PLANTS
        guard let plant = Plant(rawValue: name) else {
            let known = Plant.allCases.map(\.rawValue).joined(separator: ", ")
            throw SimulationFailure.cannotPlant("no fault is called \"\(name)\": there are \(known)")
        }
        Plant.active = plant
        #else
        throw SimulationFailure.cannotPlant(
            "this build cannot break itself on purpose: make one that can with `swift build -Xswiftc -DLATCH_PLANTS "
                + "--scratch-path .build/plants`")
        #endif
    }
}
