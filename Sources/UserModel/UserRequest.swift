package import DocumentModel

/// An operation on users, as an admin calls it. Its body and its answer are the JSON of Identity Toolkit's REST API, so
/// that one client serves the host's own users and Google's.
package struct UserRequest: Hashable, Sendable {
    package enum Operation: UInt8, Hashable, Sendable, CaseIterable {
        /// `accounts`
        case create = 1
        /// `accounts:lookup`
        case lookUp
        /// `accounts:update`
        case update
        /// `accounts:delete`
        case delete
        /// `accounts:batchDelete`
        case deleteBatch
        /// `accounts:batchGet`: a page of all users.
        case list
        /// `accounts:sendOobCode`, which returns the link.
        case mailLink
        /// Signs a custom token: `{"uid":…,"claims":{…}}` → `{"token":…}`. Identity Toolkit has no such method: the holder
        /// of the service account's key signs.
        case customToken

        /// Whether it changes nothing, so that it can be repeated.
        package var isRead: Bool { self == .lookUp || self == .list }

        /// Whether it can be a write of a transaction.
        package var isTransactional: Bool { self == .create || self == .update || self == .delete }
    }

    package var operation: Operation
    /// A JSON object.
    package var body: [UInt8]

    /// The maximum size of a body: the ids of 1,000 users, with room.
    package static let maxBytes = 1_048_576

    package init(_ operation: Operation, body: [UInt8]) {
        self.operation = operation
        self.body = body
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        let code = try reader.byte()
        guard let operation = Operation(rawValue: code) else {
            throw DecodingFailure("unknown user operation \(code)")
        }
        self.operation = operation
        body = try reader.blob()
    }

    package func write(to writer: inout ByteWriter) {
        writer.write(byte: operation.rawValue)
        writer.write(blob: body)
    }

    package func check() throws(DocumentError) {
        guard body.count <= Self.maxBytes else {
            throw .invalidArgument(
                "a request about users has \(body.count) bytes, more than 1 MiB (1,048,576 bytes), the limit")
        }
    }
}
