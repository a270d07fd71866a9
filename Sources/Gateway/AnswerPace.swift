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
    /// Whether anything waited for the client at the last look.
    private var hasWaited = false

    /// A new period begins: what the client takes from now on counts at the next look.
    mutating func begin() {
        taken = written
        hasWaited = false
    }

    /// Bytes of an answer are about to be written to the channel.
    mutating func wrote(_ bytes: Int) { written += bytes }

    /// - Parameter unsent: bytes that were written and that the system hasn't taken.
    /// - Returns: what the client has taken since the begin or the last look, whichever is later.
    mutating func look(_ unsent: Int) -> Finding {
        let before = taken
        taken = written - unsent
        if unsent == 0 { return .nothing }
        return taken - before >= Self.leastBytes ? .enough : .tooLittle
    }

    /// Looks at an answer that is still being made, of which there may be little to take.
    ///
    /// - Returns: whether something has waited for the client since the last look, and it has taken nothing.
    mutating func hasStalled(_ unsent: Int) -> Bool {
        let (before, hadWaited) = (taken, hasWaited)
        taken = written - unsent
        hasWaited = unsent > 0
        return hadWaited && taken <= before
    }
}
