package import DocumentModel

/// Cuts what comes in pieces into lines.
package struct LineBuffer {
    /// What the largest document can become as JSON, and more.
    package static let maxExportLineBytes = 64 * 1024 * 1024

    private var bytes: [UInt8] = []
    private var start = 0
    /// Where the search for the next end goes on.
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

    /// The next whole line, without its end; nil where more has to come.
    ///
    /// - Throws: `invalidArgument` where a line is longer than any can be.
    package mutating func next() throws(DocumentError) -> [UInt8]? {
        guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
            searched = bytes.count
            guard bytes.count - start <= maxLineBytes else {
                throw .invalidArgument("a line has more than \(maxLineBytes) bytes; this is no export")
            }
            return nil
        }
        defer {
            start = end + 1
            searched = start
        }
        return Array(bytes[start..<end])
    }

    /// What came after the last end.
    package var rest: ArraySlice<UInt8> { bytes[start...] }
}
