/// The radio as a process: each connection to its socket is a controller, a closed one is a controller gone.
package struct RadioServer: ~Copyable {
    package struct Configuration: Sendable {
        /// The unix stream socket that hosts connect to, in H4.
        package var socketPath: String
        /// The unix stream socket of the line protocol; nil for none.
        package var controlPath: String?
        package var air: AirConfiguration
        /// What each connection becomes.
        package var controller: ControllerConfiguration
        /// Where each controller's traffic is captured, one btsnoop file per controller; nil for nowhere.
        package var captureDirectory: String?

        package init(
            socketPath: String, controlPath: String? = nil, air: AirConfiguration = AirConfiguration(),
            controller: ControllerConfiguration = ControllerConfiguration(), captureDirectory: String? = nil
        ) {
            self.socketPath = socketPath
            self.controlPath = controlPath
            self.air = air
            self.controller = controller
            self.captureDirectory = captureDirectory
        }
    }

    private let configuration: Configuration

    /// Makes and binds the sockets; from its return on hosts can connect.
    package init(configuration: Configuration) throws(RadioServerError) { self.configuration = configuration }

    /// Serves until SIGTERM, SIGINT or `stop`.
    package mutating func run() throws(RadioServerError) {}
}

/// Why the radio cannot serve, in one line for its operator.
package struct RadioServerError: Error, Equatable, CustomStringConvertible {
    package let description: String
}
