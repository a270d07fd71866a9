/// Rows of one table that are put at once. Their bytes are in one buffer: no row takes an array of its own, and none is freed
/// on the writer's thread.
package struct RowBlock: Sendable {
    private var bytes: [UInt8] = []
    /// Of each row, where its key ends and where its value does.
    private var ends: [(key: Int, value: Int)] = []

    package init() {}

    package var isEmpty: Bool { ends.isEmpty }

    /// The number of rows.
    package var count: Int { ends.count }

    /// Of all keys and values.
    package var byteCount: Int { bytes.count }

    /// - Parameter header: precedes the key.
    package mutating func append(_ header: [UInt8], _ key: [UInt8], _ value: [UInt8]) {
        bytes += header
        bytes += key
        let end = bytes.count
        bytes += value
        ends.append((end, bytes.count))
    }

    /// Calls the body for each row, in the order in which they were appended.
    ///
    /// - Parameter body: the bytes are valid during the call.
    package func forEach(
        _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Void
    ) rethrows {
        try bytes.withUnsafeBytes { bytes in
            var start = 0
            for end in ends {
                try body(
                    UnsafeRawBufferPointer(rebasing: bytes[start..<end.key]),
                    UnsafeRawBufferPointer(rebasing: bytes[end.key..<end.value]))
                start = end.value
            }
        }
    }
}
