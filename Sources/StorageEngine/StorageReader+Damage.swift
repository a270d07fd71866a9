extension StorageReader {
    /// Visits entries by key, bytewise, until the body returns false, without those whose values are damaged.
    ///
    /// - Parameter damaged: called with the key of each of these.
    /// - Throws: what the closures throw, or `StorageError`, also if keys are damaged: what follows can't be found.
    package func scan(
        _ table: StorageTable, _ range: KeyRange, damaged: ([UInt8], StorageError) throws -> Void,
        _ body: ([UInt8], [UInt8]) throws -> Bool
    ) throws {
        var last: [UInt8]?
        /// Where the last attempt began, and how it ended.
        var attempt: (lower: [UInt8], error: StorageError)?
        while true {
            let rest = range.behind(last)
            if let attempt, !attempt.lower.lexicographicallyPrecedes(rest.lower) {
                // Keys that damage has put out of their order would be visited again and again.
                throw attempt.error
            }
            var isInBody = false
            do {
                return try scan(table, rest, reverse: false) { key, value in
                    last = key
                    isInBody = true
                    let goesOn = try body(key, value)
                    isInBody = false
                    return goesOn
                }
            } catch let error as StorageError where error.kind == .damaged && !isInBody {
                attempt = (rest.lower, error)
                let passed = last
                try scanKeys(table, range.behind(passed), reverse: false) { key in
                    last = key
                    return false
                }
                guard let key = last, key != passed else { throw error }
                let value: [UInt8]?
                do {
                    value = try get(table, key)
                } catch let error as StorageError where error.kind == .damaged {
                    try damaged(key, error)
                    continue
                }
                if let value, try !body(key, value) { return }
            }
        }
    }

    /// The same, and goes on behind keys that are damaged, such as those of a whole block.
    ///
    /// What follows them is found from the end of the range, which costs as much as a visit of all of it. If keys are
    /// damaged in several places, all from the first to the last of them is one gap.
    ///
    /// - Parameter gap: called with the last key before the damaged ones, and with the first one behind them, with
    ///   which the visit goes on; each is nil if no key is known.
    /// - Throws: what the closures throw, or `StorageError`.
    package func scanReadable(
        _ table: StorageTable, _ range: KeyRange, damaged: ([UInt8], StorageError) throws -> Void,
        gap: (_ last: [UInt8]?, _ next: [UInt8]?, StorageError) throws -> Void,
        _ body: ([UInt8], [UInt8]) throws -> Bool
    ) throws {
        var rest = range
        while true {
            var last: [UInt8]?
            var isInBody = false
            do {
                return try scan(
                    table, rest,
                    damaged: { key, error in
                        last = key
                        isInBody = true
                        try damaged(key, error)
                        isInBody = false
                    }
                ) { key, value in
                    last = key
                    isInBody = true
                    let goesOn = try body(key, value)
                    isInBody = false
                    return goesOn
                }
            } catch let error as StorageError where error.kind == .damaged && !isInBody {
                let found = try lowestKeyFromEnd(table, rest.behind(last))
                // Without progress the visit would never end.
                let next = found.flatMap { rest.lower.lexicographicallyPrecedes($0) ? $0 : nil }
                try gap(last, next, error)
                guard let next else { return }
                rest.lower = next
            }
        }
    }

    /// The lowest key to which a visit from the end of a range comes, if damage ends it.
    private func lowestKeyFromEnd(_ table: StorageTable, _ range: KeyRange) throws -> [UInt8]? {
        var lowest: [UInt8]?
        do {
            try scanKeys(table, range, reverse: true) { key in
                lowest = key
                return true
            }
        } catch let error as StorageError where error.kind == .damaged {
            return lowest
        }
        return lowest
    }
}

extension KeyRange {
    /// What follows a key; all of it for nil.
    fileprivate func behind(_ key: [UInt8]?) -> KeyRange {
        KeyRange(lower: key.map { $0 + [0] } ?? lower, upper: upper)
    }
}
