import NIOCore

extension Channel {
    /// Lets the system take little more than what it can send. Otherwise it takes some MiB of what a client doesn't read, which
    /// no bound counts.
    func boundUnsentInSystem() {
        #if os(Linux)
            let option = NIOBSDSocket.Option(rawValue: 25)  // TCP_NOTSENT_LOWAT
        #else
            let option = NIOBSDSocket.Option(rawValue: 0x201)
        #endif
        // Not for sockets other than TCP's.
        try? syncOptions?.setOption(ChannelOptions.Types.SocketOption(level: .tcp, name: option), value: 131_072)
    }
}
