import NIOCore
import Sharing

/// One request and its answer.
protocol RESTExchange: AnyObject {
    /// A part of the body.
    func receive(_ bytes: ByteBuffer)
    /// Whether the body is in memory.
    var holdsBody: Bool { get }
    /// Who holds it, as far as is known.
    var holder: MemoryBudget.Holder? { get }
    /// The request is whole.
    func begin()
    /// The client takes more of its answer.
    func clientIsReady()
    /// The connection is closed: the answer can't be sent any more.
    func clientLeft()
}

extension RESTExchange {
    var holdsBody: Bool { true }
    var holder: MemoryBudget.Holder? { nil }
}

/// What ends by itself once the port stops.
protocol EventStreamOwner: RESTExchange {
    func stop()
    /// Ends a stream of a server whose key was revoked.
    func endIfRevoked()
}
