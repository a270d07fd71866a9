import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension Channel {
    /// Resets the channel's connection, so that the peer sees an error and not an end. What isn't sent yet is dropped, and
    /// no handler sees the close: TLS would announce a proper end. Call on the channel's loop.
    package func reset() {
        _ = (self as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        _channelCore.close0(error: ChannelError.ioOnClosedChannel, mode: .all, promise: nil)
    }
}
