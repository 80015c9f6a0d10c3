import BluetoothCore
import DaemonControl

/// A day in the life of a door, scene by scene: what was typed and answered, what hands did, what the door did, and what was promised.
package struct DayReport: MeasuredReport {
    enum Event: Equatable {
        /// A command as a person types it, and its answer.
        case command(String, answer: [String], status: Int64)
        /// Of somebody at the door, or of a program that was started or ended.
        case act(String)
        /// The door's own word.
        case door(String)
        case promise(String, isHeld: Bool)
    }

    struct Moment: Equatable {
        /// Boot time in nanoseconds.
        let at: UInt64
        let event: Event
    }

    struct Scene {
        let at: UInt64
        let title: String
        let text: String
        var moments: [Moment] = []
    }

    let scenes: [Scene]

    /// - Parameter lines: one for each scene, and behind it one for each thing that happens in it.
    package init(lines: [String]) throws {
        var scenes: [Scene] = []
        var last: UInt64 = 0
        for (index, line) in lines.enumerated() {
            guard let object = Self.object(line), let at = object["at"]?.number.flatMap(UInt64.init(exactly:)) else {
                throw Self.malformed(line: index + 1, expected: "`at`, in nanoseconds")
            }
            if let title = object["scene"]?.string, let text = object["text"]?.string {
                scenes.append(Scene(at: at, title: title, text: text))
            } else if let event = Self.event(object), !scenes.isEmpty {
                scenes[scenes.count - 1].moments.append(Moment(at: at, event: event))
            } else {
                throw Self.malformed(line: index + 1, expected: scenes.isEmpty ? "a scene" : "what happens in a scene")
            }
            last = max(last, at)
        }
        guard !scenes.isEmpty else { throw DrillError(.environment, "there is no day to tell of") }
        self.scenes = scenes
        ended = last
    }

    private static func event(_ object: JSONObject) -> Event? {
        if let words = object["command"]?.string, let lines = object["lines"]?.array,
            let status = object["status"]?.number
        {
            let answer = lines.compactMap(\.string)
            return answer.count == lines.count ? .command(words, answer: answer, status: status) : nil
        }
        if let act = object["act"]?.string { return .act(act) }
        if let door = object["door"]?.string { return .door(door) }
        guard let promise = object["promise"]?.string, let isHeld = object["held"]?.bool else { return nil }
        return .promise(promise, isHeld: isHeld)
    }

    private var moments: [Moment] { scenes.flatMap(\.moments) }
    var began: UInt64 { scenes.first?.at ?? 0 }
    let ended: UInt64

    private var promises: [(text: String, isHeld: Bool)] {
        moments.compactMap { if case .promise(let text, let isHeld) = $0.event { (text, isHeld) } else { nil } }
    }
    private var broken: [String] { promises.filter { !$0.isHeld }.map(\.text) }
    private var commandCount: Int { moments.count { if case .command = $0.event { true } else { false } } }
    private var releaseCount: Int { moments.count { $0.event == .door("strike released") } }
    package var isOK: Bool { broken.isEmpty && !promises.isEmpty }

    package var json: JSONObject {
        [
            "ok": .bool(isOK), "scenes": JSONValue(scenes.count), "commands": JSONValue(commandCount),
            "strike_released": JSONValue(releaseCount), "promises": JSONValue(promises.count),
            "broken": .array(broken.map { .string($0) }),
        ]
    }

    package var report: Report { Report(page: page, json: JSONValue.object(json).text + "\n", junit: junit) }

    private var junit: JUnit {
        JUnit(
            suite: "day",
            cases: scenes.enumerated().flatMap { index, scene in
                scene.moments.compactMap { moment in
                    guard case .promise(let text, let isHeld) = moment.event else { return nil }
                    return JUnit.Case(name: "\(index + 1). \(scene.title): \(text)", failures: isHeld ? [] : [text])
                }
            })
    }

    // MARK: The page

    private var page: String {
        let verdict = isOK ? "Every promise held" : "\(broken.count) promises broken"
        let body = """
            <h1>A day in the life of a door <span class="\(isOK ? "ok" : "bad")">\(verdict)</span></h1>
            <p>A lock, three keys and a strike as processes of their own on a simulated air, and somebody at the door.
            \(HTMLReport.seconds(max(ended, began) - began)) s.</p>
            \(HTMLReport.figures([
                ("scenes", "\(scenes.count)"), ("commands", "\(commandCount)"),
                ("times that the strike was released", "\(releaseCount)"),
                ("promises held", "\(promises.count - broken.count) of \(promises.count)"),
            ]))
            <h2>The door</h2>
            \(DayPicture(day: self).text)
            \(scenes.enumerated().map { html($1, number: $0 + 1) }.joined(separator: "\n"))
            """
        return HTMLReport.page(title: "A day in the life of a door: \(verdict)", body: body)
    }

    private func html(_ scene: Scene, number: Int) -> String {
        let rows = scene.moments.map {
            "<tr><td>\(HTMLReport.seconds(max($0.at, began) - began))</td>\(Self.html($0.event))</tr>"
        }
        return """
            <h2>\(number). \(XMLText.escaped(scene.title))</h2>
            <p>\(XMLText.escaped(scene.text))</p>
            <div class="wide"><table><thead><tr><th>at, s</th><th></th><th></th></tr></thead>
            <tbody>\(rows.joined(separator: "\n"))</tbody></table></div>
            """
    }

    private static func html(_ event: Event) -> String {
        func row(_ kind: String, _ text: String, _ name: String = "") -> String {
            "<td class=\"\(name)\">\(kind)</td><td>\(text)</td>"
        }
        switch event {
        case .command(let words, let answer, let status):
            let lines = (["$ " + words] + answer).map(XMLText.escaped).joined(separator: "\n")
            return row(status == 0 ? "typed" : "typed, status \(status)", "<pre>\(lines)</pre>")
        case .act(let text): return row("happens", XMLText.escaped(text))
        case .door(let text): return row("the door", XMLText.escaped(text))
        case .promise(let text, let isHeld):
            return row(isHeld ? "held" : "broken", XMLText.escaped(text), isHeld ? "ok" : "bad")
        }
    }
}
