package import DocumentModel

/// Why an engine could not open, read or write, as a sentence for the operator.
package struct StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// The file is not what was written.
        case damaged
        /// The file was written by a newer version.
        case newer
        /// Disk full, busy, an I/O error: may work later.
        case unavailable
        case `internal`
    }

    package var kind: Kind
    package var message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    package var description: String { message }

    /// What a client is told.
    package var documentError: DocumentError {
        switch kind {
        case .damaged: DocumentError(.dataLoss, message)
        case .unavailable: DocumentError(.unavailable, message)
        case .newer, .internal: DocumentError(.internal, message)
        }
    }
}

extension DocumentError {
    /// The answer for anything that an operation threw.
    package init(from error: any Error) {
        switch error {
        case let error as DocumentError: self = error
        case let error as StorageError: self = error.documentError
        case let error as DecodingFailure:
            self = DocumentError(.dataLoss, "a stored document can't be read, the store is damaged: \(error.reason)")
        default: self = DocumentError(.internal, "the document store failed")
        }
    }
}
