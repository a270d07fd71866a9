import DocumentModel

/// A stored user: the fields that are set, each after its number, so that later versions can add fields.
extension UserRecord {
    private enum Field: UInt8 {
        case email = 1, isEmailVerified, displayName, photoURL, phoneNumber, isDisabled, password, passwordUpdatedAt
        case usesEmailLink, usesCustomToken, identity, secondFactor, claims, initialEmail, createdAt, lastSignInAt
        case lastRefreshAt, validSince, recoveryEmail, recoverySince, signInGeneration
        case isRecoveryVerified
    }

    init(uid: String, stored bytes: [UInt8]) throws(DecodingFailure) {
        self.init(uid: uid, createdAt: 0)
        var reader = ByteReader(bytes)
        while !reader.isAtEnd {
            let number = try reader.byte()
            guard let field = Field(rawValue: number) else {
                throw DecodingFailure("a user has the field \(number), which this version doesn't know")
            }
            switch field {
            case .email: email = try reader.string()
            case .isEmailVerified: isEmailVerified = true
            case .displayName: displayName = try reader.string()
            case .photoURL: photoURL = try reader.string()
            case .phoneNumber: phoneNumber = try reader.string()
            case .isDisabled: isDisabled = true
            case .password: password = try PasswordHash(from: &reader)
            case .passwordUpdatedAt: passwordUpdatedAt = try reader.signed()
            case .usesEmailLink: usesEmailLink = true
            case .usesCustomToken: usesCustomToken = true
            case .identity: identities.append(try ProviderIdentity(from: &reader))
            case .secondFactor: secondFactors.append(try SecondFactor(from: &reader))
            case .claims: claims = try reader.string()
            case .initialEmail: initialEmail = try reader.string()
            case .createdAt: createdAt = try reader.signed()
            case .lastSignInAt: lastSignInAt = try reader.signed()
            case .lastRefreshAt: lastRefreshAt = try reader.signed()
            case .validSince: validSince = try reader.signed()
            case .recoveryEmail: recoveryEmail = try reader.string()
            case .recoverySince: recoverySince = try reader.signed()
            case .signInGeneration: signInGeneration = try reader.signed()
            case .isRecoveryVerified: isRecoveryVerified = true
            }
        }
    }

    var stored: [UInt8] {
        var writer = ByteWriter(reservingCapacity: 256)
        func text(_ field: Field, _ value: String?) {
            guard let value else { return }
            writer.write(byte: field.rawValue)
            writer.write(value)
        }
        func flag(_ field: Field, _ value: Bool) { if value { writer.write(byte: field.rawValue) } }
        func number(_ field: Field, _ value: Int64?) {
            guard let value else { return }
            writer.write(byte: field.rawValue)
            writer.write(signed: value)
        }
        text(.email, email)
        flag(.isEmailVerified, isEmailVerified)
        text(.displayName, displayName)
        text(.photoURL, photoURL)
        text(.phoneNumber, phoneNumber)
        flag(.isDisabled, isDisabled)
        if let password {
            writer.write(byte: Field.password.rawValue)
            password.write(to: &writer)
        }
        number(.passwordUpdatedAt, passwordUpdatedAt)
        flag(.usesEmailLink, usesEmailLink)
        flag(.usesCustomToken, usesCustomToken)
        for identity in identities {
            writer.write(byte: Field.identity.rawValue)
            identity.write(to: &writer)
        }
        for factor in secondFactors {
            writer.write(byte: Field.secondFactor.rawValue)
            factor.write(to: &writer)
        }
        text(.claims, claims)
        text(.initialEmail, initialEmail)
        number(.createdAt, createdAt)
        number(.lastSignInAt, lastSignInAt)
        number(.lastRefreshAt, lastRefreshAt)
        number(.validSince, validSince)
        text(.recoveryEmail, recoveryEmail)
        number(.recoverySince, recoverySince)
        number(.signInGeneration, signInGeneration == 0 ? nil : signInGeneration)
        flag(.isRecoveryVerified, isRecoveryVerified)
        return writer.bytes
    }
}

extension ProviderIdentity {
    fileprivate init(from reader: inout ByteReader) throws(DecodingFailure) {
        provider = try reader.string()
        rawID = try reader.string()
        federatedID = try reader.text()
        email = try reader.text()
        displayName = try reader.text()
        photoURL = try reader.text()
        screenName = try reader.text()
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(provider)
        writer.write(rawID)
        for text in [federatedID, email, displayName, photoURL, screenName] { writer.write(text: text) }
    }
}

extension SecondFactor {
    fileprivate init(from reader: inout ByteReader) throws(DecodingFailure) {
        id = try reader.string()
        displayName = try reader.text()
        enrolledAt = try reader.signed()
        switch try reader.byte() {
        case 0: kind = .phone(try reader.string())
        case 1: kind = .authenticator(secret: try reader.blob(), lastPeriod: try reader.signed())
        case let number: throw DecodingFailure("there is no second factor of kind \(number)")
        }
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(id)
        writer.write(text: displayName)
        writer.write(signed: enrolledAt)
        switch kind {
        case .phone(let number):
            writer.write(byte: 0)
            writer.write(number)
        case .authenticator(let secret, let lastPeriod):
            writer.write(byte: 1)
            writer.write(blob: secret)
            writer.write(signed: lastPeriod)
        }
    }
}

extension ByteReader {
    /// A text that may be missing.
    mutating func text() throws(DecodingFailure) -> String? {
        try optional { (reader: inout ByteReader) throws(DecodingFailure) in try reader.string() }
    }
}

extension ByteWriter {
    mutating func write(text: String?) { write(optional: text) { $0.write($1) } }
}
