import Glibc

/// What the figures were taken on.
struct Machine {
    let load: Double
    let processor: String
    let kernel: String

    init() {
        var loads = [0.0]
        load = getloadavg(&loads, 1) == 1 ? loads[0] : 0
        processor = Self.field("model name", in: "/proc/cpuinfo") ?? "unknown processor"
        kernel =
            (try? String(decoding: contents("/proc/sys/kernel/osrelease"), as: UTF8.self))
            .map { String($0.split(separator: "\n").first ?? "") } ?? ""
    }

    private static func field(_ name: String, in path: String) -> String? {
        guard let text = try? String(decoding: contents(path), as: UTF8.self) else { return nil }
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.split(separator: ":").last.map { String($0.drop { $0 == " " }) }
    }
}

/// The table as people and programs read it.
enum TableText {
    static func table(_ rows: [TableRow], _ machine: Machine, rounds: Int) -> String {
        var lines = [
            "\(machine.processor), Linux \(machine.kernel), load \(text(machine.load, 2)); \(rounds) rounds",
            "20-octet values. Medians over the rounds, with the least and the greatest of them. Everything is pinned: a",
            "radio shares one CPU with both hosts, or has one of its own where it is called apart.",
            "",
            row(["radio", "level", "operation", "p50 µs", "p99 µs", "per second", "p50 / floor"]),
        ]
        for each in rows {
            lines.append(
                row([
                    each.setting.name, each.level.rawValue,
                    each.level == .bare ? "ACL, there and back" : each.operation,
                    each.hasLatency ? spread(each.p50, 1) : "", each.hasLatency ? text(median(each.p99), 1) : "",
                    spread(each.perSecond, 0),
                    each.hasFloor ? each.level == .bare ? "floor" : spread(each.ratio, 2) : "",
                ]))
        }
        return lines.joined(separator: "\n")
    }

    static func json(_ rows: [TableRow], _ machine: Machine, rounds: Int) -> String {
        let body = rows.map { each in
            let figures = [("p50_us", each.p50), ("p99_us", each.p99), ("per_second", each.perSecond)]
            let lists = (figures + [("p50_to_floor", each.ratio)]).map { name, values in
                "\"\(name)\": [" + values.map { text($0, 2) }.joined(separator: ", ") + "]"
            }
            let (radio, placement) = (each.setting.radio, each.setting.placement)
            let names = [("radio", radio.rawValue), ("level", each.level.rawValue), ("operation", each.operation)]
            let places = ["\"radio_cpu\": \(placement.radioCPU)", "\"host_cpu\": \(placement.hostCPU)"]
            return "    {" + (names.map { "\"\($0)\": \"\($1)\"" } + places + lists).joined(separator: ", ") + "}"
        }
        return """
            {
              "processor": "\(machine.processor)", "kernel": "\(machine.kernel)", "load": \(text(machine.load, 2)),
              "rounds": \(rounds),
              "rows": [
            \(body.joined(separator: ",\n"))
              ]
            }
            """
    }

    private static let widths = [16, 15, 21, 24, 9, 26, 20]

    private static func row(_ cells: [String]) -> String {
        zip(cells, widths).map { cell, width in cell + String(repeating: " ", count: max(1, width - cell.count)) }
            .joined()
    }

    private static func spread(_ values: [Double], _ digits: Int) -> String {
        guard let least = values.min(), let greatest = values.max() else { return "" }
        return "\(text(median(values), digits)) (\(text(least, digits))–\(text(greatest, digits)))"
    }

    private static func median(_ values: [Double]) -> Double { Sample(values).percentile(50) }

    private static func text(_ value: Double, _ digits: Int) -> String {
        digits == 0 ? String(Int(value.rounded())) : Sample.text(value, digits: digits)
    }
}
