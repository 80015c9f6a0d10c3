import BluetoothCore
import LockCentral

/// A walk as SVG: raw readings as points, the filtered signal as a line, the thresholds that counted and those that are proposed, where
/// its user stood, and what the key's machine finds by each. Pure text, without scripts or references.
package struct WalkPicture: Sendable {
    private static let (width, height) = (960.0, 420.0)
    private static let (left, right, top, bottom) = (56.0, 150.0, 48.0, 56.0)
    private static let dBm = -100.0...(-30.0)
    private static let tickSeconds: UInt64 = 5
    private static let ticksMost: UInt64 = 14

    private let trace: WalkTrace
    private let span: UInt64

    package init(_ trace: WalkTrace) {
        self.trace = trace
        span = max(trace.readings.last?.milliseconds ?? 0, 1_000)
    }

    /// `present`: what counts until now. `proposed`: nil where the walk proposes nothing. `title`: plain text.
    package func svg(title: String, present: ProximityRules, proposed: ProximityThresholds?) -> String {
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(number(Self.width)) \(number(Self.height))\""
                + " font-family=\"system-ui, sans-serif\" font-size=\"12\" role=\"img\">",
            // A lock is called as a peer says.
            "<title>\(XMLText.escaped(title))</title>",
            "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>",
            text(Self.left, 24, XMLText.escaped(title), "#202020", size: 15),
        ]
        lines += stands() + axes()
        lines += threshold(present.nearDBm, "near until now", "#8a8a8a", dashed: true)
        lines += threshold(present.awayDBm, "away until now", "#8a8a8a", dashed: true)
        if let proposed {
            lines += threshold(proposed.nearDBm, "near, proposed", "#1b7f3b", dashed: false)
            lines += threshold(proposed.awayDBm, "away, proposed", "#b3491f", dashed: false)
        }
        lines += trace.readings.map { reading in
            "<circle cx=\"\(number(x(reading.milliseconds)))\" cy=\"\(number(y(Double(reading.rssi))))\" r=\"1.6\" fill=\"#9db4d6\"/>"
        }
        let curve = trace.readings.map { "\(number(x($0.milliseconds))),\(number(y($0.level)))" }.joined(separator: " ")
        lines.append("<polyline points=\"\(curve)\" fill=\"none\" stroke=\"#1f4e9c\" stroke-width=\"2\"/>")
        lines += decisions(present.with(proposed))
        return (lines + ["</svg>"]).joined(separator: "\n") + "\n"
    }

    private func stands() -> [String] {
        trace.stands.flatMap { stand in
            let (begin, end) = (x(stand.begin), x(min(stand.end ?? span, span)))
            return [
                "<rect x=\"\(number(begin))\" y=\"\(number(Self.top))\" width=\"\(number(max(end - begin, 0)))\" height=\""
                    + "\(number(Self.height - Self.top - Self.bottom))\" fill=\""
                    + (stand.place == .near ? "#e6f4ea" : "#fbeee6") + "\"/>",
                text(begin, Self.top - 6, stand.place == .near ? "stood near" : "stood away", "#505050"),
            ]
        }
    }

    private func axes() -> [String] {
        var lines: [String] = []
        for dBm in stride(from: Self.dBm.lowerBound, through: Self.dBm.upperBound, by: 10) {
            lines += [across(y(dBm), "stroke=\"#ececec\""), text(Self.left - 34, y(dBm) + 4, "\(Int(dBm))", "#505050")]
        }
        let fives = span / 1_000 / Self.ticksMost / Self.tickSeconds + 1
        for second in stride(from: 0, through: span / 1_000, by: UInt64.Stride(fives * Self.tickSeconds)) {
            lines.append(text(x(second * 1_000), Self.height - Self.bottom + 18, "\(second) s", "#505050"))
        }
        return lines
    }

    private func threshold(_ dBm: Int8, _ name: String, _ colour: String, dashed: Bool) -> [String] {
        let stroke = "stroke=\"\(colour)\" stroke-width=\"1.5\"" + (dashed ? " stroke-dasharray=\"5 4\"" : "")
        // On either side, so that none stands on another that is nearly the same.
        let label =
            dashed
            ? text(Self.left + 4, y(Double(dBm)) - 4, "\(dBm) \(name)", colour)
            : text(Self.width - Self.right + 6, y(Double(dBm)) + 4, "\(dBm) \(name)", colour)
        return [across(y(Double(dBm)), stroke), label]
    }

    private func decisions(_ rules: ProximityRules) -> [String] {
        trace.decisions(by: rules).flatMap { decision in
            let at = x(decision.milliseconds)
            let name = decision.proximity == .near ? "found near" : "found away"
            return [
                "<line x1=\"\(number(at))\" x2=\"\(number(at))\" y1=\"\(number(Self.top))\" y2=\""
                    + "\(number(Self.height - Self.bottom))\" stroke=\"#7a3fa0\" stroke-width=\"1.5\"/>",
                text(at + 4, Self.height - Self.bottom - 6, name, "#7a3fa0"),
            ]
        }
    }

    private func across(_ y: Double, _ stroke: String) -> String {
        "<line x1=\"\(number(Self.left))\" x2=\"\(number(Self.width - Self.right))\" y1=\"\(number(y))\" y2=\"\(number(y))\""
            + " \(stroke)/>"
    }

    private func text(_ x: Double, _ y: Double, _ text: String, _ colour: String, size: Int = 12) -> String {
        "<text x=\"\(number(x))\" y=\"\(number(y))\" fill=\"\(colour)\" font-size=\"\(size)\">\(text)</text>"
    }

    private func x(_ milliseconds: UInt64) -> Double {
        Self.left + Double(milliseconds) / Double(span) * (Self.width - Self.left - Self.right)
    }

    private func y(_ dBm: Double) -> Double {
        let part = Self.dBm.upperBound - min(max(dBm, Self.dBm.lowerBound), Self.dBm.upperBound)
        let whole = Self.dBm.upperBound - Self.dBm.lowerBound
        return Self.top + part / whole * (Self.height - Self.top - Self.bottom)
    }

    /// To a tenth.
    private func number(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
