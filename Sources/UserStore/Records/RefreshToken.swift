import DocumentModel

/// A refresh token, of which only a hash is stored.
///
/// Tokens of one sign-in form a family. A token that is used from elsewhere than before gets a successor; once the
/// successor has been used, the older one may have been stolen if it comes again from yet another place, and the family ends.
/// It ends as well if a token gets more successors than a client can have lost.
package struct RefreshToken: Hashable, Sendable {
    package var session: SignInSession
    /// Seconds since 1970.
    package var issuedAt: Int64
    /// The same for all tokens of one sign-in.
    package var family: [UInt8]
    /// Where it was used last: a hash of the address.
    package var origin: [UInt8]
    /// When a successor was first used, in seconds since 1970; nil if none was.
    package var supersededAt: Int64?
    /// The hash of the token that this one succeeds; nil for that of a sign-in, and for one that a tab has beside another's.
    package var predecessor: [UInt8]?
    /// The hashes of its successors, of which none was used yet, and of tokens without a predecessor that were issued for
    /// other tabs.
    package var successors: [[UInt8]] = []

    package init(
        session: SignInSession, issuedAt: Int64, family: [UInt8], origin: [UInt8], predecessor: [UInt8]? = nil
    ) {
        self.session = session
        self.issuedAt = issuedAt
        self.family = family
        self.origin = origin
        self.predecessor = predecessor
    }

    init(stored bytes: [UInt8]) throws(DecodingFailure) {
        var reader = ByteReader(bytes)
        session = try SignInSession(from: &reader)
        issuedAt = try reader.signed()
        family = try reader.blob()
        origin = try reader.blob()
        supersededAt = try reader.optional { (reader: inout ByteReader) throws(DecodingFailure) in try reader.signed() }
        predecessor = try reader.optional { (reader: inout ByteReader) throws(DecodingFailure) in try reader.blob() }
        // Of earlier versions, which didn't know them.
        if reader.isAtEnd { return }
        successors = try reader.list { (reader: inout ByteReader) throws(DecodingFailure) in try reader.blob() }
        try reader.finish()
    }

    var stored: [UInt8] {
        var writer = ByteWriter(reservingCapacity: 160)
        session.write(to: &writer)
        writer.write(signed: issuedAt)
        writer.write(blob: family)
        writer.write(blob: origin)
        writer.write(optional: supersededAt) { $0.write(signed: $1) }
        writer.write(optional: predecessor) { $0.write(blob: $1) }
        if !successors.isEmpty {
            writer.write(count: successors.count)
            for hash in successors { writer.write(blob: hash) }
        }
        return writer.bytes
    }
}
