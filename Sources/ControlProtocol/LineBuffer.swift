package import DocumentModel

/// Splits a stream of byte chunks into lines.
package struct LineBuffer {
    /// More than the largest document needs as JSON.
    package static let maxExportLineBytes = 64 * 1024 * 1024

    private var bytes: [UInt8] = []
    private var start = 0
    /// Where the search for the next line break continues.
    private var searched = 0
    private let maxLineBytes: Int

    package init(maxLineBytes: Int = Self.maxExportLineBytes) { self.maxLineBytes = maxLineBytes }

    package mutating func append(_ piece: some Collection<UInt8>) {
        if start > 0 {
            bytes.removeSubrange(..<start)
            searched -= start
            start = 0
        }
        bytes += piece
    }

    /// The next complete line without its line break; nil if more bytes are needed.
    ///
    /// - Throws: `invalidArgument` if a line exceeds the limit.
    package mutating func next() throws(DocumentError) -> [UInt8]? {
        guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
            searched = bytes.count
            guard bytes.count - start <= maxLineBytes else {
                throw .invalidArgument("a line has more than \(maxLineBytes) bytes; this is not an export")
            }
            return nil
        }
        defer {
            start = end + 1
            searched = start
        }
        return Array(bytes[start..<end])
    }

    /// The next bytes, which needn't be a line.
    package mutating func take(atMost count: Int) -> ArraySlice<UInt8> {
        let piece = bytes[start...].prefix(count)
        start = piece.endIndex
        searched = max(searched, start)
        return piece
    }

    /// The bytes after the last line break.
    package var rest: ArraySlice<UInt8> { bytes[start...] }
}
