import AsyncHTTPClient
import FunctionsRuntime
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Sends requests with async-http-client, over connections that are kept for the process's life.
struct PooledTransport: FetchTransport {
    static let shared = PooledTransport()

    /// One thread: it moves bytes and runs no code of authors.
    private let client = HTTPClient(
        eventLoopGroup: MultiThreadedEventLoopGroup(numberOfThreads: 1),
        configuration: {
            var configuration = HTTPClient.Configuration(
                // fetch follows redirects.
                redirectConfiguration: .disallow,
                timeout: .init(connect: .seconds(30)),
                // Of one part; what a body may have in all is bounded where it is read.
                decompression: .enabled(limit: .ratio(200)))
            // An HTTP/2 response that is followed by RST_STREAM would end the process (async-http-client #922).
            configuration.httpVersion = .http1Only
            // Servers close idle connections after a minute, some earlier.
            configuration.connectionPool.idleTimeout = .seconds(30)
            // As many as a worker may have invocations: a request that waits for a connection may wait for itself.
            configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1000
            // A refused connection is an error at once.
            configuration.connectionPool.retryConnectionEstablishment = false
            return configuration
        }())

    func send(_ request: FetchRequest) async throws -> FetchResponse {
        do {
            return try await response(to: request)
        } catch  where Self.isClosed(error) && (request.isRepeatable || request.isBytes && Self.isUnsent(error)) {
            do {
                return try await response(to: request)
            } catch {
                throw Self.explained(error, request)
            }
        } catch {
            throw Self.explained(error, request)
        }
    }

    private func response(to request: FetchRequest) async throws -> FetchResponse {
        var message = HTTPClientRequest(url: request.url)
        message.method = HTTPMethod(rawValue: request.method)
        message.headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
        switch request.content {
        case .bytes(let bytes):
            if !bytes.isEmpty || request.method == "POST" || request.method == "PUT" { message.body = .bytes(bytes) }
        case .stream(let length, let parts):
            message.body = .stream(
                parts().map(ByteBuffer.init(bytes:)), length: length.map { .known(Int64($0)) } ?? .unknown)
        }
        let left = request.deadline - .now
        let answer = try await client.execute(message, deadline: .now() + TimeAmount(max(left, .zero)))
        var headers = Headers()
        for (name, value) in answer.headers { headers.add(name, value) }
        // A handler that passes the headers on with the body would describe the compressed one.
        let coding = answer.headers[canonicalForm: "Content-Encoding"].first?.lowercased()
        if request.method != "HEAD", coding == "gzip" || coding == "deflate" {
            headers["Content-Encoding"] = nil
            headers["Content-Length"] = nil
        }
        return FetchResponse(
            status: Int(answer.status.code), headers: headers,
            body: AnyParts(ReceivedParts(body: answer.body, request: request)), to: request)
    }

    /// An error of the client in the words of this one.
    fileprivate static func explained(_ error: any Error, _ request: FetchRequest) -> any Error {
        if Task.isCancelled || error is CancellationError { return CancellationError() }
        if error is FetchError { return error }
        if isClosed(error) {
            let message = "the connection was closed before the response was complete"
            return FetchError(.unreachable, message, url: request.url)
        }
        let (code, message): (FetchError.Code, String) =
            switch error as? HTTPClientError {
            case .deadlineExceeded?, .connectTimeout?, .readTimeout?, .getConnectionFromPoolTimeout?,
                .tlsHandshakeTimeout?:
                (.timedOut, "no response within the time")
            case .bodyLengthMismatch?: (.invalidRequest, "the body's length isn't the one that was given")
            case let known? where known.isMistake: (.invalidRequest, known.shortDescription)
            default: (.unreachable, "\(error)")
            }
        return FetchError(code, message, url: request.url)
    }

    /// Whether the connection was closed before the response was complete.
    private static func isClosed(_ error: any Error) -> Bool {
        if let error = error as? HTTPClientError { return error == .remoteConnectionClosed }
        return isUnsent(error) || [ECONNRESET, EPIPE].contains((error as? IOError)?.errnoCode)
    }

    /// Whether the connection was closed before anything was sent.
    private static func isUnsent(_ error: any Error) -> Bool { error as? ChannelError == .ioOnClosedChannel }

    private struct ReceivedParts: AsyncSequence, Sendable {
        let body: HTTPClientResponse.Body
        let request: FetchRequest

        struct AsyncIterator: AsyncIteratorProtocol {
            var base: HTTPClientResponse.Body.AsyncIterator
            let request: FetchRequest

            mutating func next() async throws -> [UInt8]? {
                do {
                    return try await base.next().map { Array($0.readableBytesView) }
                } catch {
                    throw PooledTransport.explained(error, request)
                }
            }
        }

        func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(base: body.makeAsyncIterator(), request: request)
        }
    }
}

extension FetchRequest {
    /// Whether the request may be sent twice (RFC 9110, 9.2.2).
    fileprivate var isRepeatable: Bool { isBytes && ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"].contains(method) }

    fileprivate var isBytes: Bool {
        if case .bytes = content { true } else { false }
    }
}

extension HTTPClientError {
    /// Whether the request itself can't be sent.
    fileprivate var isMistake: Bool {
        [.invalidURL, .emptyHost, .emptyScheme, .traceRequestWithBody].contains(self)
            || shortDescription.hasPrefix("Invalid header")
    }
}
