import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension Channel {
    /// Lets the channel's close reset its connection, so that the peer sees an error and not an end. Has no effect on
    /// channels other than sockets. Call on the channel's loop.
    package func resetWhenClosed() {
        _ = (self as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
    }
}
