import NIOCore

/// How fast the client of a connection takes its answers. One that takes too little is cut off, so that it doesn't hold
/// memory for ever; one on a slow line has the time it needs.
struct AnswerPace {
    enum Finding {
        /// There is nothing for the client to take.
        case nothing
        case enough
        case tooLittle
    }

    /// What a client has to take between two looks, which are ``PortTimes/idle`` apart: about 3 KiB/s.
    static let leastBytes = 256 * 1024

    private var written = 0
    /// What was taken at the last look.
    private var taken = 0

    /// An answer begins: from now on the client may take it.
    mutating func begin() { taken = written }

    /// Bytes of an answer were written to the channel.
    mutating func wrote(_ bytes: Int) { written += bytes }

    /// - Returns: what the client has taken since the answer began or since the last look, whichever is later.
    mutating func look(at channel: any Channel) -> Finding {
        let unsent = (try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        let before = taken
        taken = written - unsent
        if unsent == 0 { return .nothing }
        return taken - before >= Self.leastBytes ? .enough : .tooLittle
    }
}
