package import DocumentModel
package import RealtimeModel

/// JSON that a request reads.
package enum RealtimeContent: Sendable {
    case bytes([UInt8])
    /// A large value.
    ///
    /// - Parameter units: its length in UTF-16 units, which messages begin with; nil if the service hasn't counted. It
    ///   counts only for requests with `countsUnits`, and a message without the number is collected in memory.
    case stream(any RealtimeContentStream, units: Int?)
}

/// A large value of one version, which is read as its receiver takes it.
package protocol RealtimeContentStream: AnyObject, Sendable {
    /// Reads the next piece: up to about 64 KiB, and never a part of a character.
    ///
    /// - Parameter completion: called once, on any thread, with nil at the end. The receiver asks for the next piece only
    ///   after that.
    func next(_ completion: @escaping @Sendable (Result<[UInt8]?, RealtimeServiceError>) -> Void)

    /// Ends reading early. Nothing follows.
    func cancel()
}

/// What a request reads, and how.
package struct RealtimeRead: Sendable {
    package enum Form: Hashable, Sendable {
        case value(RealtimeForm)
        /// A leaf as it is; of an object, `true` for each child.
        case shallow
        /// The priority alone.
        case priority
    }

    package var path: RealtimePath
    /// Nil for the value as it is.
    package var query: RealtimeQuery?
    package var form: Form
    /// Whether the exact hash is read too. Of a query it is that of its result.
    package var wantsHash = false
    /// Whether a query without an index fails. If not, it is answered within a bound on the nodes it looks at.
    package var requiresIndex = true
    /// Whether a query that finds none of a node's children reads `{}`, as REST answers it. If not, it reads null.
    package var showsEmptyResult = false
    /// Whether a stream's units are counted.
    package var countsUnits = false
    package let cancellation = OperationCancellation()

    package init(
        _ path: RealtimePath, query: RealtimeQuery? = nil, form: Form, wantsHash: Bool = false,
        requiresIndex: Bool = true, countsUnits: Bool = false
    ) {
        self.path = path
        self.query = query
        self.form = form
        self.wantsHash = wantsHash
        self.requiresIndex = requiresIndex
        self.countsUnits = countsUnits
    }
}

/// What was read.
package struct RealtimeReading: Sendable {
    package var content: RealtimeContent
    /// Empty for nothing; nil if it wasn't asked for.
    package var hash: String?
    /// The version of the state, as in pushes. A client that has no listens isn't told.
    package var version: Int64

    package init(_ content: RealtimeContent, hash: String? = nil, version: Int64 = .max) {
        self.content = content
        self.hash = hash
        self.version = version
    }
}
