/// An answer that goes on until its client leaves, or the port stops.
protocol EventStream: AnyObject {
    /// The client takes more.
    func clientIsReady()
    /// Ends the answer: the client connects again.
    func stop()
    /// Ends the stream of a server whose key was revoked.
    func endIfRevoked()
    /// The client has left.
    func cancel()
}
