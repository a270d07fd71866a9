import CPasswordHashing
import Crypto
import Foundation
import UserStore
import _CryptoExtras

extension PasswordHash {
    /// Whether this is the hash of the password. Takes as long as hashing it.
    func matches(_ password: String) -> Bool {
        guard let computed = try? scheme.hash(password, salt: salt, like: hash) else { return false }
        // Compares all bytes, so that the time doesn't show how many are right.
        guard computed.count == hash.count else { return false }
        return zip(computed, hash).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension PasswordScheme {
    /// - Parameter expected: a hash of this scheme: the result is as long. bcrypt reads its version and cost from it.
    /// - Throws: if the parameters are invalid.
    func hash(_ password: String, salt: [UInt8], like expected: [UInt8]) throws -> [UInt8] {
        let password = Array(password.utf8)
        switch self {
        case .scrypt(let cost, let blockSize, let parallelism):
            return try Self.scrypt(
                password, salt: salt, count: expected.count, cost: cost, blockSize: blockSize,
                parallelism: parallelism)
        case .firebaseScrypt(let signerKey, let saltSeparator, let rounds, let memoryCost):
            let key = try Self.scrypt(
                password, salt: salt + saltSeparator, count: 32, cost: 1 << memoryCost, blockSize: rounds,
                parallelism: 1)
            let nonce = try AES._CTR.Nonce(nonceBytes: [UInt8](repeating: 0, count: 16))
            return Array(try AES._CTR.encrypt(signerKey, using: SymmetricKey(data: key), nonce: nonce))
        case .hmac(let digest, let key, let order):
            return digest.hmac(order.join(salt, password), key: key)
        case .digest(let digest, let rounds, let order):
            var bytes = order.join(salt, password)
            for _ in 0..<max(rounds, 1) { bytes = digest.hash(bytes) }
            return bytes
        case .pbkdf2(let digest, let rounds):
            let key = try KDF.Insecure.PBKDF2.deriveKey(
                from: password, salt: salt, using: digest.function, outputByteCount: expected.count,
                unsafeUncheckedRounds: max(rounds, 1))
            return key.withUnsafeBytes { Array($0) }
        case .argon2(let parameters):
            return try Self.argon2(password, salt: salt, count: expected.count, parameters)
        case .bcrypt:
            var output = [CChar](repeating: 0, count: 128)
            let setting = String(decoding: expected, as: UTF8.self)
            // C would take a zero for the end.
            guard !password.contains(0) else { throw PasswordHashingError() }
            guard functions_bcrypt(String(decoding: password, as: UTF8.self), setting, &output, output.count) == 0
            else {
                throw PasswordHashingError()
            }
            return output.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        }
    }

    private static func argon2(
        _ password: [UInt8], salt: [UInt8], count: Int, _ parameters: Argon2Parameters
    ) throws -> [UInt8] {
        var output = [UInt8](repeating: 0, count: count)
        let numbers = functions_argon2_parameters(
            type: UInt32(parameters.variant.rawValue), version: UInt32(parameters.version.rawValue),
            iterations: UInt32(clamping: parameters.iterations), memory_kib: UInt32(clamping: parameters.memoryKiB),
            parallelism: UInt32(clamping: parameters.parallelism))
        let status = password.withUnsafeBufferPointer { password in
            salt.withUnsafeBufferPointer { salt in
                parameters.associatedData.withUnsafeBufferPointer { data in
                    functions_argon2(
                        numbers, functions_bytes(password), functions_bytes(salt), functions_bytes(data), &output, count
                    )
                }
            }
        }
        guard status == 0 else { throw PasswordHashingError() }
        return output
    }

    private static func scrypt(
        _ password: [UInt8], salt: [UInt8], count: Int, cost: Int, blockSize: Int, parallelism: Int
    ) throws -> [UInt8] {
        let key = try KDF.Scrypt.deriveKey(
            from: password, salt: salt, outputByteCount: count, rounds: cost, blockSize: blockSize,
            parallelism: parallelism, maxMemory: 256 * cost * blockSize + (4 << 20))
        return key.withUnsafeBytes { Array($0) }
    }
}

extension functions_bytes {
    fileprivate init(_ buffer: UnsafeBufferPointer<UInt8>) {
        self.init(bytes: buffer.baseAddress, count: buffer.count)
    }
}

/// The system can't compute such a hash.
struct PasswordHashingError: Error {}

extension PasswordOrder {
    func join(_ salt: [UInt8], _ password: [UInt8]) -> [UInt8] {
        self == .saltFirst ? salt + password : password + salt
    }
}

extension PasswordDigest {
    var function: KDF.Insecure.PBKDF2.HashFunction {
        switch self {
        case .md5: .insecureMD5
        case .sha1: .insecureSHA1
        case .sha256: .sha256
        case .sha512: .sha512
        }
    }

    func hash(_ bytes: [UInt8]) -> [UInt8] {
        switch self {
        case .md5: Array(Insecure.MD5.hash(data: bytes))
        case .sha1: Array(Insecure.SHA1.hash(data: bytes))
        case .sha256: Array(SHA256.hash(data: bytes))
        case .sha512: Array(SHA512.hash(data: bytes))
        }
    }

    func hmac(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        let key = SymmetricKey(data: key)
        return switch self {
        case .md5: Array(HMAC<Insecure.MD5>.authenticationCode(for: bytes, using: key))
        case .sha1: Array(HMAC<Insecure.SHA1>.authenticationCode(for: bytes, using: key))
        case .sha256: Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key))
        case .sha512: Array(HMAC<SHA512>.authenticationCode(for: bytes, using: key))
        }
    }
}
