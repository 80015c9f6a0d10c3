import CommandInterface
import DaemonControl

/// What somebody sees who watches a key: its locks, one on a line.
///
/// - In: the events of the request `watch`, and how wide and high the terminal is.
/// - Out: lines, or, where there is no terminal, one line for a change.
/// - Owner: ``WatchCommand``.
struct WatchView {
    /// One lock as an event tells it.
    fileprivate struct Lock {
        var name: String
        var link: String
        var dBm: Int64?
        var bolt: String?
        var door: String?
        var asked: String?
        var note: String?
        /// Its place among the preferred locks, from 1.
        var preference: Int64?
        /// What the lock has said last of a command, and when.
        var receipt: (text: String, time: String)?

        /// Whoever answers there may be anybody.
        var isUnproven: Bool { link == "unproven" }
    }

    /// A column of the table.
    private struct Column {
        let title: String
        let width: Int
    }

    /// The least width of the lock's name; what a terminal has beyond 80 is its, as far as it is that long, and then the note's.
    private static let nameWidth = 17
    private static let widestName = 40
    /// A column of notes that is narrower says nothing.
    private static let noteWidthMinimum = 12
    /// Before the names, where any lock is preferred.
    private static let (starred, unstarred) = ("* ", "  ")
    private static let columns = [
        Column(title: "Link", width: 9), Column(title: "Signal", width: 14), Column(title: "Bolt", width: 9),
        Column(title: "Door", width: 7), Column(title: "Last receipt", width: 19),
    ]
    private static let columnsWidth = columns.reduce(0) { $0 + $1.width + 1 }

    private let isColoured: Bool
    private var radio = "unknown"
    private var locks: [String: Lock] = [:]

    init(isColoured: Bool) { self.isColoured = isColoured }

    /// What the event says, as one line; nil for one that says nothing new. `time`: of the day, so many milliseconds ago.
    mutating func take(_ event: String, _ fields: JSONObject, time: (UInt64) -> String) -> String? {
        switch event {
        case "watching", "radio":
            radio = fields["radio"]?.string ?? radio
            return "\(time(0)) radio \(radio)"
        case "lock":
            guard let id = fields["id"]?.string else { return nil }
            let lock = Lock(fields, time: time)
            locks[id] = lock
            return "\(time(0)) \(lock.line)"
        case "gone":
            guard let lock = fields["id"]?.string.flatMap({ locks.removeValue(forKey: $0) }) else { return nil }
            return "\(time(0)) \(lock.name): forgotten"
        default: return nil
        }
    }

    /// The whole picture: no more lines than `rows`, each of no more than `columns` characters.
    func lines(columns: Int, rows: Int) -> [String] {
        let sorted = locks.sorted {
            ($0.value.place, $0.value.name, $0.key) < ($1.value.place, $1.value.name, $1.key)
        }.map(\.value)
        let hasPreferred = sorted.contains { $0.preference != nil }
        let longest = (sorted.map(\.name.count).max() ?? 0) + (hasPreferred ? Self.starred.count : 0)
        let nameWidth = min(
            max(columns - Self.columnsWidth, Self.nameWidth), max(longest, Self.nameWidth), Self.widestName)
        let widths = Self.widths(
            nameWidth, note: columns - Self.columnsWidth - nameWidth - 1, hasNotes: sorted.contains { $0.note != nil })
        let count = locks.count == 1 ? "1 lock" : "\(locks.count) locks"
        var footer: [String] = []
        if sorted.contains(where: \.isUnproven) { footer.append("? nothing has shown yet that this is the lock") }
        if hasPreferred { footer.append(Self.starred + "preferred, in this order") }
        if !footer.isEmpty { footer = [""] + footer.map { Self.cut($0, columns) } }
        let titles = ["Lock"] + Self.columns.map(\.title) + ["Note"]
        let head = [
            Self.cut("Latch: \(count), radio \(radio). Ctrl-C ends.", columns), "",
            Self.cut(Self.row(titles, widths).joined(separator: " "), columns),
        ]
        let room = max(rows - head.count - footer.count, 0)
        func mark(_ lock: Lock) -> String {
            hasPreferred ? lock.preference == nil ? Self.unstarred : Self.starred : ""
        }
        var body = sorted.prefix(room).map { line(of: $0, mark: mark($0), widths, columns) }
        if sorted.count > room, room > 0 {
            body[room - 1] = Self.cut("and \(sorted.count - room + 1) more, for which there is no room", columns)
        }
        return Array((head + body + footer).prefix(max(rows, 0)))
    }

