import BluetoothCore
import BluetoothHost
import CLinux
import CommandInterface
import Glibc

/// A text file of metrics that others read: replaced as a whole, at most so often, and only when something has changed.
///
/// Nothing that it says is needed by a launch, so nothing is flushed. Its file is for everybody on the machine.
final class MetricsFile {
    private static let mode: mode_t = 0o644

    struct Place: Equatable {
        var path: String
        var intervalSeconds: UInt64
    }

    /// nil: none is written.
    private(set) var place: Place?
    private let host: Host
    private let timer: TimerToken
    private let render: () -> String
    private let failed: (String) -> Void
    private var due: Instant?
    private var written: Instant?
    private var text = ""
    private var isFailing = false

    /// `failed` hears of the first of several failures in a row.
    init(_ place: Place?, host: Host, render: @escaping () -> String, failed: @escaping (String) -> Void) {
        self.place = place
        self.host = host
        self.render = render
        self.failed = failed
        timer = host.makeTimer()
    }

    /// In an iteration of the host's: another file, or none, from now on.
    func move(to place: Place?) {
        guard place != self.place else { return }
        if let old = self.place, old.path != place?.path { unlink(old.path) }
        self.place = place
        (text, written, due) = ("", nil, nil)
        touch()
    }

    /// In an iteration of the host's: something has changed, or may have.
    func touch() {
        guard let place, due == nil else { return }
        let now = host.now
        let next = written.map { max(now, $0.advanced(byMilliseconds: place.intervalSeconds * 1_000)) } ?? now
        due = next
        host.setTimer(timer, at: next) { [weak self] _ in self?.write() }
    }

    /// What is behind the end of the program is not what the file says.
    func remove() {
        guard let place else { return }
        unlink(place.path)
        self.place = nil
    }

    private func write() {
        due = nil
        guard let place else { return }
        written = host.now
        let text = render()
        guard text != self.text else { return }
        guard replace(place.path, by: Array(text.utf8)) else {
            if !isFailing { failed(String(cString: strerror(errno))) }
            isFailing = true
            return
        }
        self.text = text
        isFailing = false
    }

    /// False, and errno, when the file is as it was.
    private func replace(_ path: String, by octets: [UInt8]) -> Bool {
        // The collector takes files that end in .prom.
        let draft = path + ".new"
        unlink(draft)
        let file = latch_open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return false }
        defer { close(file) }
        guard WholeWrite.write(octets, to: file), fchmod(file, Self.mode) == 0, rename(draft, path) == 0 else {
            return abandon(draft)
        }
        return true
    }

    private func abandon(_ draft: String) -> Bool {
        let reason = errno
        unlink(draft)
        errno = reason
        return false
    }
}
