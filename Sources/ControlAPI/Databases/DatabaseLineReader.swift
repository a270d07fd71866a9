import DocumentModel
import RealtimeModel
import StrictJSON

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Reads the lines of a database's export strictly, and gives the rows away. Errors name the line.
struct DatabaseLineReader {
    private static let linesBetweenTellings = 4_096
    /// The bytes of the header and of the last line, which are parsed as a whole. A header's path has at most 50 KiB.
    private static let maxParsedBytes = 64 * 1024

    private let path: RealtimePath
    private let maxNodes: Int
    private var line = 0
    private var count = 0
    private var hasHeader = false
    private var isOver = false
    /// The last row, from the node that is imported.
    private var last: RealtimeRowLine?

    /// - Parameter path: where the rows are imported to.
    init(at path: RealtimePath, maxNodes: Int) {
        self.path = path
        self.maxNodes = maxNodes
    }

    /// - Throws: `DocumentError`, or what the receiver throws.
    mutating func read(_ bytes: UnsafeRawBufferPointer, to receiver: inout some RealtimeTextReceiver) throws {
        var start = 0
        while start < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
            let length = Self.lineLength(rest)
            line += 1
            try read(line: UnsafeRawBufferPointer(rebasing: rest[..<length]), to: &receiver)
            start += length + 1
            if line % Self.linesBetweenTellings == 0 { try receiver.advanced(to: min(start, bytes.count)) }
        }
        guard hasHeader else { throw DocumentError.invalidArgument("there is nothing to import: the input is empty") }
        guard isOver else {
            throw DocumentError.invalidArgument(
                "the export is incomplete after line \(line): its last line, with the number of lines, is missing")
        }
    }

    private static func lineLength(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let start = bytes.baseAddress, let end = memchr(start, Int32(UInt8(ascii: "\n")), bytes.count) else {
            return bytes.count
        }
        return UnsafeRawPointer(end) - start
    }

    private mutating func read(line bytes: UnsafeRawBufferPointer, to receiver: inout some RealtimeTextReceiver) throws
    {
        if isOver {
            // Editors may add empty lines.
            guard bytes.allSatisfy({ $0 == 0x20 || $0 == 0x0D }) else { throw wrong("the export ended before") }
            return
        }
        // Rows are many, and their reader is the faster one.
        if hasHeader, bytes.starts(with: "{\"path\":".utf8) { return try row(bytes, to: &receiver) }
        guard bytes.count <= Self.maxParsedBytes else { return try longLine(bytes, to: &receiver) }
        let root: JSONNode
        do throws(JSONProblem) { root = try JSONNode(parsing: bytes) } catch {
            throw wrong(error.message, at: error.offset)
        }
        do throws(JSONProblem) {
            guard hasHeader else {
                try DatabaseLines.checkHeader(root)
                hasHeader = true
                return
            }
            if let count = root["count"] { return try end(root, count) }
        } catch {
            throw wrong(error.message, at: error.offset)
        }
        try row(bytes, to: &receiver)
    }

    /// Reads a line that is too long to be the header or the last one. A row's members may have any order.
    private mutating func longLine(_ bytes: UnsafeRawBufferPointer, to receiver: inout some RealtimeTextReceiver) throws
    {
        guard hasHeader else {
            throw wrong(
                "the line is longer than 64 KiB, the limit of a header: this looks like JSON rather than JSON Lines; "
                    + "import it with --format json")
        }
        try row(
            bytes, to: &receiver,
            otherwise: "the line is not a value's, and is longer than 64 KiB, the limit of an export's last line")
    }

    private mutating func end(_ root: JSONNode, _ count: JSONNode) throws(JSONProblem) {
        for member in try root.members() where member.key != "count" { throw member.unknown }
        let number = try count.integer()
        guard number == Int64(self.count) else {
            throw count.problem("the export should have \(number) lines of values, but has \(self.count)")
        }
        if let problem = unfinished { throw root.problem(problem) }
        isOver = true
    }

    /// What is wrong if nothing follows; nil if nothing is.
    private var unfinished: String? {
        guard let last, last.leaf == nil else { return nil }
        return "\(last.path) has a priority, and no line of a value below it follows"
    }

    /// - Parameter problem: what is wrong with a line that isn't a row, before the reason.
    private mutating func row(
        _ bytes: UnsafeRawBufferPointer, to receiver: inout some RealtimeTextReceiver, otherwise problem: String? = nil
    ) throws {
        let row: RealtimeRowLine
        do throws(RealtimeRowLine.Problem) { row = try RealtimeRowLine(parsing: bytes) } catch {
            throw wrong(problem.map { "\($0): \(error.message)" } ?? error.message, at: error.offset)
        }
        count += 1
        guard count <= maxNodes else { throw wrong(DatabaseText.tooManyNodes(maxNodes)) }
        try checkOrder(row)
        last = row
        let keys = path.keys + row.path.keys
        guard keys.count <= RealtimeLimits.maxDepth else {
            throw wrong("\(row.path): the data are nested more than \(RealtimeLimits.maxDepth) deep, the limit")
        }
        if let leaf = row.leaf {
            try receiver.leaf(leaf, priority: row.priority, at: keys)
        } else if let priority = row.priority {
            try receiver.priority(priority, at: keys)
        }
    }

    /// In their order, rows that contradict each other are neighbors.
    private func checkOrder(_ row: RealtimeRowLine) throws {
        guard let last else { return }
        guard last.path < row.path else {
            throw wrong(
                last.path == row.path
                    ? "the path \(row.path) is repeated"
                    : "\(row.path) comes after \(last.path): lines are in the order of the tree, integer keys first")
        }
        let isBelow = last.path.isAncestor(of: row.path)
        if last.leaf != nil, isBelow { throw wrong("\(row.path) is below \(last.path), which has a value") }
        if let unfinished, !isBelow { throw wrong(unfinished) }
    }

    private func wrong(_ message: String, at offset: Int? = nil) -> DocumentError {
        let column = offset.map { ", column \($0 + 1)" } ?? ""
        return .invalidArgument("line \(line)\(column): \(message)")
    }
}
