import ATT
import BluetoothCore
import BluetoothCrypto
import GATT
import HCI
import SecurityManager

/// Where a link is with an app's indications.
package enum IndicationState: Hashable, Sendable {
    /// The client's Characteristic Configuration does not ask for this value's.
    case notConfigured
    /// One of them, or another app's, has yet to be confirmed.
    case underWay
    case ready
}

// MARK: Peripheral managers

extension Host {
    package func respond(to request: ServerRequestID, value: [UInt8]) { ask { $0.respond(to: request, value: value) } }

    package func refuse(_ request: ServerRequestID, error: ATTErrorCode) { ask { $0.refuse(request, error: error) } }

    /// Publishes a service for a manager. The same definition in the same place as in an earlier life gets the handles
    /// that it had then, so that nothing changes for bonded clients.
    package func publish(_ manager: ManagerID, _ service: ServiceDefinition) throws(HostError) -> PublishedService {
        try ask { (core: inout HostCore) throws(HostError) in try core.publish(manager, service) }
    }

    package func unpublish(_ manager: ManagerID, service declaration: AttributeHandle) {
        ask { $0.unpublish(manager, service: declaration) }
    }

    package func unpublishAll(_ manager: ManagerID) { ask { $0.unpublishAll(manager) } }

    /// Whether a service stands from before, an earlier life or the adapter's last absence, and may be published again.
    package func isInherited(_ manager: ManagerID, service declaration: AttributeHandle) -> Bool {
        core.isInherited(manager, service: declaration)
    }

    /// What a manager has published, restored services among it, in the order of handles.
    package func publishedServices(of manager: ManagerID) -> [PublishedService] { core.publishedServices(of: manager) }

    /// Notifies or indicates, as each subscriber chose. `to` nil means every subscriber. With `keepForAbsent`, bonded
    /// subscribers among these that are away, or have not proved themselves yet, get the value when they have; for each, the newest
    /// are kept. For a link by itself nothing is kept. False says that a queue of somebody who is here is full: nothing was sent, and `readyToUpdate` will come. With
    /// `isBulk` it is full earlier, so that a controller's buffers are there for others.
    package func updateValue(
        _ manager: ManagerID, _ handle: AttributeHandle, _ value: [UInt8], to recipients: [UpdateRecipient]?,
        keepForAbsent: Bool, isBulk: Bool = false
    ) -> Bool {
        ask { $0.updateValue(manager, handle, value, to: recipients, keepForAbsent: keepForAbsent, isBulk: isBulk) }
    }

    /// Whether a client on this link has asked for this value's indications, and has confirmed all that it was sent.
    package func indications(of handle: AttributeHandle, on link: LinkID) -> IndicationState {
        core.indications(of: handle, on: link)
    }

    /// Whether a client on this link has asked for this value's notifications.
    package func isNotified(of handle: AttributeHandle, on link: LinkID) -> Bool {
        core.isNotified(of: handle, on: link)
    }

    /// Centrals that subscribed to a characteristic, bonded ones that are away among them.
    package func subscribers(of handle: AttributeHandle) -> [Subscriber] { ask { $0.subscribers(of: handle) } }
}
