import BluetoothCore
import BluetoothCrypto
import SecurityManager

/// What many bonds cost a launch, and then the first private address and the first signed command.
struct BondBenchmark {
    private let bonds: Int
    private let runs: Int

    init(_ options: Options) throws {
        bonds = try options.integer("bonds", default: 1000)
        runs = try options.integer("runs", default: 41)
    }

    func run() throws {
        let address = DeviceAddress(kind: .random, bits: 0xC000_0000_0000)
        guard let own = IdentityAddress(address) else { throw BenchmarkError("no identity address") }
        let identity = LocalIdentity(address: own, irk: key(0, 0))
        let kept = (1...bonds).compactMap(bond)
        let clock = ContinuousClock()
        var figures: [(name: String, times: [Double])] = [
            ("launch", []), ("first private address", []), ("the next, a stranger's", []), ("first signed command", []),
        ]
        for _ in 0..<runs {
            var book: BondBook?
            var times: [Duration] = [clock.measure { book = BondBook(localIdentity: identity, bonds: kept) }]
            guard let book, let last = kept.last, let irk = last.peerIRK else { return }
            let owner = Toolbox.resolvablePrivateAddress(irk: AES128(key: irk), random: 7)
            let stranger = Toolbox.resolvablePrivateAddress(irk: AES128(key: key(9, 9)), random: 7)
            times.append(clock.measure { _ = book.resolve(owner) })
            times.append(clock.measure { _ = book.resolve(stranger) })
            let command = [UInt8](repeating: 0xD2, count: 23)
            times.append(clock.measure { _ = book.verifySigned(command, from: last.id) })
            for (index, time) in times.enumerated() { figures[index].times.append(time / .milliseconds(1)) }
        }
        print("\(bonds) bonds, \(runs) runs")
        for figure in figures { print("  \(figure.name): \(Sample(figure.times).row)") }
    }

    private func key(_ number: Int, _ kind: UInt8) -> Secret {
        Secret((0..<16).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 4))) ^ kind &+ UInt8($0) })
    }

    private func bond(_ number: Int) -> Bond? {
        let address = DeviceAddress(kind: .random, bits: 0xC000_0000_0000 | UInt64(number))
        guard let identity = IdentityAddress(address) else { return nil }
        return Bond(
            id: BondID(Int64(number)), identity: identity, peerIRK: key(number, 1), ltk: key(number, 2),
            localCSRK: key(number, 3), remoteCSRK: key(number, 4), model: .outOfBand, state: .confirmed)
    }
}