    private func line(of lock: Lock, mark: String, _ widths: [Int], _ columns: Int) -> String {
        let receipt =
            lock.asked.map { "\($0) is asked" } ?? lock.receipt.map { "\($0.time.prefix(5)) \($0.text)" } ?? "-"
        let cells = [
            mark + lock.name, lock.link, lock.signal ?? "-", lock.bolt ?? "-", lock.door ?? "-", receipt,
            lock.note ?? "",
        ]
        let colours = [nil, lock.linkColour, nil, lock.boltColour, lock.doorColour, nil, nil]
        var line = ""
        var left = columns
        for (cell, colour) in zip(Self.row(cells, widths), colours) where left > 0 {
            let text = String(((left == columns ? "" : " ") + cell).prefix(left))
            left -= text.count
            line += isColoured ? colour.map { "\u{1B}[\($0)m\(text)\u{1B}[0m" } ?? text : text
        }
        return line
    }

    /// Of each column of the table; the last, of notes, is there where it is of use.
    private static func widths(_ nameWidth: Int, note: Int, hasNotes: Bool) -> [Int] {
        [nameWidth] + columns.map(\.width) + (hasNotes && note >= noteWidthMinimum ? [note] : [])
    }

    private static func row(_ cells: [String], _ widths: [Int]) -> [String] {
        zip(cells, widths).map { text, width in
            let cut = cut(text, width)
            return cut + String(repeating: " ", count: width - cut.count)
        }
    }

    /// As much as there is room for, with a sign that it goes on.
    private static func cut(_ text: String, _ width: Int) -> String {
        text.count <= width ? text : width > 1 ? text.prefix(width - 1) + "~" : String(text.prefix(max(width, 0)))
    }
}

extension WatchView.Lock {
    fileprivate init(_ fields: JSONObject, time: (UInt64) -> String) {
        func text(_ name: String) -> String? { fields[name]?.string.map { Output.shown($0) } }
        name = text("name") ?? "?"
        link = text("link") ?? "?"
        dBm = fields["signal_dbm"]?.number
        (bolt, door, asked) = (text("bolt"), text("door"), text("asked"))
        note = text("note")
        preference = fields["preference"]?.number
        if let operation = text("operation"), let result = text("result") {
            receipt = ("\(operation) \(result)", time(UInt64(clamping: fields["receipt_age_ms"]?.number ?? 0)))
        }
    }

    /// Those that are not preferred come behind all others.
    fileprivate var place: Int64 { preference ?? .max }

    /// For instance `-61 dBm ##..`; with a question mark from whoever answers there.
    fileprivate var signal: String? {
        guard let dBm else { return nil }
        let bars = min(max((dBm + 100) / 12, 0), 4)
        return "\(dBm) dBm " + String(repeating: "#", count: Int(bars)) + String(repeating: ".", count: 4 - Int(bars))
            + (isUnproven ? " ?" : "")
    }

    fileprivate var line: String {
        var parts = ["link \(link)"]
        if let dBm { parts.append("signal \(dBm) dBm" + (isUnproven ? ", of whoever answers there" : "")) }
        if let bolt { parts.append("bolt \(bolt)") }
        if let door { parts.append("door \(door)") }
        if let asked { parts.append("\(asked) is asked") }
        if let receipt { parts.append("last receipt \(receipt.text) at \(receipt.time)") }
        if let preference { parts.append("preference \(preference)") }
        if let note { parts.append("note: \(note)") }
        return "\(name): " + parts.joined(separator: ", ")
    }

    private static let (attention, alarm) = (33, 31)

    fileprivate var linkColour: Int? { isUnproven ? Self.attention : nil }
    fileprivate var boltColour: Int? {
        switch bolt {
        case "unlocked", "unlatched", "unlocking": Self.attention
        case "jammed": Self.alarm
        default: nil
        }
    }
    fileprivate var doorColour: Int? {
        switch door {
        case "open", "ajar": Self.attention
        case "forced": Self.alarm
        default: nil
        }
    }
}
