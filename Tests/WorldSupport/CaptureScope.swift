import Synchronization
import Testing

/// One run of one test, or of one case of it: the airs that it makes, and which of them an issue fell to.
///
/// An air that goes without an issue is forgotten with its recording, so that a test with a thousand seeds keeps one.
/// Unchecked: who makes an air, and who reads its recording after the test has ended, do so one after the other.
package final class CaptureScope: @unchecked Sendable {
    @TaskLocal static var current: CaptureScope?

    /// nil: no captures are wanted.
    private let directory: CaptureDirectory?
    private let test: String
    private let state = Mutex(State())
    private let airs = Airs()

    private struct State {
        var airCount = 0
        /// What the files' names begin with, once there is an issue.
        var stem: String?
    }

    /// Touched under the lock of `state` alone.
    private final class Airs {
        struct Weak { weak var air: AirRecording? }

        var living: [Weak] = []
        /// Kept: an error that ends a test is seen when its airs have gone.
        var latest: AirRecording?
        var failed: [AirRecording] = []
    }

    package init(_ directory: CaptureDirectory?, test: String) {
        self.directory = directory
        self.test = test
    }

    /// Of the air that is made now; nil when nobody wants it.
    func beginRecording() -> AirRecording? {
        guard directory != nil else { return nil }
        return state.withLock { state in
            state.airCount += 1
            let air = AirRecording(number: state.airCount)
            airs.living.removeAll { $0.air == nil }
            airs.living.append(Airs.Weak(air: air))
            airs.latest = air
            return air
        }
    }

    /// An issue falls to every air that there is. Where the captures of it will be, if there are any.
    package func noteIssue() -> String? {
        state.withLock { state in
            for case let air? in airs.living.map(\.air) where !airs.failed.contains(where: { $0 === air }) {
                airs.failed.append(air)
            }
            return airs.failed.isEmpty ? nil : pattern(&state)
        }
    }

    /// The test was ended by an error. As ``noteIssue()``, also for the air that has just gone.
    package func noteError() -> String? {
        state.withLock { state in
            if let latest = airs.latest, !airs.failed.contains(where: { $0 === latest }) { airs.failed.append(latest) }
            return airs.failed.isEmpty ? nil : pattern(&state)
        }
    }

    /// Writes the captures of every air that an issue fell to, and none else.
    package func finish() throws {
        guard let directory else { return }
        let (stem, failed) = state.withLock { ($0.stem, airs.failed) }
        guard let stem else { return }
        for air in failed {
            let world = air.number == 1 ? "" : ".world-\(air.number)"
            for host in air.hosts {
                try host.write(to: "\(directory.path)/\(stem)\(world).\(Self.fileName(host.name)).btsnoop")
            }
        }
    }

    private func pattern(_ state: inout State) -> String? {
        guard let directory else { return nil }
        let stem = state.stem ?? Self.claimStem(of: test)
        state.stem = stem
        return "\(directory.path)/\(stem).*.btsnoop"
    }

    // MARK: Names

    /// How many cases of each test have failed.
    private static let failures = Mutex<[String: Int]>([:])

    /// The first case of a test that fails gives its files the test's name; the others have a number, too.
    private static func claimStem(of test: String) -> String {
        let count = failures.withLock { failures in
            failures[test, default: 0] += 1
            return failures[test] ?? 1
        }
        return fileName(test) + (count == 1 ? "" : ".case-\(count)")
    }

    /// `Suite.function`, without labels of arguments.
    package static func name(of test: Test) -> String {
        test.id.nameComponents.map { String($0.prefix { $0 != "(" }) }.joined(separator: ".")
    }

    /// Letters and digits of any script may be in the name of a test; a path's separator may not be in that of a file.
    static func fileName(_ name: String) -> String {
        String(name.filter { $0 != "`" }.map { $0.isLetter || $0.isNumber || "._-".contains($0) ? $0 : "-" })
    }
}
