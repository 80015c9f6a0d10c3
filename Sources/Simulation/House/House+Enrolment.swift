import LockCentral
import LockPeripheral
import LockProtocol

/// An enrolment, as the two operators see it.
final class EnrolmentCourse {
    /// The key's has been told that it is enrolled.
    fileprivate(set) var isAnnounced = false
    /// One of the two was told how it ended.
    fileprivate(set) var isOver = false
}

/// Keys are enrolled, for the first time or once more.
extension House {
    private static let windowSeconds: UInt64 = 30

    /// The first one's is the owner, and all others are guests.
    static func role(of key: Int) -> Role { key == 0 ? .owner : .guest }

    /// The lock's operator opens a window, and the key's gives the code to it.
    func beginEnrolment(of number: Int, at door: Door) -> EnrolmentCourse {
        let course = EnrolmentCourse()
        let pocket = pockets[number]
        let request = EnrolmentRequest(
            credential: pocket.name, role: Self.role(of: number), method: .outOfBand, seconds: Self.windowSeconds)
        var code: SetupCode?
        door.node.call { _ in
            do {
                try door.lock?.openEnrolment(request) { progress in
                    switch progress {
                    case .opened(let opened): code = opened
                    case .ended: course.isOver = true
                    case .passkey, .attemptFailed, .paired: break
                    }
                }
            } catch {
                course.isOver = true
            }
        }
        guard let code else {
            course.isOver = true
            return course
        }
        pocket.enroll(code, waitMilliseconds: Self.windowSeconds * 1_000) { progress in
            switch progress {
            case .enrolled: (course.isAnnounced, course.isOver) = (true, true)
            case .failed: course.isOver = true
            case .connecting, .pairing, .paired: break
            }
        }
        return course
    }
}
