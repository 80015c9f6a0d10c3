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

/// Lines that were requested together. They are given back with it; what becomes of an output's level then is the driver's affair.
package final class GPIOLines {
    /// Readable when an edge has been seen, and when the chip is gone.
    package let descriptor: Int32
    private let offsets: [UInt32]
    private let label: String

    init(_ descriptor: Int32, _ offsets: [UInt32], of label: String) {
        self.descriptor = descriptor
        self.offsets = offsets
        self.label = label
        _ = latch_fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { close(descriptor) }

    /// Whether each line is active, as the chip reads it now: of an output too, which a driver may have set in vain.
    ///
    /// - Throws: ``GPIOFailure``: ENODEV where the chip is gone.
    package func levels() throws(GPIOFailure) -> [Bool] {
        var bits: UInt64 = 0
        guard latch_gpio_get(descriptor, UInt32(offsets.count), &bits) == 0 else {
            throw GPIOFailure("reading from chip \"\(label)\"", errno)
        }
        return offsets.indices.map { bits >> UInt64($0) & 1 == 1 }
    }

    /// - Throws: ``GPIOFailure``. That it throws nothing does not say that the line has moved: ``levels()`` does.
    package func set(_ levels: [Bool]) throws(GPIOFailure) {
        let bits = levels.enumerated().reduce(into: UInt64(0)) { $0 |= $1.element ? 1 << UInt64($1.offset) : 0 }
        guard latch_gpio_set(descriptor, UInt32(offsets.count), bits) == 0 else {
            throw GPIOFailure("setting a line of chip \"\(label)\"", errno)
        }
    }

    /// Takes the edges that have been seen since the last time: at which of the lines there was one.
    ///
    /// - Throws: ``GPIOFailure``: ENODEV where the chip is gone.
    package func takeEdges() throws(GPIOFailure) -> [Bool] {
        var moved = [Bool](repeating: false, count: offsets.count)
        var seen = [UInt32](repeating: 0, count: 16)
        while true {
            let count = latch_gpio_edges_seen(descriptor, &seen)
            guard count > 0 else {
                if count == 0 || errno == EAGAIN { return moved }
                throw GPIOFailure("edges of chip \"\(label)\"", errno)
            }
            for offset in seen.prefix(Int(count)) {
                if let index = offsets.firstIndex(of: offset) { moved[index] = true }
            }
        }
    }
}
