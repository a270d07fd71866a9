package import DocumentModel
package import StorageEngine

extension StorageError {
    /// The error that a client receives.
    package var documentError: DocumentError {
        switch kind {
        case .damaged: DocumentError(.dataLoss, message)
        case .unavailable: DocumentError(.unavailable, message)
        case .newer, .internal: DocumentError(.internal, message)
        }
    }
}

extension DocumentError {
    /// The response for any error that an operation threw.
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
