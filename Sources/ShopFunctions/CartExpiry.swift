import FunctionsRuntime

/// Removes cart items that haven't changed for 30 days.
struct CartExpiry {
    private static let pageSize = 300
    static let kept: Duration = .seconds(30 * 86_400)

    var firestore: Firestore
    /// Items last changed before this time are removed.
    var cutoff: Timestamp

    /// - Parameter now: When the run was due, so that a late run removes the same items.
    init(_ firestore: Firestore, now: Timestamp) {
        self.firestore = firestore
        cutoff = Timestamp(microseconds: now.microseconds - Self.kept.components.seconds * 1_000_000)
    }

    /// - Returns: The number of removed items.
    func run() async throws -> Int {
        var removed = 0
        var query = firestore.collectionGroup("cart_items").limit(to: Self.pageSize)
        while true {
            let page = try await query.getDocuments().documents
            let old = page.filter(isOld).map(\.reference)
            if !old.isEmpty { removed += try await remove(old) }
            guard page.count == Self.pageSize, let last = page.last else { return removed }
            query = firestore.collectionGroup("cart_items").start(afterDocument: last).limit(to: Self.pageSize)
        }
    }

    /// Reads each item again: one that has changed meanwhile stays.
    private func remove(_ items: [DocumentReference]) async throws -> Int {
        try await firestore.runTransaction { transaction in
            let old = try await transaction.getAll(items).filter(isOld)
            for item in old { try transaction.deleteDocument(item.reference) }
            return old.count
        }
    }

    private func isOld(_ item: DocumentSnapshot) -> Bool {
        item.updateTime.map { $0 < cutoff } ?? false
    }
}
