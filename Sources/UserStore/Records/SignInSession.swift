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
