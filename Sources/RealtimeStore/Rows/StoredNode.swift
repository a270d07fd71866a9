import DocumentModel
import RealtimeModel

/// A node's row: the value of a leaf, or the priority of an object. An object without a priority has no row.
///
/// The row's value is a byte that tells its parts, the priority, the leaf, and four bytes of a checksum over these
/// and the path.
struct StoredNode: Hashable {
    /// Nil for an object.
    var leaf: RealtimeLeaf?
    var priority: RealtimePriority?

    /// The parts of the first byte: the leaf's type, and eight times the priority's.
    private enum Part: UInt8 {
        case none, isFalse, isTrue, integer, double, string
    }

    /// - Parameter path: the path's bytes (``TreeKey``).
    func encoded(at path: some Collection<UInt8>) -> [UInt8] {
        var writer = ByteWriter(reservingCapacity: 32)
        writer.write(byte: Self.part(of: leaf).rawValue | Self.part(of: priority?.leaf).rawValue << 3)
        Self.write(priority?.leaf, to: &writer)
        Self.write(leaf, to: &writer)
        return SealedRow.seal(writer.bytes, at: path)
    }

    /// - Throws: if the bytes aren't what was stored at the path.
    init(_ bytes: [UInt8], at path: some Collection<UInt8>) throws(DecodingFailure) {
        var reader = ByteReader(try SealedRow.open(bytes, at: path, "a node in the tree"))
        let parts = try reader.byte()
        let priority = try Self.read(parts >> 3, from: &reader)
        leaf = try Self.read(parts & 7, from: &reader)
        self.priority = priority.flatMap { RealtimePriority($0) }
        try reader.finish()
        guard leaf != nil || self.priority != nil, (priority == nil) == (self.priority == nil) else {
            throw DecodingFailure("a node in the tree has neither a value nor a priority")
        }
    }

    init(leaf: RealtimeLeaf?, priority: RealtimePriority?) {
        self.leaf = leaf
        self.priority = priority
    }

    private static func part(of leaf: RealtimeLeaf?) -> Part {
        switch leaf {
        case nil: .none
        case .boolean(let value)?: value ? .isTrue : .isFalse
        case .number(let number)?: number.integer == nil ? .double : .integer
        case .string?: .string
        }
    }

    private static func write(_ leaf: RealtimeLeaf?, to writer: inout ByteWriter) {
        switch leaf {
        case nil, .boolean?: break
        case .number(let number)?:
            if let integer = number.integer { writer.write(signed: integer) } else { writer.write(number.double) }
        case .string(let text)?: writer.write(text)
        }
    }

    private static func read(_ part: UInt8, from reader: inout ByteReader) throws(DecodingFailure) -> RealtimeLeaf? {
        switch Part(rawValue: part) {
        case Part.none?: return nil
        case .isFalse?: return .boolean(false)
        case .isTrue?: return .boolean(true)
        case .integer?: return .number(RealtimeNumber(try reader.signed()))
        case .double?:
            let double = try reader.double()
            guard double.isFinite else { throw DecodingFailure("a number in the tree is infinite") }
            return .number(RealtimeNumber(double))
        case .string?: return .string(try reader.string())
        case nil: throw DecodingFailure("a node in the tree has an unknown type")
        }
    }
}
