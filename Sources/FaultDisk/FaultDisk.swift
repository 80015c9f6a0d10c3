import CFaultDisk

/// A disk that fails, under the files that SQLite has in one directory (`FaultDisk.h`): it counts SQLite's calls, fails those
/// that it is told to, and remembers what was written since when.
package final class FaultDisk {
    /// How calls fail.
    package enum Kind: CaseIterable, Sendable {
        /// With an error of input and output; of a write the first half has been made.
        case io
        /// Only where room is taken.
        case noRoom
        /// As `io`, and what a flush was to bring to the medium never gets there, though reads show it.
        case lostFlush

        fileprivate var value: fault_disk_kind {
            switch self {
            case .io: FAULT_DISK_IO
            case .noRoom: FAULT_DISK_NO_ROOM
            case .lostFlush: FAULT_DISK_LOST_FLUSH
            }
        }
    }

    private let disk: OpaquePointer

    /// Every file of SQLite below `directory`, an absolute path, is this disk's from now on.
    package init(_ directory: String) {
        guard let made = fault_disk_make(directory) else { preconditionFailure("no memory") }
        disk = made
    }

    deinit { fault_disk_end(disk) }

    /// From now on the calls that have these numbers, from 1, fail.
    package func fail(_ kind: Kind, calls: ClosedRange<Int>) {
        fault_disk_fail(disk, kind.value, Int64(calls.lowerBound), Int64(calls.upperBound))
    }

    /// Since ``fail(_:calls:)``, or since the disk is there.
    package var callCount: Int { Int(fault_disk_calls(disk)) }
    package var hasFailed: Bool { fault_disk_has_failed(disk) != 0 }

    /// The script's own mark among the changes.
    package func note(_ value: Int) { fault_disk_note(disk, Int64(value)) }

    /// Everything that has changed a file so far, and every note, in order.
    package var changes: [Medium.Change] { changes(from: 0) }

    /// How many there are.
    package var changeCount: Int { fault_disk_record_count(disk) }

    /// The same without the first ones.
    package func changes(from first: Int) -> [Medium.Change] {
        (first..<max(first, changeCount)).compactMap { place in
            let record = fault_disk_record_at(disk, place)
            let file = String(cString: record.file)
            return switch record.change {
            case FAULT_DISK_WRITTEN:
                .written(
                    file, at: Int(record.offset), Array(UnsafeBufferPointer(start: record.octets, count: record.count)))
            case FAULT_DISK_TRUNCATED: .truncated(file, to: Int(record.offset))
            case FAULT_DISK_DELETED: .deleted(file)
            case FAULT_DISK_SYNCED: .synced(file)
            case FAULT_DISK_LOST: .lost(file)
            case FAULT_DISK_RENAMED: .renamed(file, to: String(cString: record.other))
            case FAULT_DISK_NOTED: .noted(Int(record.value))
            default: nil
            }
        }
    }
}
