import CLinux
import Glibc

/// The steps of migration that a process knows, as its claim states them: a process that knows fewer than a file is to get could not
/// write to the file any more.
struct RunningSteps {
    private static let mark = "steps"
    /// Of a claim: a number, an identity, and a word for each component.
    static let claimReadOctets = 512

    static func text(_ components: [SchemaComponent]) -> String {
        ([mark] + components.map { "\($0.name)=\($0.migrations.count)" }).joined(separator: " ") + "\n"
    }

    private let steps: [String: Int]?
    let pid: Int32

    /// A claim that states none is of a version that stated none.
    private init(claim: String) {
        pid = Int32(claim.prefix { $0.isNumber }) ?? 0
        let line = claim.split(separator: "\n").dropFirst().first?.split(separator: " ")
        guard let line, line.first == Self.mark[...] else {
            steps = nil
            return
        }
        var steps: [String: Int] = [:]
        for word in line.dropFirst() {
            let parts = word.split(separator: "=")
            if parts.count == 2, let count = Int(parts[1]) { steps[String(parts[0])] = count }
        }
        self.steps = steps
    }

    /// A component that a process does not have it does not use.
    private func suffices(for target: [String: Int]) -> Bool {
        guard let steps else { return target.isEmpty }
        return target.allSatisfy { steps[$0.key].map { [needed = $0.value] in $0 >= needed } ?? true }
    }

    /// The process that has a claim beside `database` and knows too little of what the file is to get. `target`: the components
    /// that change, and how many steps they will have. Under the lock: who comes later finds them done.
    static func older(than target: [String: Int], beside database: String) throws(StoreError) -> Self? {
        guard !target.isEmpty else { return nil }
        let directory = StateFile.directory(of: database)
        let prefix = (database.split(separator: "/").last.map(String.init) ?? database) + ".claim-"
        for name in try StateFile.names(in: directory) where name.hasPrefix(prefix) {
            let path = directory + "/" + name
            guard try StateFile.size(path) != nil else { continue }
            let file = try StateFile.open(path, O_RDWR)
            let text = String(decoding: try StateFile.read(file, path: path, limit: claimReadOctets), as: UTF8.self)
            let steps = Self(claim: text)
            guard !steps.suffices(for: target) else { continue }
            if flock(file.fd, LOCK_SH | LOCK_NB) == 0 {
                // Left by a process that has gone.
                flock(file.fd, LOCK_UN)
                continue
            }
            guard errno == EWOULDBLOCK else { throw StateFile.error(path) }
            return steps
        }
        return nil
    }
}
