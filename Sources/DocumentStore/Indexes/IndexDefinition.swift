package import DocumentModel

/// An index over documents of collections with one id, as `firestore.indexes.json` describes it.
package struct IndexDefinition: Hashable, Sendable {
    package enum Scope: Hashable, Sendable {
        /// Each collection of the id on its own.
        case collection
        /// All collections of the id together, wherever they are.
        case collectionGroup
    }

    package enum Kind: Hashable, Sendable {
        case ascending, descending
        /// An entry for each element of an array.
        case contains
    }

    package struct Field: Hashable, Sendable {
        package var path: FieldPath
        package var kind: Kind

        package init(_ path: FieldPath, _ kind: Kind) {
            self.path = path
            self.kind = kind
        }
    }

    package var collectionID: String
    package var scope: Scope
    /// Without `__name__`, which always comes last, in the direction of the last field with one.
    package var fields: [Field]

    package init(collectionID: String, scope: Scope = .collection, fields: [Field]) {
        self.collectionID = collectionID
        self.scope = scope
        self.fields = fields
    }
}

/// Which of the indexes that every field has by itself a field goes without.
///
/// By itself a field has one for its order, in both directions, and one for the elements of arrays, both of each
/// collection on its own.
package struct FieldExemption: Hashable, Sendable {
    package var collectionID: String
    /// Nil for all fields of the collections that have no exemption of their own.
    package var field: FieldPath?
    package var isOrdered: Bool
    package var hasElements: Bool

    package init(collectionID: String, field: FieldPath?, isOrdered: Bool, hasElements: Bool) {
        self.collectionID = collectionID
        self.field = field
        self.isOrdered = isOrdered
        self.hasElements = hasElements
    }
}

/// The indexes that a project wants besides those that every field has by itself.
package struct IndexConfiguration: Hashable, Sendable {
    /// Composite ones, and single fields of collection groups.
    package var indexes: [IndexDefinition]
    package var exemptions: [FieldExemption]

    package init(indexes: [IndexDefinition] = [], exemptions: [FieldExemption] = []) {
        self.indexes = indexes
        self.exemptions = exemptions
    }
}
