import RealtimeModel
import StrictJSON

/// A query as REST has it: the ends of its range are values without keys, and included.
///
/// What REST can't say is left out. The service then finds too many children, among them all that were asked for, and
/// `RealtimeNode.matching` picks those.
struct RESTQuery: Sendable {
    let query: RealtimeQuery
    private let start: End
    private let end: End

    /// One end of the range.
    private struct End: Sendable {
        /// As JSON; nil for none.
        var parameter: String?
        /// Whether the parameter says all of it.
        var isExact = true

        init() {}

        init(_ bound: RealtimeQuery.Bound, of index: RealtimeQuery.Index, open: RealtimeQuery.BoundKey) {
            guard index != .key else {
                if case .key(let key) = bound.key { parameter = Self.json(.string(key.string)) }
                isExact = parameter == nil ? bound.key == open : bound.isInclusive
                return
            }
            parameter = Self.json(bound.value)
            isExact = bound.key == open && bound.isInclusive
        }

        private static func json(_ leaf: RealtimeLeaf?) -> String {
            var writer = JSONWriter(capacity: 32)
            if let leaf { writer.realtime(leaf) } else { writer.null() }
            return String(decoding: writer.bytes, as: UTF8.self)
        }
    }

    init(_ query: RealtimeQuery) {
        self.query = query
        start = query.start.map { End($0, of: query.index, open: .minimum) } ?? End()
        end = query.end.map { End($0, of: query.index, open: .maximum) } ?? End()
    }

    /// Whether the service finds exactly what was asked for.
    var isExact: Bool { start.isExact && end.isExact }

    /// The query's limit, and whether the range is exact at the end at which the service begins to count.
    private var limit: (count: Int, isExact: Bool)? {
        switch query.limit {
        case nil: nil
        case .first(let count)?: (count, start.isExact)
        case .last(let count)?: (count, end.isExact)
        }
    }

    private static let maxCount = 1 << 40

    /// How many children to ask for at first; nil without a limit. It is one more than the limit if the service may count
    /// one that wasn't asked for.
    var firstCount: Int? { limit.map { $0.isExact ? $0.count : min($0.count, Self.maxCount) + 1 } }

    /// How many children to ask for next, if the service has counted so many that weren't asked for that some are missing.
    ///
    /// - Parameters:
    ///   - count: how many were asked for.
    ///   - received: how many the service has found.
    ///   - matching: how many of them the query asks for.
    func nextCount(after count: Int?, received: Int, matching: Int) -> Int? {
        guard let count, let limit, !limit.isExact, matching < limit.count, received >= count, count < Self.maxCount
        else { return nil }
        return count * 4
    }

    /// - Parameter count: how many children to ask for; nil for all of the range.
    func parameters(count: Int?) -> [(name: String, value: String)] {
        guard !query.loadsAll else { return [] }
        let index = query.index.name
        let name = index.hasPrefix(".") ? "$" + index.dropFirst() : index
        var writer = JSONWriter(capacity: 32)
        writer.string(name)
        var parameters = [(name: "orderBy", value: String(decoding: writer.bytes, as: UTF8.self))]
        if let start = start.parameter { parameters.append(("startAt", start)) }
        if let end = end.parameter { parameters.append(("endAt", end)) }
        if let count {
            if case .last = query.limit {
                parameters.append(("limitToLast", "\(count)"))
            } else {
                parameters.append(("limitToFirst", "\(count)"))
            }
        }
        return parameters
    }
}
