import BluetoothHost

/// What a host keeps, and what outlives its process: the disk of a ``Node``.
package protocol NodeDisk: AnyObject {
    /// A process begins on what the last one left.
    ///
    /// - Throws: Why it cannot.
    func open() throws -> (store: any HostStore, coordinator: any TransactionCoordinator)
    /// The process has ended, wherever it was.
    func close()
}

/// A disk that never fails, in memory.
package final class MemoryDisk: NodeDisk {
    package private(set) var store: MemoryHostStore
    private let coordinator = MemoryTransactionCoordinator()

    package init(_ store: MemoryHostStore = MemoryHostStore()) { self.store = store }

    package func open() -> (store: any HostStore, coordinator: any TransactionCoordinator) {
        store = MemoryHostStore(store.kept)
        return (store, coordinator)
    }

    package func close() {}
}
