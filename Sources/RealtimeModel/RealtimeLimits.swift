/// The Realtime Database's limits.
package enum RealtimeLimits {
    /// The bytes of a key in UTF-8.
    package static let maxKeyBytes = 768
    /// The keys of a path.
    package static let maxDepth = 32
    /// The bytes of a string in UTF-8.
    package static let maxStringBytes = 10 * 1024 * 1024
    /// The bytes of a write by WebSocket.
    package static let maxSocketWriteBytes = 16 * 1024 * 1024
    /// The bytes of a write by REST.
    package static let maxRESTWriteBytes = 256 * 1024 * 1024
    /// The bytes of what one request reads.
    package static let maxReadBytes = 256 * 1024 * 1024
    /// The nodes of a write: each takes much more memory than the few bytes of its text.
    package static let maxWriteNodes = 6_000_000
    /// Of an update, which is in memory as a whole and is one step of the commits: a few seconds, for which others wait.
    package static let maxUpdateNodes = 500_000
    /// The nodes of a write whose value isn't held in memory: each is a row, which takes more than the text's few bytes.
    package static let maxStagedNodes = 32_000_000

    /// Whether a text can be the name of a database.
    package static func isDatabaseName(_ name: String) -> Bool {
        (1...100).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 48...57, 65...90, 97...122, UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
    }
}
