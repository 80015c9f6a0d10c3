import Testing

@testable import BluetoothHost

/// Which ends of links count against a bonded peer's name.
@Suite("Ends of links in a bonded peer's name")
struct LinkContestTests {
    enum State: CaseIterable { case open, proofAsked, vouched, endedHere, counted }

    private static func contest(in state: State) -> LinkContest {
        var contest = LinkContest()
        switch state {
        case .open: break
        case .proofAsked: contest.handle(.proofAsked)
        case .vouched: contest.handle(.vouched)
        case .endedHere: contest.handle(.endedHere)
        case .counted:
            contest.handle(.proofAsked)
            let counts = contest.handle(.ended(isSuspect: true, isProofExpected: false))
            #expect(counts)
        }
        return contest
    }

    /// Everything that can happen to a link, and its end in each of its ways.
    private static let events: [LinkContest.Event] =
        [.proofAsked, .vouched, .endedHere]
        + [true, false].flatMap { isSuspect in
            [true, false].map { .ended(isSuspect: isSuspect, isProofExpected: $0) }
        }

    /// What each event makes of each state, where it changes it.
    private static let next: [State: [(LinkContest.Event, State)]] = [
        .open: [
            (.proofAsked, .proofAsked), (.vouched, .vouched), (.endedHere, .endedHere),
            (.ended(isSuspect: true, isProofExpected: true), .counted),
        ],
        .proofAsked: [
            (.vouched, .vouched), (.ended(isSuspect: true, isProofExpected: true), .counted),
            (.ended(isSuspect: true, isProofExpected: false), .counted),
        ],
        .endedHere: [(.proofAsked, .proofAsked), (.vouched, .vouched)],
    ]

    @Test("Every event in every state: the end counts where it makes the state so, and once", arguments: State.allCases)
    func stateTimesEvent(_ state: State) {
        for event in Self.events {
            var contest = Self.contest(in: state)
            let counts = contest.handle(event)
            let expected = Self.next[state]?.first { $0.0 == event }?.1 ?? state
            #expect(contest == Self.contest(in: expected), "\(event)")
            #expect(counts == (expected == .counted && state != .counted), "\(event)")
        }
    }

    @Test("What is known of it while the link stands", arguments: State.allCases)
    func known(_ state: State) {
        let contest = Self.contest(in: state)
        #expect(contest.isProofAsked == (state == .proofAsked))
        #expect(contest.isVouched == (state == .vouched))
    }
}
