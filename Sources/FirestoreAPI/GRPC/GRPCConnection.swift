import NIOCore
import NIOHPACK
import NIOHTTP2
import PortConnections
import Sharing

/// An HTTP/2 connection whose streams are calls, or other requests.
package struct GRPCConnection: Sendable {
    private let service: FirestoreCalls

    package init(_ service: FirestoreCalls) { self.service = service }

    /// Makes the connection one of HTTP/2.
    ///
    /// - Parameter serveRequest: adds the handlers of a stream with any other request.
    func configure(
        _ channel: any Channel, serveRequest: @escaping @Sendable (any Channel) throws -> Void
    ) throws {
        let limits = service.limits.clients.grpc
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: limits.callsPerConnection),
            HTTP2Setting(parameter: .initialWindowSize, value: limits.window),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 32 * 1024),
        ]
        // Otherwise it has 64 KiB for all its streams, however much each may send.
        connection.targetWindowSize = limits.window
        // Clients' libraries end their streams by resetting them, and share one connection among all of a process.
        connection.maximumRecentlyResetStreams = 128
        connection.maximumConnectionGlitches = 10_000
        // Clients that measure a connection's bandwidth send a PING with what they receive, and the next once it is
        // answered: on the host's own machine, that may be more than ten thousand in a second. NIO allocates 8 bytes for each.
        connection.controlFrameRateLimit.maximumCount = 1000
        connection.controlFrameRateLimit.windowLength = .milliseconds(20)
        var streams = NIOHTTP2Handler.StreamConfiguration()
        // A client may end all of its streams at once, begin as many and end those; beyond that, it keeps the host busy with
        // calls that it doesn't wait for. NIO allocates 8 bytes for each.
        streams.streamResetFrameRateLimit.maximumCount = max(2 * limits.callsPerConnection, 2000)
        streams.streamResetFrameRateLimit.windowLength = .seconds(2)
        // Requests that are malformed cost as much. A proxy may send those of all its clients by one connection.
        streams.streamErrorRateLimit.windowLength = .milliseconds(200)
        streams.targetWindowSize = limits.window
        streams.outboundBufferSizeHighWatermark = 256 * 1024
        streams.outboundBufferSizeLowWatermark = 64 * 1024
        let service = service
        let peer = channel.remoteAddress
        let activity = NIOLoopBound(Activity(), eventLoop: channel.eventLoop)
        let handler = NIOHTTP2Handler(
            mode: .server, eventLoop: channel.eventLoop, connectionConfiguration: connection,
            streamConfiguration: streams
        ) { stream in
            let output = StreamOutput(service.answers)
            let call = GRPCCallHandler(service, peer: peer, output, serveRequest: serveRequest)
            activity.value.began(stream, call, output)
            return stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandlers([output, call])
            }
        }
        let figures = service.figures
        figures.addGRPCConnections(1)
        channel.closeFuture.whenComplete { _ in figures.addGRPCConnections(-1) }
        try channel.pipeline.syncOperations.addHandlers([
            ActivityWatch(activity.value), handler, ConnectionEnd(activity.value, service.limits),
        ])
    }

    /// When the client last sent something, and its streams. Used on the event loop.
    private final class Activity {
        var last = NIODeadline.now()
        private(set) var streams: [ObjectIdentifier: (call: GRPCCallHandler, output: StreamOutput)] = [:]
        /// When the last stream ended.
        private(set) var ended = NIODeadline.now()
        /// The highest stream that has begun.
        private(set) var lastStream = HTTP2StreamID.rootStream
        private var pace = ClientPace()

        /// Whether NIO has said with GOAWAY that an error of the connection has happened.
        private(set) var hasFailed = false
        private var frames = WrittenFrames()

        func wrote(_ bytes: ByteBuffer) {
            pace.wrote(bytes.readableBytes)
            if frames.wroteError(bytes) { hasFailed = true }
        }

        /// Looks for streams whose clients send or take nothing.
        ///
        /// - Parameter unsent: bytes of the connection that the system hasn't taken.
        /// - Returns: whether the client takes next to nothing of the connection: the end of a stream wouldn't reach it.
        func isStuck(now: NIODeadline, unsent: Int) -> Bool {
            pace.took(pace.unsent - unsent)
            guard !pace.look(now: now) else { return true }
            for (call, output) in Array(streams.values) {
                call.look(now: now)
                output.look(now: now)
            }
            return false
        }

        func stop() {
            for (call, _) in Array(streams.values) { call.stop() }
        }

        func began(_ stream: any Channel, _ call: GRPCCallHandler, _ output: StreamOutput) {
            if let id = try? stream.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID) {
                lastStream = max(lastStream, id)
            }
            streams[ObjectIdentifier(output)] = (call, output)
            stream.closeFuture.assumeIsolated().whenComplete { _ in
                self.streams[ObjectIdentifier(output)] = nil
                self.ended = .now()
            }
        }
    }

    private final class ActivityWatch: ChannelDuplexHandler {
        typealias InboundIn = ByteBuffer
        typealias InboundOut = ByteBuffer
        typealias OutboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let activity: Activity

        init(_ activity: Activity) { self.activity = activity }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            activity.last = .now()
            context.fireChannelRead(data)
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            activity.wrote(unwrapOutboundIn(data))
            context.write(data, promise: promise)
        }
    }

    /// Closes the connection once its client has left or has had no stream for some time, after an error of its own, and when
    /// the host stops.
    private final class ConnectionEnd: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame
        typealias OutboundOut = HTTP2Frame

        /// What calls under way have left.
        private static let patience = TimeAmount.seconds(1)
        /// A client that is silent for so long is asked whether it is still there, and has as long again to answer.
        private let silence: TimeAmount
        private let idleness: TimeAmount
        /// Between two looks.
        private let pause: TimeAmount

        private let activity: Activity
        private var watch: Scheduled<Void>?
        /// When the client was asked last.
        private var pinged: NIODeadline?

        init(_ activity: Activity, _ limits: GRPCLimits) {
            self.activity = activity
            silence = .seconds(Int64(limits.clients.grpc.pingSeconds))
            idleness = .seconds(Int64(limits.clients.grpc.idleSeconds))
            pause = min(silence, idleness, .seconds(Int64(limits.transferSeconds)))
        }

        func handlerAdded(context: ChannelHandlerContext) { look(context) }

        private func look(_ context: ChannelHandlerContext) {
            watch = context.eventLoop.assumeIsolated().scheduleTask(in: pause) {
                let now = NIODeadline.now()
                if self.activity.streams.isEmpty, now - self.activity.ended >= self.idleness {
                    return self.end(context)
                }
                if self.activity.isStuck(now: now, unsent: context.channel.unsentBytes) {
                    return context.close(promise: nil)
                }
                if let pinged = self.pinged, pinged > self.activity.last {
                    // Looks may be closer than a client has time to answer.
                    if now - pinged >= self.silence { return context.close(promise: nil) }
                } else if now - self.activity.last >= self.silence {
                    self.pinged = now
                    let ping = HTTP2Frame(
                        streamID: .rootStream, payload: .ping(HTTP2PingData(withInteger: 0), ack: false))
                    context.writeAndFlush(self.wrapOutboundOut(ping), promise: nil)
                }
                self.look(context)
            }
        }

        /// Tells the client to open another connection, and closes this one soon. NIO refuses the streams that the
        /// client begins meanwhile. Those that come too late for that are above the last one that was served, so that
        /// the client may send them again (RFC 9113, section 6.8).
        private func end(_ context: ChannelHandlerContext) {
            sendGoAway(.maxID, context)
            context.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) {
                guard context.channel.isActive else { return }
                self.sendGoAway(self.activity.lastStream, context)
                context.close(promise: nil)
            }
        }

        private func sendGoAway(_ lastStream: HTTP2StreamID, _ context: ChannelHandlerContext) {
            let frame = HTTP2Frame(
                streamID: .rootStream, payload: .goAway(lastStreamID: lastStream, errorCode: .noError, opaqueData: nil))
            context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            watch?.cancel()
            context.fireChannelInactive()
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .inputClosed? = event as? ChannelEvent { context.close(promise: nil) }
            if event is ChannelShouldQuiesceEvent {
                // Streams that go on would hold up the host.
                end(context)
                activity.stop()
            }
            context.fireUserInboundEventTriggered(event)
        }

        /// NIO reports errors of single streams here, too: a malformed request, whose stream it has reset, and a frame that
        /// waited until the connection could be written to, while its stream ended. They leave the other streams alone.
        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            // Headers that fit no frame are in the connection's table, but not in its client's, which would read the
            // headers of later answers wrongly.
            let isOfConnection = activity.hasFailed || error is NIOHTTP2Errors.UnableToSerializeFrame
            guard error is any NIOHTTP2Error, !isOfConnection else { return context.close(promise: nil) }
        }
    }
}

/// Finds the frame among those of a connection by which its server says that an error has happened.
private struct WrittenFrames {
    private static let headerBytes = 9
    private static let goAway: UInt8 = 7

    /// Bytes of the latest frame that are still to be written.
    private var rest = 0

    /// - Parameter bytes: one or several frames, or what follows the beginning of one: NIO writes the content of DATA by
    ///   itself.
    /// - Returns: whether they are GOAWAY with an error (RFC 9113, section 6.8).
    mutating func wroteError(_ bytes: ByteBuffer) -> Bool {
        guard rest == 0 else {
            rest = max(rest - bytes.readableBytes, 0)
            return false
        }
        let start = bytes.readerIndex
        guard bytes.readableBytes >= Self.headerBytes, let head: UInt32 = bytes.getInteger(at: start) else {
            return false
        }
        rest = max(Self.headerBytes + Int(head >> 8) - bytes.readableBytes, 0)
        guard UInt8(truncatingIfNeeded: head) == Self.goAway else { return false }
        let code: UInt32? = bytes.getInteger(at: start + Self.headerBytes + 4)
        return code != 0
    }
}
