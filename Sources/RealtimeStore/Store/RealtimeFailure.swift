package import DocumentModel
import RealtimeModel
import StorageEngine

/// Why an operation of the Realtime Database failed.
package struct RealtimeFailure: Error, Hashable, Sendable {
    package enum Code: Hashable, Sendable {
        /// The rules don't allow it.
        case denied
        /// The hash of a conditional write isn't that of what exists. Nothing was written.
        case stale
        /// More would be read than one request may.
        case tooLarge
        /// A query without an index would look at more nodes than it may.
        case tooManyNodes
        /// A write has more rows than it may.
        case tooManyRows
        /// It would call more functions, or with larger events, than one write may.
        case triggerLimit
        /// The request itself is wrong.
        case invalid
        /// The namespace doesn't exist, and isn't created by its first use.
        case unknownNamespace
        /// It may succeed later: the disk is full, or the host is shutting down or overloaded.
        case unavailable
        /// Stored bytes aren't what was written.
        case damaged
        case `internal`
    }

    package var code: Code
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Whether a read was ended by its limits.
    var isBeyondLimits: Bool { code == .tooLarge || code == .tooManyNodes }

    /// The failure for any error that an operation threw.
    package init(from error: any Error) {
        switch error {
        case let error as RealtimeFailure: self = error
        case let error as RealtimeError: self.init(.invalid, error.description)
        case let error as DecodingFailure:
            self.init(.damaged, "a stored node can't be read, the store is damaged: \(error.reason)")
        case let error as StorageError:
            switch error.kind {
            case .damaged: self.init(.damaged, error.message)
            case .unavailable: self.init(.unavailable, error.message)
            case .newer, .internal: self.init(.internal, error.message)
            }
        case let error as DocumentError:
            switch error.code {
            case .unavailable, .resourceExhausted, .cancelled: self.init(.unavailable, error.message)
            case .dataLoss: self.init(.damaged, error.message)
            case .permissionDenied: self.init(.denied, error.message)
            case .invalidArgument: self.init(.invalid, error.message)
            default: self.init(.internal, error.message)
            }
        default: self.init(.internal, "the database failed: \(error)")
        }
    }

    /// The error with which a commit is refused that has other parts too.
    package var documentError: DocumentError {
        switch code {
        case .denied: DocumentError(.permissionDenied, message)
        case .stale: DocumentError(.aborted, message)
        case .tooLarge, .tooManyNodes, .tooManyRows, .triggerLimit: DocumentError(.resourceExhausted, message)
        case .invalid: DocumentError(.invalidArgument, message)
        case .unknownNamespace: DocumentError(.notFound, message)
        case .unavailable: DocumentError(.unavailable, message)
        case .damaged: DocumentError(.dataLoss, message)
        case .internal: DocumentError(.internal, message)
        }
    }

    package static let stale = RealtimeFailure(.stale, "the data have changed since they were read")
}

extension RealtimeFailure: CustomStringConvertible {
    package var description: String { message }
}
