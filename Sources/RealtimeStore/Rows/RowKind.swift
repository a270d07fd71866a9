import StorageEngine

/// What a row of the table holds: the first byte of its key.
enum RowKind: UInt8 {
    /// A node, or an entry of an index, of a numbered tree (``TreeKey``).
    case node = 1
    /// A namespace, by its name (``NamespaceRecord``).
    case namespace
    /// The number of the next tree. There is one such row.
    case nextTree
    /// A setting of a namespace, such as the source of its rules, by the names of both.
    case setting
    /// What happens when a client disconnects, by namespace, session and order.
    case disconnect
    /// A session that has such registrations, by namespace and session.
    case session
    /// How far an index is built or removed, by namespace and the index's number.
    case indexPass

    /// The key of what has texts as its name.
    func key(_ texts: String...) -> [UInt8] {
        var key = [rawValue]
        for text in texts { KeyBytes.append(text.utf8, to: &key) }
        return key
    }

    var all: KeyRange { KeyRange(prefix: [rawValue]) }

    /// The texts at the beginning of a key, and what follows them.
    ///
    /// - Returns: nil if the key has fewer texts, or if one isn't valid UTF-8.
    static func texts(_ count: Int, in key: [UInt8]) -> (texts: [String], rest: ArraySlice<UInt8>)? {
        var texts: [String] = []
        var rest = key.dropFirst()
        for _ in 0..<count {
            var bytes: [UInt8] = []
            while true {
                guard let byte = rest.popFirst() else { return nil }
                if byte == 0 { break }
                if byte == 1 {
                    guard let escaped = rest.popFirst(), escaped > 0 else { return nil }
                    bytes.append(escaped - 1)
                } else {
                    bytes.append(byte)
                }
            }
            guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
            texts.append(text)
        }
        return (texts, rest)
    }
}
