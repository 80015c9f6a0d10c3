import DaemonControl

/// What one command does with its arguments. It answers once, at once or later, or throws.
typealias Command = (Arguments, Reply) throws(Refusal) -> Void

/// A group of commands that share what they work on.
protocol Side: AnyObject {
    var commands: [String: Command] { get }
}

/// Every command by its name.
struct CommandTable {
    private let voice: Voice
    private let sides: [any Side]
    private let commands: [String: Command]

    init(voice: Voice, sides: [any Side]) {
        self.voice = voice
        self.sides = sides
        commands = sides.reduce(into: [:]) { all, side in all.merge(side.commands) { first, _ in first } }
    }

    func run(_ line: [UInt8]) {
        var reply = Reply(id: 0, voice: voice)
        do throws(Refusal) {
            let arguments = try Arguments(line: line)
            reply = Reply(id: try arguments.number("id"), voice: voice)
            let name = try arguments.text("do")
            guard let command = commands[name] else { throw Refusal("there is no command `\(name)`") }
            try command(arguments, reply)
        } catch {
            reply.refused(error)
        }
    }
}
