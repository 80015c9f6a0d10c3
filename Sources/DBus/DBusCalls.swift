/// Calls that wait for an answer, each with what it was made for. No number is given twice.
package struct DBusCalls<Purpose: Sendable>: Sendable {
    private var purposes: [DBusCallID: Purpose] = [:]
    private var next: UInt64 = 1

    package init() {}

    package var isEmpty: Bool { purposes.isEmpty }

    package mutating func make(_ call: DBusCall, for purpose: Purpose) -> DBusAct {
        let id = DBusCallID(rawValue: next)
        next += 1
        purposes[id] = purpose
        return .call(id, call)
    }

    /// nil for a call that has its answer already, or is forgotten.
    package mutating func take(_ call: DBusCallID) -> Purpose? { purposes.removeValue(forKey: call) }

    /// Nobody answers any more, or nobody wants to hear it.
    package mutating func forgetAll() { purposes = [:] }
}

extension DBusCalls where Purpose: Equatable {
    /// The same, of those that were made for this.
    package mutating func forget(_ purpose: Purpose) { purposes = purposes.filter { $0.value != purpose } }
}
