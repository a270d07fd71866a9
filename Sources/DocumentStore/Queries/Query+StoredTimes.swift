import DocumentModel

extension Query {
    /// The query with the times within the arrays and maps that it compares with truncated to microseconds, as within
    /// stored ones. A time that stands alone keeps its nanoseconds, so that no stored one equals it. The official
    /// emulator does both.
    var withStoredTimes: Query {
        var query = self
        query.filter = filter?.withStoredTimes
        query.start = start?.withStoredTimes
        query.end = end?.withStoredTimes
        return query
    }
}

extension Query.Cursor {
    fileprivate var withStoredTimes: Query.Cursor {
        Query.Cursor(values: values.map(\.withStoredTimes), before: before)
    }
}

extension Query.Filter {
    fileprivate var withStoredTimes: Query.Filter {
        switch self {
        case .and(let filters): .and(filters.map(\.withStoredTimes))
        case .or(let filters): .or(filters.map(\.withStoredTimes))
        case .field(let field, let comparison, let value): .field(field, comparison, value.withStoredTimes)
        case .unary: self
        }
    }
}

extension Value {
    fileprivate var withStoredTimes: Value {
        switch self {
        case .array, .map: truncatedToMicroseconds
        default: self
        }
    }
}
