import CLinux
import Glibc

/// A signal of the process that nobody has set an action for: a loop hears of it, and its default action comes afterwards.
///
/// An app that sets an action of its own, before or later, has the signal, and the loop never hears of it. So has one that blocks it in all of
/// its threads and reads it from a descriptor. There is one of these in a process.
package final class DefaultedSignal {
    private let number: Int32
    /// An eventfd. The handler writes to it, so that it stays open for as long as the process lives.
    package let descriptor: Int32

    /// nil when the signal is the app's.
    package init?(_ number: Int32) {
        self.number = number
        descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        guard latch_take_signal(number, descriptor) == 0 else {
            close(descriptor)
            return nil
        }
    }

    /// Whether the signal has come since the last call.
    package func take() -> Bool {
        var count: UInt64 = 0
        return read(descriptor, &count, MemoryLayout<UInt64>.size) > 0
    }

    /// The default action is set again; where `isDue`, it is done now.
    package func giveBack(isDue: Bool) {
        _ = latch_give_signal_back(number)
        if isDue { latch_raise(number) }
    }
}
