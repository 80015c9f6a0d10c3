/// `latch state …`: looks at a database that no daemon needs to be running for.
enum StateCommands {
    static let all: [CommandSpec] = []
}
