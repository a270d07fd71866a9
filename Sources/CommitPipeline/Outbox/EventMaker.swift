import DocumentModel

/// Makes the events of one commit.
struct EventMaker {
    let version: Int64
    let auth: EventAuth
    let chain: [String]
    let maxDepth: Int
    private var ordinal: UInt32 = 0

    init(version: Int64, context: OperationContext, maxDepth: Int) {
        self.version = version
        self.maxDepth = maxDepth
        auth = context.auth
        chain = context.chain
    }

    mutating func make(_ content: Event.Content, isNewChain: Bool = false) -> Event {
        defer { ordinal += 1 }
        return Event(
            id: EventID(version: version, ordinal: ordinal), time: Timestamp(microseconds: version), auth: auth,
            chain: isNewChain ? [] : chain, content: content)
    }

    /// Why an event isn't delivered to a function: the function would exceed the chain's limit.
    func loop(to function: String) -> String? {
        guard chain.count >= maxDepth else { return nil }
        return "events have led from function to function \(chain.count) times, the limit: "
            + (chain + [function]).joined(separator: " → ")
    }
}
