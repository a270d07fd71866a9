import StrictJSON

extension RealtimeQuery {
    /// Reads the query of a REST request.
    ///
    /// - Parameters:
    ///   - parameters: the URL's decoded parameters. Others than a query's are ignored.
    ///   - isShallow: whether the request has `shallow=true`. Tools then page by bare keys without an `orderBy`.
    /// - Returns: The default query if the request has none.
    package init(
        parameters: some Sequence<(name: String, value: String)>, isShallow: Bool = false
    ) throws(RealtimeQueryError) {
        let names: Set = [
            "orderBy", "startAt", "startAfter", "endAt", "endBefore", "equalTo", "limitToFirst", "limitToLast",
        ]
        var values: [String: String] = [:]
        for (name, value) in parameters where names.contains(name) { values[name] = value }
        self.init(index: .priority)
        guard !values.isEmpty else { return }
        if let text = values["orderBy"] {
            index = try Index(orderBy: text)
        } else {
            guard isShallow else { throw .orderByMissing }
            index = .key
        }
        let hasBareKeys = values["orderBy"] == nil
        func bound(_ name: String, isInclusive: Bool, isStart: Bool) throws(RealtimeQueryError) -> Bound? {
            guard let text = values[name] else { return nil }
            return try Self.bound(
                text, of: index, isInclusive: isInclusive, isStart: isStart, isBareKey: hasBareKeys)
        }
        let starts = [
            try bound("equalTo", isInclusive: true, isStart: true),
            try bound("startAt", isInclusive: true, isStart: true),
            try bound("startAfter", isInclusive: false, isStart: true),
        ].compactMap { $0 }
        let ends = [
            try bound("equalTo", isInclusive: true, isStart: false),
            try bound("endAt", isInclusive: true, isStart: false),
            try bound("endBefore", isInclusive: false, isStart: false),
        ].compactMap { $0 }
        guard starts.count <= 1, ends.count <= 1 else { throw .severalBounds }
        (start, end) = (starts.first, ends.first)
        limit = try Self.limit(first: values["limitToFirst"], last: values["limitToLast"])
    }

    /// A bound: a JSON primitive, and optionally a comma and a key in quotes.
    private static func bound(
        _ text: String, of index: Index, isInclusive: Bool, isStart: Bool, isBareKey: Bool
    ) throws(RealtimeQueryError) -> Bound {
        if isBareKey {
            guard !text.isEmpty else { throw .invalidBound }
            // Only in quotes it is JSON: a key may be digits, and have commas.
            let key = (try? JSONValue(parsing: Array(text.utf8)))?.stringValue ?? text
            return try bound(.string(key), key: nil, of: index, isInclusive: isInclusive, isStart: isStart)
        }
        guard let elements = (try? JSONValue(parsing: Array("[\(text)]".utf8)))?.arrayValue,
            let value = elements.first, elements.count <= 2
        else { throw .invalidBound }
        var name: String?
        if elements.count == 2 {
            guard let key = elements[1].stringValue else { throw .boundNotKey }
            name = key
        }
        // What follows a value without a key are the children of greater values, as for the SDKs.
        let key = name ?? (isInclusive ? nil : isStart ? BoundKey.maximumName : BoundKey.minimumName)
        return try bound(value, key: key, of: index, isInclusive: isInclusive, isStart: isStart)
    }

    private static func limit(first: String?, last: String?) throws(RealtimeQueryError) -> Limit? {
        guard first == nil || last == nil else { throw .severalLimits }
        guard let text = first ?? last else { return nil }
        guard let count = Int(text), count > 0 else { throw .invalidLimit }
        return first == nil ? .last(count) : .first(count)
    }
}

extension RealtimeQuery.Index {
    /// Reads an `orderBy`: a JSON string.
    fileprivate init(orderBy text: String) throws(RealtimeQueryError) {
        guard let name = (try? JSONValue(parsing: Array(text.utf8)))?.stringValue else { throw .invalidOrderBy }
        switch name {
        case "$key": self = .key
        case "$value": self = .value
        case "$priority": self = .priority
        default:
            guard !name.utf8.starts(with: ".".utf8) else { throw .invalidOrderBy }
            try self.init(name: name)
        }
    }
}
