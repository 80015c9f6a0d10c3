import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import Foundation
import SecurityManager
import Synchronization

/// Stands between the host, which asks on its loop and waits for nobody, and an agent that takes its time. One question of a link is
/// open at a time: what answers another one is ignored by the host.
final class PairingAgentBridge: BluetoothHost.PairingAgent, Sendable {
    let agent: any PairingAgent
    let ioCapability: IOCapability
    private let executor: any HostExecutor
    /// What each link's user is being asked or shown.
    private let open = Mutex<[LinkID: (attempt: PairingAttempt, task: Task<Void, Never>)]>([:])

    init(_ agent: any PairingAgent, of host: CBHost) {
        self.agent = agent
        ioCapability =
            switch agent.capability {
            case .confirmOnly: .noInputNoOutput
            case .displayOnly: .displayOnly
            case .displayYesNo: .displayYesNo
            case .keyboardOnly: .keyboardOnly
            case .keyboardDisplay: .keyboardDisplay
            }
        executor = host.executor
    }

    func consentRequested(_ link: LinkInfo, model: AssociationModel?) {
        let attempt = PairingAttempt(link, model)
        ask(attempt, link) { .consent(await $0.confirm(attempt)) }
    }

    func numericComparisonRequested(_ link: LinkInfo, value: UInt32) {
        let attempt = PairingAttempt(link, .numericComparison)
        ask(attempt, link) { .numbersAreEqual(await $0.compare(Self.digits(value), for: attempt)) }
    }

    func passkeyRequested(_ link: LinkInfo) {
        let attempt = PairingAttempt(link, .passkeyEntry)
        ask(attempt, link) { agent in
            await agent.enter(for: attempt).flatMap(Self.passkey).map { .passkey($0) } ?? .refusal
        }
    }

    func displayPasskey(_ link: LinkInfo, passkey: UInt32) {
        let attempt = PairingAttempt(link, .passkeyEntry)
        run(attempt, link) { await $0.show(Self.digits(passkey), for: attempt) }
    }

    func pairingEnded(_ link: LinkInfo, result: Result<BondID, HostError>) {
        let last = open.withLock { $0.removeValue(forKey: link.link) }
        last?.task.cancel()
        let attempt = last?.attempt ?? PairingAttempt(link, nil)
        var failure: (any Error)?
        if case .failure(let error) = result { failure = appleError(error) }
        Task { [agent, failure] in
            // What was shown or asked has come to its end before.
            await last?.task.value
            await agent.done(attempt, error: failure)
        }
    }

    private func ask(
        _ attempt: PairingAttempt, _ link: LinkInfo,
        _ question: @escaping @Sendable (any PairingAgent) async -> PairingAnswer
    ) {
        run(attempt, link) { [executor, self] agent in
            let answer = await question(agent)
            guard !Task.isCancelled else { return }
            // Of what has not begun nobody says that it is over.
            if attempt.method == nil { open.withLock { $0[link.link] = nil } }
            executor.execute { $0.answerPairing(link.link, answer) }
        }
    }

    private func run(
        _ attempt: PairingAttempt, _ link: LinkInfo, _ body: @escaping @Sendable (any PairingAgent) async -> Void
    ) {
        open.withLock { open in
            let before = open[link.link]?.task
            before?.cancel()
            let task = Task { [agent] in
                await before?.value
                await body(agent)
            }
            open[link.link] = (attempt, task)
        }
    }

    /// Core 5.4, Vol 3, Part H, 2.3.5.3 (Passkey Entry): six digits, with the zeros in front.
    static func digits(_ number: UInt32) -> String {
        let text = String(number % 1_000_000)
        return String(repeating: "0", count: 6 - text.count) + text
    }

    /// nil for what cannot be a passkey.
    static func passkey(_ text: String) -> UInt32? {
        let digits = text.filter { !$0.isWhitespace && $0 != "-" }
        guard digits.count == 6, digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        return UInt32(digits)
    }
}

extension PairingAttempt {
    init(_ link: LinkInfo, _ model: AssociationModel?) {
        peer = UUID(link.peer)
        method =
            switch model {
            case .justWorks: .justWorks
            case .numericComparison: .numericComparison
            case .passkeyEntry: .passkeyEntry
            case .outOfBand: .outOfBand
            case nil: nil
            }
        replacesBond = link.bond != nil && !link.isProven
        self.link = link.link.rawValue
    }
}
