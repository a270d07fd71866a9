import NIOCore

extension Channel {
    /// Bytes that were written and that the system hasn't taken. Call on the channel's loop.
    package var unsentBytes: Int { (try? syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }

    /// Lets the system take little more than what it can send. Otherwise it takes some MiB of an answer, which no
    /// budget counts, and for minutes nothing more from a client on a slow line, who then seems to take nothing.
    package func boundUnsentInSystem() {
        #if os(Linux)
            let option = NIOBSDSocket.Option(rawValue: 25)  // TCP_NOTSENT_LOWAT
        #else
            let option = NIOBSDSocket.Option(rawValue: 0x201)
        #endif
        // Not for sockets other than TCP's.
        try? syncOptions?.setOption(ChannelOptions.Types.SocketOption(level: .tcp, name: option), value: 131_072)
    }
}
