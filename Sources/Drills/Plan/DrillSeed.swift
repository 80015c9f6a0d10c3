/// Where the chance of a drill begins.
package enum DrillSeed {
    /// For a drill that was given none; short enough to be typed again.
    package static var fresh: UInt64 { UInt64.random(in: 0...UInt64(UInt32.max)) }
}
