import BluetoothCore
import LockProtocol

/// What an opening makes of the user who has opened: in the commit of the opening, before the bolt begins.
extension LockMachine {
    mutating func spend(_ credential: Credential, _ turn: inout LockTurn) {
        #if LATCH_PLANTS
        if Plant.active == .spent { return }
        #endif
        switch credential.kind {
        case .ordinary: break
        case .duress:
            let record = audit(.duress(credential.id, name: credential.name), of: credential.id, &turn)
            raise(.duress(of: credential.id), on: record, &turn)
        case .disposable: spend(credential, .disabled, &turn) { $0.isEnabled = false }
        case .expiring(let minutes):
            // Without a clock it is not granted.
            guard let now = timeOfDay(turn.moment) else { return }
            let end = now + Int64(minutes) * 60
            spend(credential, .scheduled, &turn) { device in
                device.validity.notAfterSeconds = min(device.validity.notAfterSeconds ?? end, end)
            }
        }
    }

    /// With all devices of the user.
    private mutating func spend(
        _ credential: Credential, _ act: CredentialAct, _ turn: inout LockTurn, _ change: (inout Credential) -> Void
    ) {
        revise(
            { $0.userName == credential.userName && $0.kind == credential.kind },
            { device in
                var changed = device
                change(&changed)
                return changed
            }, of: credential.id, &turn
        ) { .spent($0.id, name: $0.name, act) }
        watchCredentials(&turn)
    }
}
