package import NIOCore
package import NIOHTTP1

extension HTTPRequestHead {
    /// What makes a request ambiguous, so that a proxy before this host may have read another one; nil for none.
    var ambiguity: String? {
        let hosts = headers["Host"].count
        if hosts > 1 { return "The request has \(hosts) Host headers; send one." }
        if version.major == 1, version.minor == 0 {
            return headers.contains(name: "Transfer-Encoding")
                ? "HTTP/1.0 has no Transfer-Encoding; send a Content-Length, or use HTTP/1.1." : nil
        }
        return hosts == 0 ? "The request has no Host header." : nil
    }
}

/// Which requests a port answers, beyond those that its API refuses.
package struct PortRules: Sendable {
    /// Nil in production.
    package let hosts: LocalHosts?

    package init(hosts: LocalHosts?) { self.hosts = hosts }

    /// - Returns: nil if the request may be answered.
    func refusal(of head: HTTPRequestHead) -> LocalHosts.Refusal? {
        if let ambiguity = head.ambiguity { return .init(status: .badRequest, message: ambiguity) }
        guard let hosts else { return nil }
        if let refusal = hosts.refusal(of: head) { return refusal }
        // First whether a page sent it: most requests come from programs, with a long token.
        guard head.headers.contains(name: "Origin"), Self.needsOwner(head) else { return nil }
        return hosts.refusal(ofForeign: head)
    }

    /// Whether a request acts as the owner or uses a helper of the emulator. Pages of other sites may do neither.
    private static func needsOwner(_ head: HTTPRequestHead) -> Bool {
        // Servers may skip empty segments, as those of `//emulator/…`.
        if head.uri.split(separator: "/").first == "emulator" { return true }
        return head.headers["Authorization"].contains { value in
            let words = value.utf8.split(whereSeparator: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") })
            return words.count == 2 && words[1].elementsEqual("owner".utf8)
                && String(words[0])?.lowercased() == "bearer"
        }
    }
}

/// Refuses requests before a server sees them, and removes the bodies of answers to HEAD.
///
/// Stands between the HTTP codec of a connection and its server, which answers one request after the other.
package final class StrictHTTPHandler: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias InboundOut = HTTPServerRequestPart
    package typealias OutboundIn = HTTPServerResponsePart
    package typealias OutboundOut = HTTPServerResponsePart

    private let rules: PortRules
    /// Of each request that isn't answered yet, whether it is a HEAD.
    private var unanswered: [Bool] = []
    /// A refusal that waits for the answers before it. Nothing is read after it.
    private var refusal: LocalHosts.Refusal?
    private var isRefusing = false
    /// The head of an answer to HEAD that names no length, until the answer's length is known.
    private var head: HTTPResponseHead?
    private var length = 0

    package init(_ rules: PortRules) { self.rules = rules }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefusing else { return }
        if case .head(let head) = unwrapInboundIn(data) {
            if let refusal = rules.refusal(of: head) {
                isRefusing = true
                self.refusal = refusal
                return refuseIfNext(context)
            }
            unanswered.append(head.method == .HEAD)
        }
        context.fireChannelRead(data)
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let part = unwrapOutboundIn(data)
        let isHEAD = unanswered.first ?? false
        switch part {
        case .head(let head) where isHEAD && head.status.code >= 200:
            self.head = head
            length = 0
            promise?.succeed()
        case .body(let bytes) where isHEAD:
            length += bytes.readableBytes
            promise?.succeed()
        case .end:
            if var head {
                if !head.headers.contains(name: "Content-Length") {
                    head.headers.remove(name: "Transfer-Encoding")
                    head.headers.add(name: "Content-Length", value: "\(length)")
                }
                self.head = nil
                context.write(wrapOutboundOut(.head(head)), promise: nil)
            }
            context.write(data, promise: promise)
            if !unanswered.isEmpty { unanswered.removeFirst() }
            refuseIfNext(context)
        default: context.write(data, promise: promise)
        }
    }

    /// Answers the refused request once all before it are answered, and closes the connection.
    private func refuseIfNext(_ context: ChannelHandlerContext) {
        guard unanswered.isEmpty, let refusal else { return }
        self.refusal = nil
        let body = ByteBuffer(bytes: refusal.json)
        let headers: HTTPHeaders = [
            "Content-Type": "application/json; charset=utf-8", "Content-Length": "\(body.readableBytes)",
            "Connection": "close",
        ]
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: refusal.status, headers: headers))),
            promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        let sent = context.eventLoop.makePromise(of: Void.self)
        let channel = context.channel
        sent.futureResult.whenComplete { _ in channel.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
    }

    /// Puts the handler where a server's own handlers can't: it is to see the requests as they were sent.
    package final class Installer: ChannelInboundHandler, RemovableChannelHandler {
        package typealias InboundIn = Any

        private let rules: PortRules

        package init(_ rules: PortRules) { self.rules = rules }

        package func handlerAdded(context: ChannelHandlerContext) {
            do {
                let pipeline = context.pipeline.syncOperations
                let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
                try pipeline.addHandler(StrictHTTPHandler(rules), position: .after(decoder))
                pipeline.removeHandler(self, promise: nil)
            } catch {
                // Without the handler no request may be answered.
                context.close(promise: nil)
            }
        }
    }
}
