import DBus
import Testing

@Suite("Whose answers count on a bus")
struct DBusAnswersTests {
    private static let name = "org.latch.Test"
    private static let bus = DBusName.bus
    private let call = DBusAnswers.Purpose.call(DBusCallID(rawValue: 1))

    private func changed(_ name: String, to owner: String, by sender: String = bus) -> DBusMessage {
        DBusMessage(
            sender: sender, path: DBusName.busPath, interface: DBusName.bus, member: "NameOwnerChanged",
            body: [.string(name), .string(""), .string(owner)])
    }

    /// A call to the name, whose owner is told as :1.5 if it is.
    private func called(owner: String? = ":1.5") -> DBusAnswers {
        var answers = DBusAnswers()
        #expect(answers.prelude(to: Self.name) != nil)
        answers.sent(8, for: .owner(of: Self.name), to: Self.bus)
        answers.sent(9, for: call, to: Self.name)
        #expect(answers.take(8, from: ":1.9", isError: false) == nil, "only the bus says who owns a name")
        #expect(answers.take(8, from: Self.bus, isError: owner == nil) == .owner(of: Self.name))
        if let owner { answers.owner(of: Self.name, is: owner) }
        return answers
    }

    @Test("A connection's own name: it answers, the bus refuses, and nobody else does either")
    func unique() {
        for (sender, isError, counts) in [
            (":1.5", false, true), (":1.5", true, true), (":1.6", false, false), (":1.6", true, false),
            (Self.bus, true, true), (Self.bus, false, false), ("", false, false), (Self.name, false, false),
        ] {
            var answers = DBusAnswers()
            #expect(answers.prelude(to: ":1.5") == nil)
            answers.sent(9, for: call, to: ":1.5")
            #expect(answers.take(10, from: sender, isError: isError) == nil)
            let taken = answers.take(9, from: sender, isError: isError)
            #expect((taken == call) == counts, "\(sender), \(isError)")
            // What does not count leaves the call waiting; what counts ends it.
            #expect((answers.take(9, from: ":1.5", isError: false) == call) != counts)
        }
    }

    @Test("The bus itself: nobody answers for it")
    func busItself() {
        var answers = DBusAnswers()
        #expect(answers.prelude(to: Self.bus) == nil)
        answers.sent(9, for: call, to: Self.bus)
        #expect(answers.take(9, from: ":1.5", isError: true) == nil)
        #expect(answers.take(9, from: Self.bus, isError: false) == call)
    }

    @Test("A well-known name is asked about once, before its first call, and its owner answers")
    func wellKnown() throws {
        var answers = DBusAnswers()
        let asked = answers.prelude(to: Self.name)
        let prelude = try #require(asked)
        #expect(prelude.match.member == "AddMatch" && prelude.match.body == [.string(DBusName.ownerMatch(Self.name))])
        #expect(prelude.owner.member == "GetNameOwner" && prelude.owner.body == [.string(Self.name)])
        #expect(prelude.match.destination == Self.bus && prelude.owner.destination == Self.bus)
        #expect(answers.prelude(to: Self.name) == nil)

        answers = called()
        #expect(
            answers.take(9, from: ":1.6", isError: false) == nil
                && answers.take(9, from: ":1.5", isError: false) == call)
        answers.sent(10, for: call, to: Self.name)
        #expect(answers.take(10, from: ":1.5", isError: true) == call, "of a later call the owner is known")
        answers = called(owner: nil)
        #expect(answers.take(9, from: ":1.5", isError: false) == nil, "nobody is known")
        #expect(answers.take(9, from: Self.bus, isError: true) == call)
    }

    @Test("A name that is started, or goes to somebody else: the bus's word counts, and a forged one does not")
    func changes() {
        var answers = called(owner: nil)
        answers.heard(changed(Self.name, to: ":1.6", by: ":1.6"))
        answers.heard(changed("org.latch.Other", to: ":1.6"))
        #expect(answers.take(9, from: ":1.6", isError: false) == nil)
        answers.heard(changed(Self.name, to: ":1.7"))
        #expect(answers.take(9, from: ":1.7", isError: false) == call)
        // The former owner may have the call.
        answers.sent(10, for: call, to: Self.name)
        answers.heard(changed(Self.name, to: ":1.8"))
        #expect(answers.take(10, from: ":1.7", isError: false) == call)
        answers.sent(11, for: call, to: Self.name)
        #expect(
            answers.take(11, from: ":1.7", isError: false) == nil
                && answers.take(11, from: ":1.8", isError: false) == call)
        answers.heard(changed(Self.name, to: ""))
        answers.sent(12, for: call, to: Self.name)
        #expect(
            answers.take(12, from: ":1.8", isError: false) == nil && answers.take(12, from: "", isError: false) == nil)
    }

    @Test("So many owners of a name may answer one call, the last ones")
    func bound() {
        var answers = called()
        for number in 1...DBusAnswers.ownersMaximum { answers.heard(changed(Self.name, to: ":2.\(number)")) }
        #expect(answers.take(9, from: ":1.5", isError: false) == nil)
        #expect(answers.take(9, from: ":2.1", isError: false) == call)
    }

    @Test(
        "Heard are the bus, and those that were called by their own name or by one that they own, as long as they own it"
    )
    func heard() {
        var answers = called()
        for sender in ["", ":1.6", Self.name, "org.latch.Other"] { #expect(!answers.hears(sender), "\(sender)") }
        #expect(answers.hears(Self.bus) && answers.hears(":1.5"))
        answers.heard(changed(Self.name, to: ":1.7"))
        #expect(!answers.hears(":1.5") && answers.hears(":1.7"))
        answers.heard(changed(Self.name, to: ""))
        #expect(!answers.hears(":1.7") && !answers.hears(""))
        answers.sent(10, for: call, to: ":1.6")
        #expect(answers.hears(":1.6"))
        #expect(answers.take(10, from: ":1.6", isError: false) == call)
        #expect(answers.hears(":1.6"), "also when it has answered")
    }

    @Test("So many are heard since they were called by their own names, the last ones")
    func calledBound() {
        var answers = DBusAnswers()
        answers.sent(1, for: call, to: ":1.0")
        for number in 1..<DBusAnswers.calledMaximum { answers.sent(1, for: call, to: ":1.\(number)") }
        // Whoever is called again is one of the last.
        answers.sent(1, for: call, to: ":1.0")
        #expect(answers.hears(":1.1"))
        answers.sent(1, for: call, to: ":2.0")
        #expect(!answers.hears(":1.1") && answers.hears(":1.0") && answers.hears(":2.0"))
    }
}
