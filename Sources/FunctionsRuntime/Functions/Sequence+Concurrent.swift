extension Sequence where Element: Sendable {
    /// Transforms the elements concurrently, like `Promise.all` with `map`.
    ///
    ///     let forecasts = try await cities.concurrentMap { city in try await forecast(of: city) }
    ///
    /// - Parameters:
    ///   - limit: How many run at the same time. Default 32.
    ///   - transform: Runs once for each element.
    /// - Returns: The results, in the order of the elements.
    /// - Throws: The first error; the transformations that still run are cancelled.
    public func concurrentMap<Result: Sendable>(
        limit: Int = 32, _ transform: @escaping @Sendable (Element) async throws -> Result
    ) async throws -> [Result] {
        try await withThrowingTaskGroup(of: (Int, Result).self) { group in
            var results: [Int: Result] = [:]
            for (index, element) in enumerated() {
                if index >= Swift.max(1, limit), let (done, result) = try await group.next() { results[done] = result }
                group.addTask { (index, try await transform(element)) }
            }
            while let (done, result) = try await group.next() { results[done] = result }
            return results.sorted { $0.key < $1.key }.map(\.value)
        }
    }
}
