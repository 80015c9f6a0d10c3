import BluetoothCore

@testable import LockCentral

/// A lock that is looked at for being the nearest. `dBm` nil: no link that has proven itself. Its strength has been read often enough,
/// unless `times` says how often.
func candidate(
    _ peer: PeerIdentifier, _ dBm: Int8?, times: Int = NearestMachine.readingsMinimum, preference: Int? = nil
) -> NearestMachine.Candidate {
    var signal = LinkSignal()
    if let dBm {
        for _ in 0..<times {
            _ = signal.takesQuestion(now: Instant(nanoseconds: 0))
            _ = signal.take(dBm)
        }
    }
    return NearestMachine.Candidate(peer: peer, isProven: dBm != nil, signal: signal, preference: preference)
}
