import BlueZ
import BluetoothCore
import HCI
import SecurityManager

// MARK: What happens to a connection handle

extension HostCore {
    /// The link at a handle, if events are its to hear.
    func openLink(at handle: ConnectionHandle) -> Link? {
        guard let link = links.link(at: handle), link.lifecycle.handle(.event, now: now) == [.deliver] else {
            return nil
        }
        return link
    }

    /// Runs what happened to a handle through its lifecycle, and does what follows, but for making the link that it opens.
    /// `reason`: why it ended, or is to end.
    @discardableResult
    mutating func happened(
        _ input: LinkLifecycle.Input, at handle: ConnectionHandle, reason: HCIErrorCode = .unspecifiedError
    ) -> LinkLifecycle {
        let link = links.link(at: handle)
        var lifecycle = links.lifecycle(at: handle)
        let outputs = lifecycle.handle(input, now: now)
        if !outputs.contains(.close) { link?.lifecycle = lifecycle }
        // The controller may have refused to advertise while it still had this one.
        if links.note(lifecycle, at: handle) { tellGAP(.roomMade) }
        for output in outputs {
            switch output {
            case .fault: noteFault()
            case .close: if let link { closed(link, reason: reason) }
            case .disconnect:
                if let device = link?.device {
                    tellBlueZ(.disconnect(link: device))
                    break
                }
                let purpose: CommandPurpose =
                    if let link, !lifecycle.isRejected { .link(link.id, .disconnect) } else { .rejectLink(handle) }
                submit(HCIDisconnect(handle: handle, reason: reason), for: purpose)
            case .controllerFailed:
                // bluetoothd keeps the link all the same: for this side it is over.
                if let link, link.device != nil {
                    closed(link, reason: reason)
                    break
                }
                controllerFailed(input == .disconnected ? .unknownLink(handle) : .unresponsive(HCIDisconnect.opcode))
            case .open, .deliver: break
            }
        }
        return lifecycle
    }

    mutating func disconnectAnswered(_ status: HCIErrorCode, at handle: ConnectionHandle) {
        switch status {
        case .success: break
        case .unknownConnectionIdentifier:
            happened(.disconnectNotKnown, at: handle, reason: .connectionTerminatedByLocalHost)
            wishesChanged()
        default: happened(.disconnectRefused, at: handle)
        }
    }

    /// A link that should have ended by now, and has not, is the controller's fault: with it every link starts anew.
    mutating func endOverdueLinks() {
        if let overdue = links.overdue(now) { happened(.deadline, at: overdue) }
    }
}

// MARK: Links that stand still

extension HostCore {
    /// A peer that acknowledges nothing for ``ACLSendQueue/standstillMaximumMilliseconds`` loses its link, and with it the
    /// controller's buffers.
    mutating func dropStandingLinks() {
        while let handle = controller.acl?.takeStandstill(now: now) {
            if let link = links.link(at: handle) { drop(link.id) }
        }
    }
}
