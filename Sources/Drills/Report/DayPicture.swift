import BluetoothCore

/// Strike, bolt and door over a day, as inline SVG. Whatever is drawn says on pointing at it what it is.
struct DayPicture {
    let day: DayReport

    private struct Lane {
        let name: String
        /// The door's words for high, and for low.
        let high: String
        let low: String
    }

    private static let lanes = [
        Lane(name: "strike", high: "strike released", low: "strike at rest"),
        Lane(name: "bolt", high: "bolt unlocked", low: "bolt locked"),
        Lane(name: "door", high: "door open", low: "door closed"),
    ]
    private static let (left, width, top, laneHeight) = (72, 1_000, 44, 40)
    private var height: Int { Self.top + (Self.lanes.count + 1) * Self.laneHeight }

    /// In tenths of a pixel, since there is no Foundation to write fractions.
    private func x(_ at: UInt64) -> String {
        let span = max(day.ended - day.began, 1)
        let tenths =
            (max(at, day.began) - day.began) / 1_000 * UInt64((Self.width - Self.left) * 10) / max(span / 1_000, 1)
        return "\(UInt64(Self.left) + tenths / 10).\(tenths % 10)"
    }

    private func title(_ text: String, _ at: UInt64) -> String {
        "<title>\(XMLText.escaped("\(HTMLReport.seconds(max(at, day.began) - day.began)) s: \(text)"))</title>"
    }

    var text: String {
        """
        <div class="wide">
        <svg xmlns="http://www.w3.org/2000/svg" role="img" width="\(Self.width + 12)" height="\(height)" \
        viewBox="0 0 \(Self.width + 12) \(height)" aria-label="Strike, bolt and door over the day">
        \(scenes)
        \(Self.lanes.enumerated().map { level($1, y: y($0)) }.joined(separator: "\n"))
        \(marks)
        </svg>
        </div>
        """
    }

    private func y(_ lane: Int) -> Int { Self.top + lane * Self.laneHeight + Self.laneHeight / 2 }

    private var scenes: String {
        day.scenes.enumerated().map { index, scene in
            let x = x(scene.at)
            return "<g><line class=\"grid\" x1=\"\(x)\" x2=\"\(x)\" y1=\"24\" y2=\"\(height - 8)\"/>"
                + "<text x=\"\(x)\" y=\"18\">\(index + 1)</text>\(title(scene.title, scene.at))</g>"
        }.joined(separator: "\n")
    }

    private func level(_ lane: Lane, y: Int) -> String {
        var path = "M\(x(day.began)) \(y + 8)"
        var level = y + 8
        var marks = ""
        for moment in day.scenes.flatMap(\.moments) {
            guard case .door(let word) = moment.event, word == lane.high || word == lane.low else { continue }
            let next = word == lane.high ? y - 8 : y + 8
            path += " L\(x(moment.at)) \(level) L\(x(moment.at)) \(next)"
            level = next
            marks +=
                "<circle cx=\"\(x(moment.at))\" cy=\"\(next)\" r=\"2.5\" class=\"bolt\">\(title(word, moment.at))</circle>"
        }
        return "<text x=\"8\" y=\"\(y + 4)\">\(lane.name)</text>"
            + "<path class=\"bolt\" d=\"\(path) L\(x(day.ended)) \(level)\"/>" + marks
    }

    /// Commands, what hands did, and what was broken.
    private var marks: String {
        let y = y(Self.lanes.count)
        let shapes = day.scenes.flatMap(\.moments).compactMap { moment -> String? in
            switch moment.event {
            case .command(let words, _, let status):
                return
                    "<circle class=\"\(status == 0 ? "command" : "refused")\" cx=\"\(x(moment.at))\" cy=\"\(y)\" r=\"4\">"
                    + title("\(words): status \(status)", moment.at) + "</circle>"
            case .act(let text):
                return "<rect class=\"restore\" x=\"\(x(moment.at))\" y=\"\(y - 12)\" width=\"3\" height=\"24\">"
                    + title(text, moment.at) + "</rect>"
            case .promise(let text, false):
                return
                    "<path class=\"kill\" transform=\"translate(\(x(moment.at)) \(y))\" d=\"M-5 -5 L5 5 M5 -5 L-5 5\">"
                    + title("broken: \(text)", moment.at) + "</path>"
            case .promise(_, true), .door: return nil
            }
        }
        return "<text x=\"8\" y=\"\(y + 4)\">hands</text>" + shapes.joined(separator: "\n")
    }
}
