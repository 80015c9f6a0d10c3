import BluetoothHost
import FoundationEssentials
import Synchronization

/// A read or a write that a central asks for. Equal only to itself.
public final class CBATTRequest: Hashable, Sendable {
    /// Who asks.
    public let central: CBCentral
    /// For which characteristic.
    public let characteristic: CBCharacteristic
    /// The first octet that is read or written.
    public let offset: Int
    /// How the request arrived; nil for a read.
    let path: WritePath?
    /// Shared by all writes of one request.
    let answer: Answer

    private let content: Mutex<Data?>

    init(
        central: CBCentral, characteristic: CBCharacteristic, offset: Int, value: Data?, path: WritePath?,
        answer: Answer
    ) {
        self.central = central
        self.characteristic = characteristic
        self.offset = offset
        self.path = path
        self.answer = answer
        content = Mutex(value)
    }

    /// What is written; for a read, what the app answers with, from ``offset`` on.
    public var value: Data? {
        get { content.withLock { $0 } }
        set { content.withLock { $0 = newValue } }
    }

    /// Whether both are the same object.
    public static func == (a: CBATTRequest, b: CBATTRequest) -> Bool { a === b }
    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    /// The one answer that a request gets.
    final class Answer: Sendable {
        private enum State: Sendable {
            case open(ServerRequestID)
            /// A command: nothing is sent.
            case silent
            case given
        }

        private let state: Mutex<State>

        init(_ id: ServerRequestID?) { state = Mutex(id.map { .open($0) } ?? .silent) }

        /// Runs `misuse` when the request was answered before; returns what is to be answered, if anything.
        func take(misuse: () -> Void) -> ServerRequestID? {
            let was = state.withLock { state in
                defer { if case .open = state { state = .given } }
                return state
            }
            switch was {
            case .open(let id): return id
            case .silent: return nil
            case .given:
                misuse()
                return nil
            }
        }
    }
}
