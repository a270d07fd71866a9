package import StorageEngine

/// A reader that forwards to another one what it doesn't implement itself.
package protocol ForwardingReader: StorageReader {
    var inner: any StorageReader { get }
}

extension ForwardingReader {
    package func get(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? { try inner.get(table, key) }

    package func scan(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
    ) throws {
        try inner.scan(table, range, reverse: reverse, body)
    }

    package func scanKeys(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
    ) throws {
        try inner.scanKeys(table, range, reverse: reverse, body)
    }

    package func count(_ table: StorageTable, _ range: KeyRange) throws -> Int { try inner.count(table, range) }

    package func key(_ table: StorageTable, _ range: KeyRange, after count: Int) throws -> [UInt8]? {
        try inner.key(table, range, after: count)
    }
}

/// A session whose readers are wrapped.
package final class WrappingSession: ReadSession {
    private let inner: any ReadSession
    private let wrap: (any StorageReader) -> any StorageReader

    package init(_ inner: any ReadSession, _ wrap: @escaping (any StorageReader) -> any StorageReader) {
        self.inner = inner
        self.wrap = wrap
    }

    package func read<Result>(_ body: (any StorageReader) throws -> Result) throws -> Result {
        try inner.read { try body(wrap($0)) }
    }
}
