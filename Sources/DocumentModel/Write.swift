/// One change of a commit.
public struct Write: Hashable, Sendable {
    public var path: DocumentPath
    public var operation: Operation
    public var transforms: [FieldTransform]
    public var precondition: Precondition?

    public init(
        path: DocumentPath, operation: Operation, transforms: [FieldTransform] = [], precondition: Precondition? = nil
    ) {
        self.path = path
        self.operation = operation
        self.transforms = transforms
        self.precondition = precondition
    }

    public enum Operation: Hashable, Sendable {
        /// The document becomes exactly these fields.
        case set([String: Value])
        /// The fields named by the mask take their value from `fields`, or go where it has none; others stay.
        /// Creates the document where it is missing, unless the precondition says otherwise.
        case update([String: Value], mask: [FieldPath])
        case delete
        /// Changes nothing; the commit fails where the precondition does.
        case verify
    }

    public enum Precondition: Hashable, Sendable {
        case exists(Bool)
        case updateTime(Timestamp)
    }
}

/// A change computed by the store from what the field holds at the commit.
public struct FieldTransform: Hashable, Sendable {
    public var field: FieldPath
    public var operation: Operation

    public init(_ field: FieldPath, _ operation: Operation) {
        self.field = field
        self.operation = operation
    }

    public enum Operation: Hashable, Sendable {
        /// The commit's time.
        case serverTimestamp
        /// Adds a number. Integers saturate at Int64's bounds; a double on either side makes a double; what isn't a
        /// number counts as 0.
        case increment(Value)
        case maximum(Value)
        case minimum(Value)
        /// Appends the elements that aren't in the array yet; what isn't an array counts as empty.
        case arrayUnion([Value])
        case arrayRemove([Value])
    }
}

/// What one write of a commit led to.
public struct WriteResult: Hashable, Sendable {
    /// The document's update time after the write. A write that changes nothing leaves the old one. Nil after a delete.
    public var updateTime: Timestamp?
    /// One for each transform, in order: the new value of numbers and times, null of array operations.
    public var transformResults: [Value]

    public init(updateTime: Timestamp?, transformResults: [Value]) {
        self.updateTime = updateTime
        self.transformResults = transformResults
    }
}
