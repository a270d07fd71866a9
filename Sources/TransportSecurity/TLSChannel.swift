package import HummingbirdCore
package import Logging
package import NIOCore

/// A server's connections, with TLS before them if the host has a certificate.
package struct TLSChannel<Base: ServerChildChannel>: ServerChildChannel {
    package typealias Value = Base.Value

    private let base: Base
    private let ports: TLSPorts?
    private let protocols: TLSProtocols
    private let admit: @Sendable (any Channel) throws -> Void

    /// - Parameters:
    ///   - ports: nil for connections without TLS.
    ///   - admit: throws if a connection is to be closed at once.
    package init(
        _ base: Base, _ ports: TLSPorts?, _ protocols: TLSProtocols,
        admit: @escaping @Sendable (any Channel) throws -> Void = { _ in }
    ) {
        self.admit = admit
        self.base = base
        self.ports = ports
        self.protocols = protocols
    }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        do {
            try admit(channel)
            try ports?.secure(channel, protocols)
        } catch {
            // The server forgets a channel whose setup fails, and leaves it open.
            channel.close(promise: nil)
            return channel.eventLoop.makeFailedFuture(error)
        }
        return base.setup(channel: channel, logger: logger)
    }

    package func handle(value: Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}
