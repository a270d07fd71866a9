package import DocumentModel

/// An index over documents of collections with one id, as `firestore.indexes.json` describes it.
package struct IndexDefinition: Hashable, Sendable {
    package enum Scope: Hashable, Sendable {
        /// Each collection of the id by itself.
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
    /// Without `__name__`, which always comes last, in the direction of the last field that has one.
    package var fields: [Field]

    package init(collectionID: String, scope: Scope = .collection, fields: [Field]) {
        self.collectionID = collectionID
        self.scope = scope
        self.fields = fields
    }
}

/// The automatic indexes that a field doesn't have.
///
/// By default a field has one for its order, in both directions, and one for the elements of arrays; both are per
/// collection.
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

/// The indexes that a project needs besides the automatic ones of all fields.
package struct IndexConfiguration: Hashable, Sendable {
    /// Composite indexes, and single fields of collection groups.
    package var indexes: [IndexDefinition]
    package var exemptions: [FieldExemption]

    package init(indexes: [IndexDefinition] = [], exemptions: [FieldExemption] = []) {
        self.indexes = indexes
        self.exemptions = exemptions
    }
}
