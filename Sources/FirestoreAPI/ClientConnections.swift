import DocumentModel
package import NIOCore
import Synchronization

/// The connections of a port, so that what their clients no longer wait for ends.
package final class ClientConnections: Sendable {
    /// By channel: what the request in progress waits for. A connection has one request at a time.
    private let requests = Mutex<[ObjectIdentifier: OperationCancellation?]>([:])

    private let figures: ClientFigures

    package init(_ figures: ClientFigures = ClientFigures()) { self.figures = figures }

    /// A handler for each new connection.
    package func makeHandler() -> any RemovableChannelHandler { Handler(self) }

    /// Runs the body, and cancels it if the client leaves meanwhile.
    func during<Result>(
        _ cancellation: OperationCancellation, on channel: any Channel, _ body: () async throws -> Result
    ) async rethrows -> Result {
        let id = ObjectIdentifier(channel)
        let isOpen = requests.withLock { requests in
            guard requests[id] != nil else { return false }
            requests[id] = .some(cancellation)
            return true
        }
        if !isOpen { cancellation.cancel() }
        defer {
            requests.withLock { requests in
                if requests[id] != nil { requests[id] = .some(nil) }
            }
        }
        return try await body()
    }

    private func opened(_ channel: any Channel) {
        requests.withLock { $0[ObjectIdentifier(channel)] = .some(nil) }
        figures.addHTTPConnections(1)
    }

    private func closed(_ channel: any Channel) {
        let request = requests.withLock { $0.removeValue(forKey: ObjectIdentifier(channel)) }
        guard let request else { return }
        figures.addHTTPConnections(-1)
        request?.cancel()
    }

    private final class Handler: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = Any

        private let connections: ClientConnections

        init(_ connections: ClientConnections) { self.connections = connections }

        func handlerAdded(context: ChannelHandlerContext) { connections.opened(context.channel) }

        func handlerRemoved(context: ChannelHandlerContext) { connections.closed(context.channel) }

        func channelInactive(context: ChannelHandlerContext) {
            connections.closed(context.channel)
            context.fireChannelInactive()
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            // A client that sends nothing more has left, as on the functions port.
            if case .inputClosed? = event as? ChannelEvent { connections.closed(context.channel) }
            context.fireUserInboundEventTriggered(event)
        }
    }
}
