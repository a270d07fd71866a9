/// A stored password: a hash, and how it was made.
package struct PasswordHash: Hashable, Sendable {
    package var scheme: PasswordScheme
    package var hash: [UInt8]
    package var salt: [UInt8]

    package init(scheme: PasswordScheme, hash: [UInt8], salt: [UInt8]) {
        self.scheme = scheme
        self.hash = hash
        self.salt = salt
    }
}

/// How a password was hashed: as this host does, or as the system did that a user was imported from.
package enum PasswordScheme: Hashable, Sendable {
    /// RFC 7914; `cost` is its N.
    case scrypt(cost: Int, blockSize: Int, parallelism: Int)
    /// Firebase's own: scrypt derives a key that encrypts the project's signer key.
    case firebaseScrypt(signerKey: [UInt8], saltSeparator: [UInt8], rounds: Int, memoryCost: Int)
    case hmac(PasswordDigest, key: [UInt8], order: PasswordOrder)
    case digest(PasswordDigest, rounds: Int, order: PasswordOrder)
    case pbkdf2(PasswordDigest, rounds: Int)
    /// The hash is the whole text, such as `$2b$10$…`.
    case bcrypt
    case argon2(Argon2Parameters)
}

package struct Argon2Parameters: Hashable, Sendable {
    package enum Variant: UInt8, Hashable, Sendable {
        case d, i, id
    }

    /// 1.0 or 1.3, as the algorithm writes them.
    package enum Version: UInt8, Hashable, Sendable {
        case v10 = 0x10
        case v13 = 0x13
    }

    package var variant: Variant
    package var version: Version
    package var iterations: Int
    package var memoryKiB: Int
    package var parallelism: Int
    package var associatedData: [UInt8]

    package init(
        variant: Variant, version: Version, iterations: Int, memoryKiB: Int, parallelism: Int, associatedData: [UInt8]
    ) {
        self.variant = variant
        self.version = version
        self.iterations = iterations
        self.memoryKiB = memoryKiB
        self.parallelism = parallelism
        self.associatedData = associatedData
    }
}

package enum PasswordDigest: UInt8, Hashable, Sendable, CaseIterable {
    case md5, sha1, sha256, sha512
}

/// What comes first in the hashed bytes.
package enum PasswordOrder: UInt8, Hashable, Sendable, CaseIterable {
    case saltFirst, passwordFirst
}
