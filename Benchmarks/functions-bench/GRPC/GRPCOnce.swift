import NIOCore
import NIOPosix

/// One call on a connection of its own.
enum GRPCOnce {
    static func ask(_ request: GRPCRequest, of port: Int) async throws -> [ByteBuffer] {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let client = try await GRPCClient.connect(to: port, on: loop)
        let promise = loop.makePromise(of: [ByteBuffer].self)
        try await loop.submit {
            var messages: [ByteBuffer] = []
            let stream = GRPCClientStream {
                messages.append($0)
            } onEnd: { failure in
                if let failure { promise.fail(LoadError(failure)) } else { promise.succeed(messages) }
            }
            client.value.call(request.method, request.message, stream)
        }.get()
        let messages = try await promise.futureResult.get()
        try await loop.submit { client.value.channel.close(promise: nil) }.get()
        return messages
    }
}
