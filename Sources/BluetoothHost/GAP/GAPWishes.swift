import BluetoothCore

extension GAP {
    /// What all of this side together wants of the air, as it is now. Nothing in it is GAP's own: it comes from the
    /// restoration ledger, the bonds and the links.
    struct Wishes {
        /// A peer that is to be connected, whether it is or not.
        struct Connection {
            enum Link { case none, ending, standing }

            /// The peer's identity address, or the address of one without a bond.
            let address: DeviceAddress
            /// Only its key may tell the address that it is under.
            let isPrivate: Bool
            /// nil for whoever the controller cannot resolve.
            let resolving: ResolvingList.Entry?
            let link: Link
        }

        /// This side's identity address.
        var identity = DeviceAddress(kind: .public, bits: 0)
        /// Be on the air under ``identity``: privacy is off, nobody could resolve another address, or a window is open. The
        /// stranger that it is open for knows nothing else, be it from a setup code.
        var showsIdentity = true
        /// The manager that was first going first.
        var advertisements: [AdvertisingSets<Owner>.Wish] = []
        var scans: [ScanRecord] = []
        /// The one that was asked for first going first.
        var connections: [Connection] = []
        /// Of those in the controller's resolving list, those whose key is still theirs.
        var resolvable: [ResolvingList.Entry] = []
        /// No link can be made, by whomever.
        var isFull = false
        /// Addresses on the air that there is a link with: a controller makes no second one.
        var addressesWithLinks: Set<DeviceAddress> = []
    }
}
