import LockCentral
import LockPeripheral
import LockProtocol

/// An enrolment, as the two operators see it.
final class EnrolmentCourse {
    /// The key's has been told that it is enrolled.
    fileprivate(set) var isAnnounced = false
    /// One of the two was told how it ended.
    fileprivate(set) var isOver = false
    /// Why it came to nothing, as far as anybody was told.
    fileprivate(set) var failure = "nobody was told"
}

/// Keys are enrolled, for the first time or once more.
extension House {
    private static let windowSeconds: UInt64 = 30

    /// The lock's operator opens a window, and the key's gives the code to it.
    func beginEnrolment(of number: Int, at door: Door) -> EnrolmentCourse {
        let course = EnrolmentCourse()
        let (pocket, tenant) = (pockets[number], tenants[number])
        let request = EnrolmentRequest(
            credential: tenant.name, role: tenant.role, method: .outOfBand, seconds: Self.windowSeconds,
            user: tenant.user == tenant.name ? nil : tenant.user, kind: tenant.kind)
        let ticket = household?.register.ask(.renewed(number), at: world.now)
        var code: SetupCode?
        door.node.call { _ in
            do {
                try door.lock?.openEnrolment(request) { progress in
                    switch progress {
                    case .opened(let opened): code = opened
                    case .ended(let end):
                        course.failure = "the window has ended: \(end)"
                        course.isOver = true
                    case .passkey, .attemptFailed, .paired: break
                    }
                }
            } catch {
                course.failure = "\(error)"
                course.isOver = true
            }
        }
        guard let code else {
            course.isOver = true
            return course
        }
        pocket.enroll(code, waitMilliseconds: Self.windowSeconds * 1_000) { [unowned self] progress in
            switch progress {
            case .enrolled:
                (course.isAnnounced, course.isOver) = (true, true)
                if let ticket { household?.register.tell(ticket, isMade: true, at: world.now) }
            case .failed(let failure):
                course.failure = "\(failure)"
                course.isOver = true
            case .connecting, .pairing, .paired: break
            }
        }
        return course
    }
}
