/// The way in from the command line: `latch drill ARGUMENTS…`.
package enum DrillCommand {
    /// Returns the exit status.
    package static func run(_ arguments: [String]) -> Int32 { 1 }
}
