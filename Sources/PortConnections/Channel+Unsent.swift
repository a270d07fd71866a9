package import NIOCore

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

    /// Lets the system end the connection once its peer has taken nothing of what was sent for a time, whether it is silent
    /// or says that it has no room. Otherwise the system sends again for a quarter of an hour.
    package func endWhenUnacknowledged(for time: TimeAmount) {
        #if os(Linux)
            let option = NIOBSDSocket.Option(rawValue: 18)  // TCP_USER_TIMEOUT
            try? syncOptions?.setOption(
                ChannelOptions.Types.SocketOption(level: .tcp, name: option),
                value: SocketOptionValue(clamping: time.nanoseconds / 1_000_000))
        #endif
    }
}
