import Crypto
import NIOCore

enum Fingerprint {
    /// SHA-256 of the data that a key was first used with.
    static func of(_ data: ByteBuffer) -> [UInt8] { data.withUnsafeReadableBytes { Array(SHA256.hash(data: $0)) } }
}
