/// Why an engine could not open, read or write, as a sentence for the operator.
package struct StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// The file's content isn't what was written.
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

    /// Whether a read that fails with it says nothing about others: its rows are damaged, or can't be read at the
    /// moment.
    package var isOfRows: Bool { kind == .damaged || kind == .unavailable }
}
