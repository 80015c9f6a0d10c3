#if LATCH_PLANTS
/// A fault put into the product on purpose, so that `latch-lab drill processes --plant` can show that the drill finds
/// it. Compiled only with `-Xswiftc -DLATCH_PLANTS`: no program that anybody runs has these.
package enum Plant: String, CaseIterable, Sendable {
    /// The outcome of a command that a kill interrupted is not written at the next launch.
    case lost
    /// An intent is carried out again at the next launch although it was carried out.
    case duplicate
    /// An opening is completed at the next launch however late it is.
    case late
    /// Neither the counter nor the challenge of a command is looked at.
    case replay
    /// A client's subscriptions are not written down.
    case subscription

    /// Set once, before anything else runs.
    nonisolated(unsafe) package static var active: Plant?
}
#endif
