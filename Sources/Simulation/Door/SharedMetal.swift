import StrikeControl
import StrikeKeeping

/// The metal of one door, for all who have a hand in it: its chip, and whoever stands before it. Confined to one thread.
package final class SharedMetal {
    package private(set) var metal: StrikeMetal
    /// Hears what becomes of it, and owes it ``StrikeMetal/Event/arrives``.
    package var watch: (StrikeMetal.Output) -> Void = { _ in }

    package init(_ rules: StrikeRules) { metal = StrikeMetal(rules) }

    package func handle(_ event: StrikeMetal.Event) {
        var outputs: [StrikeMetal.Output] = []
        metal.handle(event, into: &outputs)
        for output in outputs { watch(output) }
    }

    func takeReading(of use: InputUse) -> LineReading { metal.takeReading(of: use) }
}
