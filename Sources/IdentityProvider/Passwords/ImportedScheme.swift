import TextFormats
import UserStore

/// How the passwords of an import were hashed: `hashAlgorithm` with its parameters.
struct ImportedScheme: Sendable {
    private enum Kind: Sendable {
        /// The request names no algorithm: fine without passwords.
        case none
        /// With the length that hashes must have; nil for any.
        case scheme(PasswordScheme, bytes: Int?)
    }

    private let kind: Kind

    /// Memory and time that one verification may take.
    private static let maxCost = 1 << 20
    private static let maxMemory = 256 << 20

    /// - Throws: an ``IdentityToolkitError`` if the algorithm is unknown, or a parameter is missing or impossible.
    init(_ fields: SignInRequest) throws(IdentityToolkitError) {
        guard let name = fields["hashAlgorithm"] else {
            kind = .none
            return
        }
        let order: PasswordOrder = fields["passwordHashOrder"] == "PASSWORD_AND_SALT" ? .passwordFirst : .saltFirst
        func number(_ field: String, _ range: ClosedRange<Int64>) throws(IdentityToolkitError) -> Int {
            let value = try require(
                fields.integer(field), "INVALID_ARGUMENT : \(name) needs the number \(field).")
            try require(
                range.contains(value),
                "INVALID_ARGUMENT : \(field) is from \(range.lowerBound) to \(range.upperBound) with \(name).")
            return Int(value)
        }
        func key() throws(IdentityToolkitError) -> [UInt8] {
            try require(
                fields["signerKey"].flatMap { Base64.decodeAnyAlphabet($0) },
                "INVALID_ARGUMENT : \(name) needs signerKey in base 64.")
        }
        let digests: [(String, PasswordDigest)] = [
            ("MD5", .md5), ("SHA1", .sha1), ("SHA256", .sha256), ("SHA512", .sha512),
        ]
        let digest = digests.first { name == $0.0 || name == "HMAC_" + $0.0 }?.1
        switch name {
        case "SCRYPT":
            let separator = try require(
                fields["saltSeparator"].map { Base64.decodeAnyAlphabet($0) } ?? [],
                "INVALID_ARGUMENT : saltSeparator is not base 64.")
            let key = try key()
            kind = .scheme(
                .firebaseScrypt(
                    signerKey: key, saltSeparator: separator, rounds: try number("rounds", 1...8),
                    memoryCost: try number("memoryCost", 1...14)), bytes: key.count)
        case "STANDARD_SCRYPT":
            // Firebase's libraries for Java and .NET call it memoryCost.
            let costName = !fields.has("cpuMemCost") && fields.has("memoryCost") ? "memoryCost" : "cpuMemCost"
            let cost = try number(costName, 2...Int64(Self.maxCost))
            let blockSize = try number("blockSize", 1...64)
            try require(
                cost & (cost - 1) == 0, "INVALID_ARGUMENT : cpuMemCost is a power of two with STANDARD_SCRYPT.")
            try require(
                128 * cost * blockSize <= Self.maxMemory,
                "INVALID_ARGUMENT : cpuMemCost and blockSize take more than 256 MiB of memory.")
            kind = .scheme(
                .scrypt(cost: cost, blockSize: blockSize, parallelism: try number("parallelization", 1...16)),
                bytes: fields.has("dkLen") ? try number("dkLen", 1...1024) : nil)
        case "ARGON2":
            let (parameters, bytes) = try Self.argon2(fields.message("argon2Parameters") ?? .empty)
            kind = .scheme(.argon2(parameters), bytes: bytes)
        case "BCRYPT": kind = .scheme(.bcrypt, bytes: nil)
        case "PBKDF_SHA1", "PBKDF2_SHA256":
            kind = .scheme(
                .pbkdf2(name == "PBKDF_SHA1" ? .sha1 : .sha256, rounds: try number("rounds", 0...120_000)), bytes: nil)
        default:
            guard let digest else {
                throw IdentityToolkitError(
                    "INVALID_HASH_ALGORITHM : \(name) is unknown; write SCRYPT, STANDARD_SCRYPT, BCRYPT, ARGON2, PBKDF_SHA1, "
                        + "PBKDF2_SHA256, MD5, SHA1, SHA256, SHA512, or HMAC_ before one of the last four.")
            }
            let bytes = digest.hash([]).count
            kind =
                name.hasPrefix("HMAC_")
                ? .scheme(.hmac(digest, key: try key(), order: order), bytes: bytes)
                : .scheme(
                    .digest(digest, rounds: try number("rounds", digest == .md5 ? 0...8192 : 1...8192), order: order),
                    bytes: bytes)
        }
    }

