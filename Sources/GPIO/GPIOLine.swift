import CGPIO
import CLinux
import Glibc

/// What a line is requested as.
package struct LineSetting: Hashable, Sendable {
    package enum Use: Hashable, Sendable {
        /// With its level from the request on.
        case output(isActive: Bool)
        /// Watched for both edges.
        case input
    }

    package enum Bias: String, CaseIterable, Sendable { case none, up, down }

    package var line: LineName
    package var use: Use
    /// Whether the low level is the active one.
    package var isActiveLow: Bool
    package var bias: Bias

    package init(_ line: LineName, _ use: Use, isActiveLow: Bool = false, bias: Bias = .none) {
        self.line = line
        self.use = use
        self.isActiveLow = isActiveLow
        self.bias = bias
    }

    var flags: UInt64 {
        var flags: UInt64 = isActiveLow ? latch_gpio_active_low : 0
        switch use {
        case .output: flags |= latch_gpio_output
        case .input: flags |= latch_gpio_input | latch_gpio_edges
        }
        switch bias {
        case .none: break
        case .up: flags |= latch_gpio_pull_up
        case .down: flags |= latch_gpio_pull_down
        }
        return flags
    }
}

/// A line that was requested. It is given back with this; what becomes of an output's level then is the driver's affair.
package final class GPIOLine {
    /// Readable when an edge has been seen, and when the chip is gone.
    package let descriptor: Int32
    private let name: String

    init(_ descriptor: Int32, _ name: String) {
        self.descriptor = descriptor
        self.name = name
        _ = latch_fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { close(descriptor) }

    /// As the chip reads it now: of an output too, which a driver may have set in vain.
    ///
    /// - Throws: ``GPIOFailure``: ENODEV where the chip is gone.
    package func isActive() throws(GPIOFailure) -> Bool {
        let value = latch_gpio_get(descriptor)
        guard value >= 0 else { throw GPIOFailure("reading \(name)", errno) }
        return value == 1
    }

    /// - Throws: ``GPIOFailure``. That it throws nothing does not say that the line has moved: ``isActive()`` does.
    package func set(isActive: Bool) throws(GPIOFailure) {
        guard latch_gpio_set(descriptor, isActive ? 1 : 0) == 0 else { throw GPIOFailure("setting \(name)", errno) }
    }

    /// Takes the edges that have been seen since the last time, and says whether there were any.
    ///
    /// - Throws: ``GPIOFailure``: ENODEV where the chip is gone.
    package func takeEdges() throws(GPIOFailure) -> Bool {
        var hasMoved = false
        while true {
            let count = latch_gpio_take_edges(descriptor)
            guard count > 0 else {
                if count == 0 || errno == EAGAIN { return hasMoved }
                throw GPIOFailure("edges of \(name)", errno)
            }
            hasMoved = true
        }
    }
}
