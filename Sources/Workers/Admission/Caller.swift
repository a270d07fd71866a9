import WorkerProtocol

/// The sender of a call, as far as the host can distinguish senders: the user, or the address if there is no user.
enum Caller: Hashable, Sendable {
    case user(String)
    case address(IPAddress)
}
