import DocumentModel

/// What is known of a request besides its content.
struct ClientCall: Sendable {
    @TaskLocal static var current: ClientCall?

    /// A number that stands for the client's address; nil if the address is unknown.
    let address: UInt64?
    /// Counts what is read for the answer.
    let answer: ClientAnswer?
    /// Cancelled once the client has left.
    let cancellation = OperationCancellation()

    /// - Parameter answer: nil for streams, whose answers have bounds of their own.
    init(address: UInt64?, answer: ClientAnswer? = nil) {
        self.address = address
        self.answer = answer
    }

    /// Counts what the call's writes take in memory until it is answered.
    func hold(_ writes: [Write]) throws(DocumentError) {
        try answer?.take(writes.reduce(0) { $0 + $1.weight })
    }
}
