import HCI
import L2CAP

/// One credit-based channel, from the asking to its end. Never used twice in a process.
package struct HostChannelID: Hashable, Sendable {
    package let link: LinkID
    package let number: UInt64

    package init(link: LinkID, number: UInt64) {
        self.link = link
        self.number = number
    }
}

package struct ChannelInfo: Sendable {
    package var id: HostChannelID
    /// The service that it leads to.
    package var psm: UInt16
    package var link: LinkInfo
    /// Octets of the longest SDU that the peer takes.
    package var sduOctetsMaximum: Int

    package init(id: HostChannelID, psm: UInt16, link: LinkInfo, sduOctetsMaximum: Int) {
        self.id = id
        self.psm = psm
        self.link = link
        self.sduOctetsMaximum = sduOctetsMaximum
    }
}

/// What whoever opened or published a channel hears of it, inline on the loop.
package protocol ChannelDelegate: AnyObject {
    func channelOpened(_ channel: ChannelInfo)
    /// Say with ``Host/consumed(_:of:)`` when these octets are done with: until then the peer has that much less credit.
    func received(_ sdu: [UInt8], on channel: HostChannelID)
    /// The queue has room again after an SDU that was refused as ``ChannelSendOutcome/full``.
    func channelHasRoom(_ channel: HostChannelID)
    /// Exactly once for each channel, opened or not.
    func channelClosed(_ channel: HostChannelID, reason: ChannelEnd)
}

/// Why a channel is there no longer, or never was.
package enum ChannelEnd: Error, Equatable, Sendable {
    /// This side asked for it.
    case local
    case peer
    /// The peer has no such service, or no channels of this kind.
    case notSupported
    case noResources
    case insufficientAuthentication
    case insufficientAuthorization
    case insufficientEncryption
    case insufficientEncryptionKeySize
    /// The peer refused it for a reason that is the fault of neither app.
    case refused(UInt16)
    case timedOut
    /// The peer broke the rules of the channel.
    case violation
    case disconnected(HCIErrorCode)

    init(_ reason: ChannelCloseReason, linkLost: HCIErrorCode) {
        switch reason {
        case .local: self = .local
        case .peer: self = .peer
        case .notUnderstood: self = .notSupported
        case .timedOut: self = .timedOut
        case .violation: self = .violation
        case .linkLost: self = .disconnected(linkLost)
        case .refused(let result): self.init(result)
        }
    }

    init(_ result: LECreditBasedConnectionResult) {
        switch result {
        case .spsmNotSupported: self = .notSupported
        case .noResources: self = .noResources
        case .insufficientAuthentication: self = .insufficientAuthentication
        case .insufficientAuthorization: self = .insufficientAuthorization
        case .insufficientEncryption: self = .insufficientEncryption
        case .insufficientEncryptionKeySize: self = .insufficientEncryptionKeySize
        default: self = .refused(result.rawValue)
        }
    }
}

package enum ChannelSendOutcome: Sendable {
    case taken
    /// The queue has no room for it; ``ChannelDelegate/channelHasRoom(_:)`` will come.
    case full
    case tooLong
    case closed
}

/// The services that take channels on this host.
struct PublishedChannels {
    struct Service {
        let manager: ManagerID
        let requirement: ChannelRequirement
        weak var delegate: (any ChannelDelegate)?
    }

    private var services: [SPSM: Service] = [:]
    /// Round the range, so that an SPSM that a peer remembers leads to no other service soon.
    private var next = SPSM.dynamicRange.lowerBound

    subscript(spsm: SPSM) -> Service? { services[spsm] }

    /// Whether some service takes channels on encrypted links only.
    var asksForEncryption: Bool { services.values.contains { $0.requirement.encrypted } }

    /// nil when every dynamic SPSM is taken.
    mutating func publish(_ service: Service) -> SPSM? {
        for _ in SPSM.dynamicRange {
            let spsm = SPSM(rawValue: next)
            next = next == SPSM.dynamicRange.upperBound ? SPSM.dynamicRange.lowerBound : next + 1
            guard services[spsm] == nil else { continue }
            services[spsm] = service
            return spsm
        }
        return nil
    }

    /// False when it is not the manager's.
    mutating func unpublish(_ spsm: SPSM, _ manager: ManagerID) -> Bool {
        guard services[spsm]?.manager == manager else { return false }
        services[spsm] = nil
        return true
    }

    mutating func unpublishAll(of manager: ManagerID) { services = services.filter { $0.value.manager != manager } }
}
