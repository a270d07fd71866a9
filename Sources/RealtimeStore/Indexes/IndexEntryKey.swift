import DocumentModel
import RealtimeModel

/// Paths of the entries that order a node's children: the node's path, a marker, the index's number, the value and
/// the child's key. The rows are empty.
enum IndexEntryKey {
    /// The number of the priorities. Each node has this index, and in it only the children with a priority.
    static let priorities: UInt32 = 0

    /// What all entries of an index have in common.
    static func prefix(of path: [UInt8], index number: UInt32) -> [UInt8] {
        path + [TreeKey.entryMarker] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
    }

    static func of(_ entry: RealtimeIndexEntry, in prefix: [UInt8]) -> [UInt8] {
        var key = prefix
        IndexValueKey.append(entry.value, to: &key)
        TreeKey.append(entry.key, to: &key)
        return key
    }

    /// Reads an entry.
    ///
    /// - Parameter bytes: the path's bytes after the prefix.
    /// - Returns: the value, nil if it was cut, and the child's key.
    static func read(_ bytes: ArraySlice<UInt8>) throws(DecodingFailure) -> (
        value: RealtimeIndexValue?, key: RealtimeKey
    ) {
        var rest = bytes
        let value = try IndexValueKey.read(from: &rest)
        var reader = TreeKeyReader(rest)
        let key = try reader.key()
        guard reader.isAtEnd else { throw DecodingFailure("an entry of an index goes on after its end") }
        return (value, key)
    }
}
