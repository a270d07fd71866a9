import Crypto
package import DocumentModel
package import NIOCore

extension CompletionKey {
    /// The key of a caller's call of a function with these data.
    ///
    /// - Parameters:
    ///   - uid: nil for callers without a token, who share their keys.
    ///   - key: empty until the handler names it.
    package init(function: String, uid: String?, key: String, data: ByteBuffer) {
        self.init(function: function, uid: uid, key: key, fingerprint: Self.fingerprint(of: data))
    }

    /// The fingerprint of a call's data.
    static func fingerprint(of data: ByteBuffer) -> [UInt8] {
        data.withUnsafeReadableBytes { fingerprint(of: $0) { Array(SHA256.hash(data: $0)) } }
    }
}
