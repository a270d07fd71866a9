import CommitPipeline
import DocumentModel

/// The transactions that ended last. Rolling one of them back succeeds, as on Firestore: SDKs do so after a commit that
/// failed, and an error would hide why it did. Bounded: the oldest are forgotten first.
struct EndedTransactions: Sendable {
    private struct Ended: Hashable {
        var id: TransactionID
        var owner: UInt64?
    }

    private var known: Set<Ended> = []
    private var ages = IndexedQueue<Ended>()

    mutating func note(_ id: TransactionID, owner: UInt64?, limit: Int) {
        let ended = Ended(id: id, owner: owner)
        guard known.insert(ended).inserted else { return }
        ages.append(ended)
        if ages.count > limit, let oldest = ages.popFirst() { known.remove(oldest) }
    }

    func contains(_ id: TransactionID, owner: UInt64?) -> Bool { known.contains(Ended(id: id, owner: owner)) }
}
