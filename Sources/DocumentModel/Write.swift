/// One write of a commit.
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
        /// Replaces the document with exactly these fields.
        case set([String: Value])
        /// Sets the masked fields to their value in `fields`, or removes those that have none; other fields stay.
        /// Creates the document if it doesn't exist, unless the precondition forbids it.
        case update([String: Value], mask: [FieldPath])
        case delete
        /// Changes nothing; the commit fails if the precondition isn't met.
        case verify
    }

    public enum Precondition: Hashable, Sendable {
        case exists(Bool)
        case updateTime(Timestamp)
    }
}

/// A change that the store computes from the field's value at the commit.
public struct FieldTransform: Hashable, Sendable {
    public var field: FieldPath
    public var operation: Operation

    public init(_ field: FieldPath, _ operation: Operation) {
        self.field = field
        self.operation = operation
    }

    public enum Operation: Hashable, Sendable {
        /// Sets the time of the request, in milliseconds.
        case serverTimestamp
        /// Adds a number. Integers saturate at Int64's bounds; a double on either side produces a double; a value that
        /// isn't a number counts as 0.
        case increment(Value)
        case maximum(Value)
        case minimum(Value)
        /// Appends the elements that the array doesn't contain yet; a value that isn't an array counts as empty.
        case arrayUnion([Value])
        case arrayRemove([Value])
    }
}

/// The result of one write of a commit.
public struct WriteResult: Hashable, Sendable {
    /// The document's update time after the write, unchanged if the write changes nothing. Nil after a delete.
    public var updateTime: Timestamp?
    /// One per transform, in order: the new value of numbers and times, null for array operations.
    public var transformResults: [Value]

    public init(updateTime: Timestamp?, transformResults: [Value]) {
        self.updateTime = updateTime
        self.transformResults = transformResults
    }
}
