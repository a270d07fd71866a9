package import StrictJSON

/// A multi-path update: values for several places, which are written together.
package struct RealtimeUpdate: Sendable {
    package struct Entry: Sendable {
        /// From the root of the database.
        package var target: RealtimeTarget
        /// Nil deletes.
        package var value: RealtimeWriteValue

        package init(target: RealtimeTarget, value: RealtimeWriteValue) {
            self.target = target
            self.value = value
        }
    }

    /// In the order of their targets, none of which contains another.
    package let entries: [Entry]

    /// - Throws: `overlappingPaths` if a target is repeated or contains another.
    package init(_ entries: [Entry]) throws(RealtimeError) {
        let sorted = entries.sorted { $0.target < $1.target }
        // What a target contains follows it at once.
        for (entry, next) in zip(sorted, sorted.dropFirst()) where entry.target.contains(next.target) {
            throw RealtimeError(
                .overlappingPaths(entry.target.string, next.target.string), at: entry.target.path)
        }
        self.entries = sorted
    }

    /// Parses a JSON object of relative paths and values, up to the text's end.
    ///
    /// - Parameter path: where the update's paths start.
    /// - Throws: The first error in the text.
    package init(parsing bytes: UnsafeRawBufferPointer, at path: RealtimePath) throws(RealtimeError) {
        var scanner = JSONScanner(bytes)
        try self.init(scanning: &scanner, at: path)
        do throws(JSONError) { try scanner.end() } catch { throw RealtimeError(error, at: path) }
    }

    /// Parses a JSON object of relative paths and values, up to the text's end.
    ///
    /// - Throws: The first error in the text.
    package init(parsing bytes: [UInt8], at path: RealtimePath) throws(RealtimeError) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(RealtimeError) in try RealtimeUpdate(parsing: buffer, at: path) }
        }
        self = try result.get()
    }

    /// Parses the JSON object that a scanner stands before, as within a message.
    package init(scanning scanner: inout JSONScanner, at path: RealtimePath) throws(RealtimeError) {
        try self.init(try Self.entries(&scanner, at: path))
    }

    private static func entries(
        _ scanner: inout JSONScanner, at path: RealtimePath
    ) throws(RealtimeError) -> [Entry] {
        func json(_ problem: JSONError.Problem, _ offset: Int) -> RealtimeError {
            RealtimeError(.json(problem), at: path, offset: offset)
        }
        scanner.skipSpace()
        guard scanner.take(UInt8(ascii: "{")) else { throw RealtimeError(.updateNotObject, at: path) }
        var entries: [Entry] = []
        var nodeCount = 0
        scanner.skipSpace()
        guard !scanner.take(UInt8(ascii: "}")) else { return [] }
        while true {
            scanner.skipSpace()
            let place = scanner.position
            guard scanner.peek() == UInt8(ascii: "\"") else { throw json(.missingKey, scanner.position) }
            let key: String
            do throws(JSONError) { key = try scanner.pairedString() } catch { throw RealtimeError(error, at: path) }
            let target = try target(key, below: path, at: place)
            scanner.skipSpace()
            guard scanner.take(UInt8(ascii: ":")) else { throw json(.missingColon, scanner.position) }
            let value = try RealtimeWriteValue(scanning: &scanner, at: target)
            entries.append(Entry(target: target, value: value))
            nodeCount += value.nodeCount
            guard nodeCount <= RealtimeLimits.maxUpdateNodes else {
                throw RealtimeError(.updateTooLarge, at: path, offset: scanner.position)
            }
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: ",")) { continue }
            guard scanner.take(UInt8(ascii: "}")) else { throw json(.missingMemberSeparator, scanner.position) }
            return entries
        }
    }

    private static func target(
        _ key: String, below path: RealtimePath, at place: Int
    ) throws(RealtimeError) -> RealtimeTarget {
        let relative: RealtimeTarget
        do throws(RealtimeError) {
            relative = try RealtimeTarget(key)
        } catch {
            // Clients give paths as keys: REST reports an invalid one as such.
            let problem = error.problem == .tooDeep ? error.problem : .invalidKey(key)
            throw RealtimeError(problem, at: path, offset: place)
        }
        guard !relative.path.isRoot || relative.isPriority else {
            throw RealtimeError(.emptyUpdatePath, at: path, offset: place)
        }
        guard path.depth + relative.path.depth <= RealtimeLimits.maxDepth else {
            throw RealtimeError(.tooDeep, at: path, offset: place)
        }
        return RealtimeTarget(path).appending(relative)
    }
}
