package import NIOCore

/// Lets a server's channel rest while the system has neither files nor memory for another connection: it would go on trying
/// without a pause.
///
/// Stands first in the channel's pipeline.
package final class AcceptPause: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = any Channel

    private let report: (IOError) -> Void
    private var isResting = false

    private static let time = TimeAmount.milliseconds(250)

    /// - Parameter report: called when a rest begins.
    package init(report: @escaping (IOError) -> Void) { self.report = report }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // One after which nothing can be accepted any more closes the channel anyway.
        guard let error = error as? IOError else { return context.fireErrorCaught(error) }
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
