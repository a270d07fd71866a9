import DocumentModel

/// The indexes that one state of the store has.
///
/// Stored with the documents, so that a snapshot and its catalog always fit.
struct IndexCatalog: Hashable, Sendable {
    struct Index: Hashable, Sendable {
        /// Never used again for another definition.
        var id: UInt32
        var definition: IndexDefinition
        /// Whether it has all documents that were there before it; only then queries may use it.
        var isReady: Bool
    }

    /// Grows with each change of the catalog.
    var generation: Int64 = 0
    var indexes: [Index] = []
    var exemptions: [FieldExemption] = []

    /// Those that queries on collections of an id may use.
    func ready(_ scope: IndexDefinition.Scope, collectionID: String) -> [Index] {
        indexes.filter {
            $0.isReady && $0.definition.scope == scope && $0.definition.collectionID == collectionID
        }
    }

    /// Whether a field has entries for its order of its own accord.
    func isOrdered(_ field: FieldPath, collectionID: String) -> Bool {
        exemption(of: field, collectionID: collectionID)?.isOrdered ?? true
    }

    /// Whether a field has entries for its array's elements of its own accord.
    func hasElements(_ field: FieldPath, collectionID: String) -> Bool {
        exemption(of: field, collectionID: collectionID)?.hasElements ?? true
    }

    /// The field's own, that of the nearest map above it, or that of all fields.
    private func exemption(of field: FieldPath, collectionID: String) -> FieldExemption? {
        guard !exemptions.isEmpty else { return nil }
        var best: (depth: Int, exemption: FieldExemption)?
        for exemption in exemptions where exemption.collectionID == collectionID {
            let depth = exemption.field?.segments.count ?? 0
            guard exemption.field.map({ field.segments.starts(with: $0.segments) }) ?? true else { continue }
            if best.map({ depth > $0.depth }) ?? true { best = (depth, exemption) }
        }
        return best?.exemption
    }
}
