import Logging
package import NIOCore
import NIOHTTP1

extension PortHandler {
    /// Puts the handler where a server's own handlers can't: it is to see the requests as they were sent.
    package final class Installer: ChannelInboundHandler, RemovableChannelHandler {
        package typealias InboundIn = Any

        private let rules: PortRules

        package init(_ rules: PortRules) { self.rules = rules }

        package func handlerAdded(context: ChannelHandlerContext) {
            do {
                let pipeline = context.pipeline.syncOperations
                let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
                let heads = HeadGauge(rules.memory.bodies, rules.caller)
                try pipeline.addHandler(heads, position: .before(decoder))
                try pipeline.addHandler(PortHandler(rules, heads: heads), position: .after(decoder))
                pipeline.removeHandler(self, promise: nil)
            } catch {
                // Without the handler no request may be answered.
                context.close(promise: nil)
            }
        }
    }
}