    /// - Returns: the parameters, and the length of hashes.
    private static func argon2(
        _ fields: SignInRequest
    ) throws(IdentityToolkitError) -> (parameters: Argon2Parameters, bytes: Int) {
        func number(_ field: String, _ range: ClosedRange<Int64>) throws(IdentityToolkitError) -> Int {
            let value = try require(
                fields.integer(field), "INVALID_ARGUMENT : ARGON2 needs the number argon2Parameters.\(field).")
            try require(
                range.contains(value),
                "INVALID_ARGUMENT : argon2Parameters.\(field) is from \(range.lowerBound) to \(range.upperBound).")
            return Int(value)
        }
        let variants: [String: Argon2Parameters.Variant] = ["ARGON2_D": .d, "ARGON2_I": .i, "ARGON2_ID": .id]
        let variant = try require(
            fields["hashType"].flatMap { variants[$0] },
            "INVALID_ARGUMENT : argon2Parameters.hashType is ARGON2_ID, ARGON2_I or ARGON2_D.")
        let versions: [String: Argon2Parameters.Version] = ["VERSION_10": .v10, "VERSION_13": .v13]
        let version = try require(
            versions[fields["version"] ?? "VERSION_13"],
            "INVALID_ARGUMENT : argon2Parameters.version is VERSION_13 or VERSION_10.")
        let data = try require(
            Base64.decodeAnyAlphabet(fields["associatedData"] ?? ""),
            "INVALID_ARGUMENT : argon2Parameters.associatedData is not base 64.")
        let parallelism = try number("parallelism", 1...16)
        let parameters = Argon2Parameters(
            variant: variant, version: version, iterations: try number("iterations", 1...16),
            memoryKiB: try number("memoryCostKib", Int64(8 * parallelism)...32_768), parallelism: parallelism,
            associatedData: data)
        return (parameters, try number("hashLengthBytes", 4...1024))
    }

    /// A password as imports write it.
    ///
    /// - Parameters:
    ///   - text: the hash in base 64.
    ///   - salt: likewise; nil for none.
    func password(_ text: String, salt: String?) throws(IdentityToolkitError) -> PasswordHash {
        guard case .scheme(let scheme, let bytes) = kind else {
            throw IdentityToolkitError("passwordHash needs a hashAlgorithm")
        }
        let hash = try require(Base64.decodeAnyAlphabet(text), "passwordHash is not base 64")
        let salt = try require(salt.map { Base64.decodeAnyAlphabet($0) } ?? [], "salt is not base 64")
        try require((1...1024).contains(hash.count) && salt.count <= 1024, "passwordHash or salt is too long")
        if let bytes { try require(hash.count == bytes, "passwordHash has \(hash.count) bytes in place of \(bytes)") }
        if scheme == .bcrypt { try require(Self.isBcrypt(hash), "passwordHash is not a bcrypt hash of cost 4 to 15") }
        if case .argon2 = scheme { try require(salt.count >= 8, "salt has less than 8 bytes") }
        return PasswordHash(scheme: scheme, hash: hash, salt: salt)
    }

    /// `$2b$10$` and 53 characters.
    private static func isBcrypt(_ hash: [UInt8]) -> Bool {
        let text = String(decoding: hash, as: UTF8.self)
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0].isEmpty, ["2a", "2b", "2y", "2x"].contains(parts[1]),
            let cost = Int(parts[2]), (4...15).contains(cost)
        else { return false }
        return parts[3].utf8.count == 53
    }
}
