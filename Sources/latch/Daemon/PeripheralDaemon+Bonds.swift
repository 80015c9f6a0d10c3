import BluetoothCore
import DaemonControl
import LockPeripheral
import SecurityManager

/// What an operator asks of the lock's bonds.
extension PeripheralDaemon {
    func bondPage(_ page: PeripheralRequest.StatusPage) throws(ControlFailure) -> BondList {
        guard let text = page.after else { return lock.bondPage(after: nil, limit: Int(page.limit)) }
        guard let cursor = BondList.Cursor(text) else {
            throw ControlFailure(
                .unknownRequest, "member \"after\" of request \"bonds\" must be what a page gave as \"next\"")
        }
        return lock.bondPage(after: cursor, limit: Int(page.limit))
    }

    func deleteBond(_ text: String, _ exchange: ControlExchange) throws(ControlFailure) {
        try requireTrust()
        guard let number = UInt64(digits: text, radix: 16) else {
            throw ControlFailure(
                .refused, "a bond is called by its number in hexadecimal digits: `latch peripheral bonds` lists them")
        }
        let id = BondID(Int64(bitPattern: number))
        do throws(BondRefusal) {
            try lock.deleteBond(id)
        } catch {
            switch error {
            case .unknown: throw ControlFailure(.notFound, error.description)
            case .named: throw ControlFailure(.refused, error.description)
            case .stateUnreadable: throw ControlFailure(.stopping, error.description)
            }
        }
        exchange.finish(["bond": .string("\(id)"), "state": "deleted"])
    }
}

extension BondList {
    var json: JSONObject {
        var fields: JSONObject = [
            "bonds": .array(
                rows.map { row in
                    var object: JSONObject = ["bond": .string("\(row.bond)"), "state": .string("\(row.state)")]
                    object["credential"] = row.credential.map { .string($0) }
                    object["seconds_left"] = row.millisecondsLeft.map { JSONValue($0 / 1_000) }
                    return .object(object)
                })
        ]
        fields["next"] = next.map { .string("\($0)") }
        return fields
    }
}
