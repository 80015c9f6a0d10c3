import BluetoothCore

/// What a user is to see for a while, and may answer.
package struct Notice: Hashable, Sendable {
    package struct Action: Hashable, Sendable {
        /// What is told when it is chosen.
        package var name: String
        package var label: String

        package init(name: String, label: String) {
            self.name = name
            self.label = label
        }
    }

    /// What it is about. A later one about the same takes its place.
    package var about: PeerIdentifier
    package var title: String
    package var text: String
    package var actions: [Action]
    /// How long it stays.
    package var milliseconds: UInt32

    package init(
        about: PeerIdentifier, title: String, text: String, actions: [Action] = [], milliseconds: UInt32
    ) {
        self.about = about
        self.title = title
        self.text = text
        self.actions = actions
        self.milliseconds = milliseconds
    }
}
