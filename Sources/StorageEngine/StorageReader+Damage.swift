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
        while true {
            let rest = KeyRange(lower: last.map { $0 + [0] } ?? range.lower, upper: range.upper)
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
                let passed = last
                let left = KeyRange(lower: passed.map { $0 + [0] } ?? range.lower, upper: range.upper)
                try scanKeys(table, left, reverse: false) { key in
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
}
