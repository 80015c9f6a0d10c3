import Glibc

extension Ed25519PublicKey {
    /// A thread costs more than fewer would take.
    private static let itemsOfThread = 32
    private static let threadsMost = 8

    /// Whether each signature is of this key over its message, in their order: many of them on as many threads as the machine runs at once,
    /// since one takes a tenth of a millisecond.
    package func areSigned(_ items: [(message: [UInt8], signature: [UInt8])]) -> [Bool] {
        let cores = min(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))), Self.threadsMost)
        let share = max(Self.itemsOfThread, (items.count + cores - 1) / cores)
        let parts = stride(from: 0, to: items.count, by: share).map { first in
            Part(self, items[first..<min(first + share, items.count)])
        }
        let threads = parts.dropFirst().map { $0.start() }
        parts.first?.look()
        for (part, thread) in zip(parts.dropFirst(), threads) {
            if let thread { pthread_join(thread, nil) } else { part.look() }
        }
        return parts.flatMap(\.areSigned)
    }

    /// One thread's share. Written by that thread alone, and read once it has ended.
    private final class Part: @unchecked Sendable {
        private let key: Ed25519PublicKey
        private let items: ArraySlice<(message: [UInt8], signature: [UInt8])>
        private(set) var areSigned: [Bool] = []

        init(_ key: Ed25519PublicKey, _ items: ArraySlice<(message: [UInt8], signature: [UInt8])>) {
            self.key = key
            self.items = items
        }

        func look() { areSigned = items.map { key.isSigned($0.message, $0.signature) } }

        /// nil where the machine has no room for another thread.
        func start() -> pthread_t? {
            var thread = pthread_t()
            let context = Unmanaged.passRetained(self)
            let status = pthread_create(
                &thread, nil,
                { context in
                    if let context { Unmanaged<Part>.fromOpaque(context).takeRetainedValue().look() }
                    return nil
                }, context.toOpaque())
            if status == 0 { return thread }
            context.release()
            return nil
        }
    }
}
