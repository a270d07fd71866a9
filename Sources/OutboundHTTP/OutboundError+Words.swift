import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension OutboundError {
    /// What the HTTP library reports; an exchange knows better whether the request was sent.
    init(_ error: any Error, host: String) { self.init(.notSent, host: host, Self.reason(error)) }

    /// The library's own descriptions are often names of cases, and may hold a part of the request.
    private static func reason(_ error: any Error) -> String {
        if error.isOfClosedConnection { return "the connection was closed before the response was complete" }
        switch error {
        case is OpenExchange.RestIsUnwanted: return "the rest of the response isn't wanted"
        case let error as NIOConnectionError:
            return error.connectionErrors.last.map { reason($0.error) } ?? "the host's name can't be resolved"
        case is SocketAddressError, is SocketAddressError.UnknownHost: return "the host's name can't be resolved"
        case let error as IOError: return reason(errno: error.errnoCode)
        case is HTTPParserError: return "the response isn't valid HTTP"
        case let error as HTTPClientError: return reason(error)
        case NIOSSLError.handshakeFailed(let cause):
            return "\(cause)".contains("CERTIFICATE_VERIFY_FAILED")
                ? "the service's certificate isn't trusted" : "the TLS handshake failed"
        case NIOSSLError.unableToValidateCertificate: return "the service's certificate isn't trusted"
        case let error as NIOSSLExtraError
        where error == .failedToValidateHostname || error == .serverHostnameImpossibleToMatch:
            return "the service's certificate is another host's"
        case NIOSSLError.noSuchFilesystemObject, NIOSSLError.failedToLoadCertificate:
            return "the file of trusted roots (SSL_CERT_FILE) can't be read"
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: return "the TLS connection failed"
        case let error as ChannelError:
            if case .connectTimeout = error { return "no connection was established in time" }
            return "the connection failed"
        default: return "the connection failed"
        }
    }

    private static func reason(errno: Int32) -> String {
        switch errno {
        case ECONNREFUSED: "the connection was refused"
        case ETIMEDOUT: "no connection was established in time"
        case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL: "the network doesn't reach the host"
        case EMFILE, ENFILE: "too many files are open"
        default: "the connection failed (errno \(errno))"
        }
    }

    private static func reason(_ error: HTTPClientError) -> String {
        switch error {
        case .connectTimeout, .getConnectionFromPoolTimeout: "no connection was established in time"
        case .tlsHandshakeTimeout: "the TLS handshake wasn't finished in time"
        case .httpProxyHandshakeTimeout: "the proxy didn't answer in time"
        case .invalidProxyResponse: "the proxy refuses to connect"
        case .proxyAuthenticationRequired: "the proxy requires another user or password"
        case .cancelled: "the request was cancelled"
        case _ where error.shortDescription.hasPrefix("Invalid header"): "the request has an invalid header"
        // Holds no value of the request.
        default: error.shortDescription
        }
    }
}

extension Error {
    /// Whether another connection may not meet it.
    fileprivate var isOfConnecting: Bool {
        switch self {
        case is NIOConnectionError, is ChannelError, is IOError, is NIOSSLError: true
        case let error as HTTPClientError: error == .connectTimeout || error == .getConnectionFromPoolTimeout
        default: false
        }
    }

    /// Whether the request may succeed if it is sent once more.
    var mayBeOver: Bool { isOfClosedConnection || isOfConnecting }

    /// Whether the connection was closed before the response was complete.
    var isOfClosedConnection: Bool {
        switch self {
        case let error as HTTPClientError: error == .remoteConnectionClosed
        case let error as ChannelError: error == .ioOnClosedChannel || error == .eof
        case let error as IOError: error.errnoCode == ECONNRESET || error.errnoCode == EPIPE
        case let error as HTTPParserError: error == .invalidEOFState || error == .closedConnection
        case let error as NIOSSLError: error == .uncleanShutdown
        default: false
        }
    }
}
