/// A query: which documents, in which order, and from where to where.
///
/// The names are those of Firestore's structured query.
public struct Query: Hashable, Sendable {
    /// The document above the queried collection; nil for a collection at the root.
    public var parent: DocumentPath?
    public var collectionID: String
    /// Whether the query covers all collections with this id at any depth below `parent`: a collection group.
    public var allDescendants: Bool
    public var filter: Filter?
    public var orderBy: [Order]
    public var start: Cursor?
    public var end: Cursor?
    public var offset: Int
    public var limit: Int?
    /// The fields to return; nil for all. `__name__` alone returns documents without fields.
    public var projection: [FieldPath]?

    public init(parent: DocumentPath? = nil, collectionID: String, allDescendants: Bool = false) {
        self.parent = parent
        self.collectionID = collectionID
        self.allDescendants = allDescendants
        self.filter = nil
        self.orderBy = []
        self.start = nil
        self.end = nil
        self.offset = 0
        self.limit = nil
        self.projection = nil
    }

    /// Whether the query is on all collections below its parent, whatever their ids.
    package var coversAllCollections: Bool { collectionID.isEmpty && allDescendants }

    /// Collection ids are compared by their bytes, like all paths.
    public static func == (a: Query, b: Query) -> Bool {
        TextBytes.equal(a.collectionID, b.collectionID) && a.parent == b.parent
            && a.allDescendants == b.allDescendants && a.filter == b.filter && a.orderBy == b.orderBy
            && a.start == b.start && a.end == b.end && a.offset == b.offset && a.limit == b.limit
            && a.projection == b.projection
    }

    public func hash(into hasher: inout Hasher) {
        TextBytes.hash(collectionID, into: &hasher)
        hasher.combine(parent)
        hasher.combine(allDescendants)
        hasher.combine(filter)
        hasher.combine(orderBy)
        hasher.combine(start)
        hasher.combine(end)
        hasher.combine(offset)
        hasher.combine(limit)
        hasher.combine(projection)
    }

    public struct Order: Hashable, Sendable {
        public var field: FieldPath
        public var descending: Bool

        public init(_ field: FieldPath, descending: Bool = false) {
            self.field = field
            self.descending = descending
        }
    }

    /// A position in the order: values for its first fields.
    public struct Cursor: Hashable, Sendable {
        public var values: [Value]
        /// Whether the position is just before the documents with these values, or just after them: before for startAt
        /// and endBefore, after for startAfter and endAt.
        public var before: Bool

        public init(values: [Value], before: Bool) {
            self.values = values
            self.before = before
        }
    }

    public indirect enum Filter: Hashable, Sendable {
        case and([Filter])
        case or([Filter])
        case field(FieldPath, Operator, Value)
        case unary(FieldPath, UnaryOperator)
    }

    public enum Operator: UInt8, Hashable, Sendable, CaseIterable {
        case equal = 1, notEqual, lessThan, lessThanOrEqual, greaterThan, greaterThanOrEqual
        case `in`, notIn, arrayContains, arrayContainsAny
    }

    public enum UnaryOperator: UInt8, Hashable, Sendable, CaseIterable {
        case isNull = 1, isNotNull, isNaN, isNotNaN
    }
}
