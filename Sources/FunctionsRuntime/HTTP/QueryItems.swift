import TextFormats

/// The decoded parameters of a URL's query, or the fields of a form, in order.
public struct QueryItems: Sendable, Sequence {
    public let items: [(name: String, value: String)]

    init(_ items: [(name: String, value: String)]) { self.items = items }

    /// A `%` that begins no percent-encoding is kept, and invalid UTF-8 is replaced, as browsers do.
    ///
    /// - Parameter limit: How many items are read.
    init(urlEncoded text: some Collection<UInt8>, limit: Int = .max) {
        var items: [(name: String, value: String)] = []
        var rest = text[...]
        while !rest.isEmpty, items.count < limit {
            let item = rest.prefix { $0 != UInt8(ascii: "&") }
            rest = rest[item.endIndex...].dropFirst()
            guard !item.isEmpty else { continue }
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            let value = item[name.endIndex...].dropFirst()
            items.append((PercentEncoding.repaired(name), PercentEncoding.repaired(value)))
        }
        self.items = items
    }

    /// The first value of a parameter; nil if there is none.
    public subscript(_ name: String) -> String? { items.first { $0.name == name }?.value }

    /// All values of a parameter, in order: `?tag=a&tag=b`.
    public func values(for name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }

    /// The first value of a parameter as a number, a boolean or another ``TextValue``; nil if there
    /// is none.
    ///
    ///     let limit = try request.query.value("limit", as: Int.self) ?? 20
    ///
    /// - Throws: ``HttpsError`` `invalidArgument`, which the caller sees as 400, if the text isn't a value of the type.
    public func value<Value: TextValue>(_ name: String, as type: Value.Type) throws -> Value? {
        try self[name].map { try read($0, of: name, Value.init(text:)) }
    }

    /// The first value of a parameter as an enum of strings; nil if there is none.
    ///
    /// - Throws: As for other types.
    public func value<Value: RawRepresentable<String>>(_ name: String, as type: Value.Type) throws -> Value? {
        try self[name].map { try read($0, of: name, Value.init(rawValue:)) }
    }

    public func makeIterator() -> IndexingIterator<[(name: String, value: String)]> { items.makeIterator() }
}
