import DocumentStore
import Sharing

extension StoreConfiguration {
    /// Takes over what clients' listeners may have.
    mutating func apply(_ limits: ClientLimits.Listen) {
        maxListeners = limits.listeners
        maxListenersPerClient = limits.listenersPerClient
        maxListenerEvents = limits.waitingChanges
        maxListenerBytes = limits.waitingBytes
        maxUnreadBytes = limits.allWaitingBytes
        maxWindowBytes = limits.allWindowBytes
        maxWindowBytesPerClient = limits.windowBytesPerClient
        maxRefillTime = .seconds(limits.refillSeconds)
        maxListenerBacklog = limits.backlog
    }
}
