package import StrictJSON

/// A row of a database as a line of JSON: `{"path":"rooms/r1","value":"x","priority":3}` is a leaf, and without a value it is the
/// priority of an object that has children.
package struct RealtimeRowLine: Hashable, Sendable {
    /// From the node that the lines are of.
    package var path: RealtimePath
    package var leaf: RealtimeLeaf?
    package var priority: RealtimePriority?

    /// Why a text isn't such a line.
    package struct Problem: Error, Hashable, Sendable {
        package var message: String
        /// The offset in the line.
        package var offset: Int
    }

    package init(_ path: RealtimePath, _ leaf: RealtimeLeaf?, priority: RealtimePriority?) {
        self.path = path
        self.leaf = leaf
        self.priority = priority
    }

    /// - Parameter bytes: the line, with or without its line break.
    package init(parsing bytes: UnsafeRawBufferPointer) throws(Problem) {
        var reader = RowLineReader(scanner: JSONScanner(bytes))
        do throws(RealtimeError) {
            self = try reader.line()
        } catch {
            throw Problem(
                message: reader.problem ?? error.message, offset: error.offset ?? reader.scanner.position)
        }
    }
}

extension JSONWriter {
    /// Appends a row's line with its line break.
    package mutating func line(_ row: RealtimeRowLine) {
        raw("{\"path\":")
        string(row.path.string)
        if let leaf = row.leaf {
            raw(",\"value\":")
            realtime(leaf)
        }
        if let priority = row.priority {
            raw(",\"priority\":")
            realtime(priority.leaf)
        }
        raw("}\n")
    }
}

private struct RowLineReader: RealtimeTokenReader {
    var scanner: JSONScanner
    var keys: [RealtimeKey] = []
    /// What is wrong, if it is about the line and not about a value.
    private(set) var problem: String?

    init(scanner: JSONScanner) { self.scanner = scanner }

    mutating func line() throws(RealtimeError) -> RealtimeRowLine {
        var path: RealtimePath?
        var leaf: RealtimeLeaf?
        var priority: RealtimePriority?
        scanner.skipSpace()
        let start = scanner.position
        guard scanner.take(UInt8(ascii: "{")) else {
            throw wrong("a line is an object such as {\"path\":\"rooms/r1\",\"value\":\"x\"}", at: start)
        }
        repeat {
            scanner.skipSpace()
            let place = scanner.position
            guard scanner.peek() == UInt8(ascii: "\"") else { throw json(.missingKey) }
            let key = try string()
            try colon()
            let content = scanner.position
            switch key {
            case "path" where path == nil:
                guard scanner.peek() == UInt8(ascii: "\"") else { throw wrong("the path is not a string", at: content) }
                path = try self.path(at: content)
            case "value" where leaf == nil:
                guard let value = try plain() else {
                    throw wrong("the value is not a string, a number or a boolean", at: content)
                }
                leaf = value
            case "priority" where priority == nil:
                guard let value = try plain().flatMap({ RealtimePriority($0) }) else {
                    throw wrong("the priority is not a string or a number", at: content)
                }
                priority = value
            case "path", "value", "priority": throw wrong("\(key) is repeated", at: place)
            default:
                throw wrong("\"\(key.excerpt)\" is unknown: a line has path, value and priority", at: place)
            }
            scanner.skipSpace()
        } while scanner.take(UInt8(ascii: ","))
        guard scanner.take(UInt8(ascii: "}")) else { throw json(.missingMemberSeparator) }
        do throws(JSONError) { try scanner.end() } catch { throw RealtimeError(error, at: .root) }
        guard let path else { throw wrong("the line has no path", at: start) }
        guard leaf != nil || priority != nil else {
            throw wrong("the line has neither a value nor a priority; what is nothing has no line", at: start)
        }
        return RealtimeRowLine(path, leaf, priority: priority)
    }

    private mutating func path(at place: Int) throws(RealtimeError) -> RealtimePath {
        let text = try string()
        do throws(RealtimeError) {
            return try RealtimePath(text)
        } catch {
            throw RealtimeError(error.problem, at: .root, offset: place)
        }
    }

    /// - Returns: nil for null, an object or an array.
    private mutating func plain() throws(RealtimeError) -> RealtimeLeaf? {
        let first = scanner.peek()
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[") ? nil : try scalar()
    }

    private mutating func wrong(_ problem: String, at place: Int) -> RealtimeError {
        self.problem = problem
        return error(.json(.notAValue), at: place)
    }
}
