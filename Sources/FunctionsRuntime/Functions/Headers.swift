package import WorkerProtocol

/// The headers of a request or a response. Names are case-insensitive.
public struct Headers: Sendable, ExpressibleByDictionaryLiteral, Sequence {
    private enum Storage: Sendable {
        case received(HeaderBlock)
        case written([(name: String, value: String)])
    }

    private var storage: Storage

    package init(_ block: HeaderBlock) { storage = .received(block) }

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
        get { all.first { $0.name.lowercased() == name.lowercased() }?.value }
        set {
            var pairs = all.filter { $0.name.lowercased() != name.lowercased() }
            if let newValue { pairs.append((name, newValue)) }
            storage = .written(pairs)
        }
    }

    public func makeIterator() -> IndexingIterator<[(name: String, value: String)]> { all.makeIterator() }

    package var block: HeaderBlock {
        switch storage {
        case .received(let block): block
        case .written(let pairs): HeaderBlock(pairs)
        }
    }
}
