import TextFormats

/// The decoded parameters of a URL's query, or the fields of a form, in order.
public struct QueryItems: Sendable, Sequence {
    public let items: [(name: String, value: String)]

    init(_ items: [(name: String, value: String)]) { self.items = items }

    /// What isn't valid percent-encoding is kept as it was sent, as browsers do.
    init(urlEncoded text: some StringProtocol) {
        items = text.split(separator: "&").map { item in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            func decode(_ part: some StringProtocol) -> String {
                PercentEncoding.decoded(part, plusIsSpace: true) ?? String(part)
            }
            return (decode(parts[0]), parts.count > 1 ? decode(parts[1]) : "")
        }
    }

    /// The first value of a parameter; nil if there is none.
    public subscript(_ name: String) -> String? { items.first { $0.name == name }?.value }

    /// All values of a parameter, in order: `?tag=a&tag=b`.
    public func values(for name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }

    /// The first value of a parameter as a number, a boolean or another type that reads a string; nil if there is none.
    ///
    ///     let limit = try request.query.value("limit", as: Int.self) ?? 20
    ///
    /// - Throws: ``HttpsError`` `invalidArgument`, which the caller sees as 400, if the text isn't a value of the type.
    public func value<Value: LosslessStringConvertible>(_ name: String, as type: Value.Type) throws -> Value? {
        try value(name, Value.init)
    }

    /// The first value of a parameter as an enum or another type that a string stands for; nil if there is none.
    ///
    /// - Throws: ``HttpsError`` `invalidArgument`, which the caller sees as 400, if the text isn't a value of the type.
    public func value<Value: RawRepresentable<String>>(_ name: String, as type: Value.Type) throws -> Value? {
        try value(name, Value.init(rawValue:))
    }

    private func value<Value>(_ name: String, _ convert: (String) -> Value?) throws -> Value? {
        guard let text = self[name] else { return nil }
        guard let value = convert(text) else {
            throw HttpsError(.invalidArgument, "\(name): expected \(Value.self), found \"\(text)\"")
        }
        return value
    }

    public func makeIterator() -> IndexingIterator<[(name: String, value: String)]> { items.makeIterator() }
}
