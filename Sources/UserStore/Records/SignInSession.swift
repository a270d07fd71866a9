import DocumentModel

/// How a user has signed in: what all ID tokens of one sign-in have in common.
package struct SignInSession: Hashable, Sendable {
    package struct Factor: Hashable, Sendable {
        /// The id of the second factor.
        package var id: String
        /// `phone` or `totp`.
        package var kind: String

        package init(id: String, kind: String) {
            self.id = id
            self.kind = kind
        }
    }

    package var uid: String
    /// `sign_in_provider`, such as `password` or `google.com`.
    package var provider: String
    /// `auth_time`, in seconds since 1970.
    package var signedInAt: Int64
    /// The claims of a custom token or of a blocking function, as a JSON object.
    package var claims: String?
    package var secondFactor: Factor?

    package init(
        uid: String, provider: String, signedInAt: Int64, claims: String? = nil, secondFactor: Factor? = nil
    ) {
        self.uid = uid
        self.provider = provider
        self.signedInAt = signedInAt
        self.claims = claims
        self.secondFactor = secondFactor
    }

    init(from reader: inout ByteReader) throws(DecodingFailure) {
        uid = try reader.string()
        provider = try reader.string()
        signedInAt = try reader.signed()
        claims = try reader.text()
        secondFactor = try reader.optional { (reader: inout ByteReader) throws(DecodingFailure) in
            Factor(id: try reader.string(), kind: try reader.string())
        }
    }

    func write(to writer: inout ByteWriter) {
        writer.write(uid)
        writer.write(provider)
        writer.write(signed: signedInAt)
        writer.write(text: claims)
        writer.write(optional: secondFactor) { writer, factor in
            writer.write(factor.id)
            writer.write(factor.kind)
        }
    }
}

/// A refresh token, of which only a hash is stored.
///
/// Tokens of one sign-in form a family. A token that is used from elsewhere than before gets a successor; once the
/// successor has been used, the older one may have been stolen if it comes again, and the family ends. It ends as well if a
/// token gets more successors than a client can have lost.
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
    /// The hash of the token that this one succeeds.
    package var predecessor: [UInt8]?
    /// The hashes of its successors, of which none was used yet.
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
