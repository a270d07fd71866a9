package import StrictJSON
import TextFormats
package import UserStore

/// Users in files: with all that they need to sign in elsewhere.
///
/// The fields are those of `accounts:batchGet`, which `firebase auth:export` and the emulators write too. In addition, each
/// password has its scheme (`hash`, with the parameters' names of `accounts:batchCreate`), and an authenticator app its
/// secret.
package enum UserFormat {
    /// - Returns: the user, passwords' hashes and secrets included.
    package static func json(of user: UserRecord) -> JSONObject {
        var json = user.json(isWhole: true)
        if let password = user.password { json["hash"] = .object(password.scheme.parameters(like: password.hash)) }
        if !user.secondFactors.isEmpty {
            json["mfaInfo"] = .array(user.secondFactors.map { .object($0.jsonWithSecret) })
        }
        return json
    }

    /// Reads a user of our own format.
    ///
    /// - Parameter now: Seconds since 1970: the time of what the user lacks.
    /// - Throws: the first problem, at its place.
    package static func record(_ node: JSONNode, now: Int64) throws(JSONProblem) -> UserRecord {
        try check(node)
        guard let fields = SignInRequest(node: node) else { throw node.problem("\(node.summary) is not a user") }
        do throws(ImportProblem) {
            let none: ImportedScheme
            do throws(IdentityToolkitError) { none = try ImportedScheme(.empty) } catch { throw ImportProblem(error) }
            return try ImportedUser(fields, scheme: none, hash: nil, now: now).user
        } catch {
            throw node.problem(error.message)
        }
    }

    /// The parameters of new hashes.
    ///
    /// - Parameter cost: N of scrypt.
    package static func scheme(cost: Int) -> JSONObject {
        PasswordScheme.scrypt(cost: cost, blockSize: 8, parallelism: 1).parameters(
            like: [UInt8](repeating: 0, count: PasswordHasher.hashBytes))
    }

    // MARK: Checking

    private enum Shape {
        case text, flag, number, base64
        case list([String: Shape])
        case object([String: Shape])
        /// Anything, which isn't read.
        case ignored
    }

    private static let provider: [String: Shape] = [
        "providerId": .text, "rawId": .text, "federatedId": .text, "email": .text, "displayName": .text,
        "photoUrl": .text, "screenName": .text, "phoneNumber": .text,
    ]
    private static let factor: [String: Shape] = [
        "mfaEnrollmentId": .text, "displayName": .text, "phoneInfo": .text, "unobfuscatedPhoneInfo": .text,
        "enrolledAt": .text, "totpInfo": .object(["sharedSecretKey": .text]),
    ]
    private static let hash: [String: Shape] = [
        "hashAlgorithm": .text, "signerKey": .base64, "saltSeparator": .base64, "rounds": .number,
        "memoryCost": .number, "cpuMemCost": .number, "parallelization": .number, "blockSize": .number,
        "dkLen": .number, "passwordHashOrder": .text,
        "argon2Parameters": .object([
            "hashLengthBytes": .number, "hashType": .text, "version": .text, "iterations": .number,
            "memoryCostKib": .number, "parallelism": .number, "associatedData": .base64,
        ]),
    ]
    private static let user: [String: Shape] = [
        "localId": .text, "email": .text, "emailVerified": .flag, "displayName": .text, "photoUrl": .text,
        "phoneNumber": .text, "disabled": .flag, "customAttributes": .text, "passwordHash": .base64, "salt": .base64,
        "rawPassword": .text, "createdAt": .number, "lastSignedInAt": .number, "lastLoginAt": .number,
        "lastRefreshAt": .text, "passwordUpdatedAt": .number, "validSince": .number, "initialEmail": .text,
        "emailLinkSignin": .flag, "customAuth": .flag, "tenantId": .text, "providerUserInfo": .list(provider),
        "mfaInfo": .list(factor), "hash": .object(hash), "screenName": .ignored, "version": .ignored,
        "dateOfBirth": .ignored, "language": .ignored, "timeZone": .ignored,
    ]

    /// Checks that a user has known fields only, each of its type: what has another name or type would be lost.
    package static func check(_ node: JSONNode) throws(JSONProblem) { try check(node, .object(user)) }

    private static func check(_ node: JSONNode, _ shape: Shape) throws(JSONProblem) {
        switch shape {
        case .ignored: break
        case .text: _ = try node.string()
        case .flag: _ = try node.boolean()
        case .number: _ = try node.integer()
        case .base64:
            guard Base64.decodeAnyAlphabet(try node.string()) != nil else {
                throw node.problem("\(node.summary) is not base 64")
            }
        case .list(let shapes):
            for element in try node.elements() { try check(element, .object(shapes)) }
        case .object(let shapes):
            for member in try node.members() {
                guard let shape = shapes[member.key] else { throw member.unknown }
                try check(member.value, shape)
            }
        }
    }
}

