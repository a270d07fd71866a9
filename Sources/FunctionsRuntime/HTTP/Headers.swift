package import WorkerProtocol

/// The headers of a request or a response. Names are case-insensitive.
public struct Headers: Sendable, ExpressibleByDictionaryLiteral, Sequence {
    private enum Storage: Sendable {
        case received(HeaderBlock)
        case written([(name: String, value: String)])
    }

    private var storage: Storage

    package init(_ block: HeaderBlock) { storage = .received(block) }

    /// A name may stand twice, as `Set-Cookie` does.
    public init(dictionaryLiteral elements: (String, String)...) {
        storage = .written(elements.map { (name: $0.0, value: $0.1) })
    }

    /// All headers in order, each name as it was sent.
    public var all: [(name: String, value: String)] {
        switch storage {
        case .received(let block): block.pairs
        case .written(let pairs): pairs
        }
    }

    /// The first value of a header; nil if there is none. Setting it replaces all values.
    public subscript(_ name: String) -> String? {
        get { all.first { Self.isEqual($0.name, name) }?.value }
        set {
            var pairs = all.filter { !Self.isEqual($0.name, name) }
            if let newValue { pairs.append((name, newValue)) }
            storage = .written(pairs)
        }
    }

    /// All values of a header, in order.
    public func values(for name: String) -> [String] {
        all.compactMap { Self.isEqual($0.name, name) ? $0.value : nil }
    }

    /// Adds a header, beside others of its name.
    public mutating func add(_ name: String, _ value: String) {
        if case .written(var pairs) = storage {
            storage = .written([])
            pairs.append((name, value))
            storage = .written(pairs)
        } else {
            storage = .written(all + [(name, value)])
        }
    }

    public func makeIterator() -> IndexingIterator<[(name: String, value: String)]> { all.makeIterator() }

    package var block: HeaderBlock {
        switch storage {
        case .received(let block): block
        case .written(let pairs): HeaderBlock(pairs)
        }
    }

    private static func isEqual(_ a: String, _ b: String) -> Bool {
        a.utf8.count == b.utf8.count && zip(a.utf8, b.utf8).allSatisfy { lowercased($0) == lowercased($1) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte | 0x20 : byte }
}
