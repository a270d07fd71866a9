/// An answer that goes on until its client leaves, or the port stops.
protocol EventStream: AnyObject {
    /// The client takes more.
    func clientIsReady()
    /// Ends the answer: the client connects again.
    func stop()
    /// The client has left.
    func cancel()
}
