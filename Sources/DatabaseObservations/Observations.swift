package import DocumentModel

/// The observations of all invocations, by their owners.
package struct Observations {
    /// Of one owner.
    private static let limit = 100

    private var byOwner: [UInt64: [UInt64: Observation]] = [:]
    private var last: UInt64 = 0

    package init() {}

    package var count: Int { byOwner.values.reduce(0) { $0 + $1.count } }

    package mutating func add(_ observation: Observation, of owner: UInt64?) throws(DocumentError) -> UInt64 {
        let owner = owner ?? 0
        guard byOwner[owner]?.count ?? 0 < Self.limit else {
            throw DocumentError(.resourceExhausted, "an invocation may have \(Self.limit) observations, the limit")
        }
        last += 1
        byOwner[owner, default: [:]][last] = observation
        return last
    }

    package func has(of owner: UInt64?) -> Bool { byOwner[owner ?? 0] != nil }

    package subscript(id: UInt64, of owner: UInt64?) -> Observation? { byOwner[owner ?? 0]?[id] }

    package mutating func remove(_ id: UInt64, of owner: UInt64?) -> Observation? {
        let owner = owner ?? 0
        defer { if byOwner[owner]?.isEmpty == true { byOwner[owner] = nil } }
        return byOwner[owner]?.removeValue(forKey: id)
    }

    package mutating func removeAll(of owner: UInt64) -> [Observation] {
        byOwner.removeValue(forKey: owner).map { Array($0.values) } ?? []
    }
}
