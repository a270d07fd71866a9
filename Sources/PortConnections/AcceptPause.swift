package import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Lets a server's channel rest while the system has neither files nor memory for another connection: it would go on trying
/// without a pause.
///
/// Stands first in the channel's pipeline.
package final class AcceptPause: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = any Channel

    private let report: (IOError) -> Void
    private var isResting = false

    private static let time = TimeAmount.milliseconds(250)
    private static let shortages: Set<CInt> = [EMFILE, ENFILE, ENOBUFS, ENOMEM]

    /// - Parameter report: called when a rest begins.
    package init(report: @escaping (IOError) -> Void) { self.report = report }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError else { return context.fireErrorCaught(error) }
        // Of a client that has left meanwhile. NIO's own handler, which some ports have behind this one, would rest for a
        // second.
        guard error.errnoCode != ECONNABORTED else { return }
        // Another one closes the channel.
        guard Self.shortages.contains(error.errnoCode) else { return context.fireErrorCaught(error) }
        guard !isResting else { return }
        isResting = true
        report(error)
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.time) { [self] in
            isResting = false
            try? context.channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }
}