extension PasswordScheme {
    /// The parameters as imports name them.
    ///
    /// - Parameter hash: one of this scheme, for its length.
    func parameters(like hash: [UInt8]) -> JSONObject {
        func numbers(_ algorithm: String, _ numbers: [(String, Int)]) -> JSONObject {
            JSONObject(
                [("hashAlgorithm", .string(algorithm))] + numbers.map { ($0.0, JSONValue.integer(Int64($0.1))) })
        }
        switch self {
        case .scrypt(let cost, let blockSize, let parallelism):
            return numbers(
                "STANDARD_SCRYPT",
                [
                    ("cpuMemCost", cost), ("blockSize", blockSize), ("parallelization", parallelism),
                    ("dkLen", hash.count),
                ])
        case .firebaseScrypt(let signerKey, let saltSeparator, let rounds, let memoryCost):
            var json = numbers("SCRYPT", [("rounds", rounds), ("memoryCost", memoryCost)])
            json["signerKey"] = .string(Base64.encode(signerKey))
            if !saltSeparator.isEmpty { json["saltSeparator"] = .string(Base64.encode(saltSeparator)) }
            return json
        case .hmac(let digest, let key, let order):
            var json = numbers("HMAC_\(digest.name)", [])
            json["signerKey"] = .string(Base64.encode(key))
            json["passwordHashOrder"] = .string(order.name)
            return json
        case .digest(let digest, let rounds, let order):
            var json = numbers(digest.name, [("rounds", rounds)])
            json["passwordHashOrder"] = .string(order.name)
            return json
        case .pbkdf2(let digest, let rounds):
            return numbers(digest == .sha1 ? "PBKDF_SHA1" : "PBKDF2_SHA256", [("rounds", rounds)])
        case .bcrypt: return numbers("BCRYPT", [])
        case .argon2(let parameters):
            return ["hashAlgorithm": "ARGON2", "argon2Parameters": .object(parameters.json(bytes: hash.count))]
        }
    }
}

extension Argon2Parameters {
    /// - Parameter bytes: the length of hashes.
    fileprivate func json(bytes: Int) -> JSONObject {
        let variant =
            switch variant {
            case .d: "ARGON2_D"
            case .i: "ARGON2_I"
            case .id: "ARGON2_ID"
            }
        return [
            "hashLengthBytes": .integer(Int64(bytes)), "hashType": .string(variant),
            "version": version == .v10 ? "VERSION_10" : "VERSION_13",
            "iterations": .integer(Int64(iterations)), "memoryCostKib": .integer(Int64(memoryKiB)),
            "parallelism": .integer(Int64(parallelism)),
            "associatedData": .string(Base64.encode(associatedData)),
        ]
    }
}

extension PasswordDigest {
    fileprivate var name: String {
        switch self {
        case .md5: "MD5"
        case .sha1: "SHA1"
        case .sha256: "SHA256"
        case .sha512: "SHA512"
        }
    }
}

extension PasswordOrder {
    fileprivate var name: String { self == .passwordFirst ? "PASSWORD_AND_SALT" : "SALT_AND_PASSWORD" }
}
