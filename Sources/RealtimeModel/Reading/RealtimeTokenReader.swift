import StrictJSON

/// Reads the tokens of a value in JSON, and the objects that stand for a leaf.
protocol RealtimeTokenReader {
    var scanner: JSONScanner { get set }
    /// The path of the value that is read, from the root.
    var keys: [RealtimeKey] { get }
}

extension RealtimeTokenReader {
    // MARK: Leaves and priorities

    /// Reads a number, a string, null, or a server value.
    mutating func priority() throws(RealtimeError) -> RealtimeMembers.Scalar {
        let place = scanner.position
        let scalar = try leaf(.invalidPriority)
        if case .leaf(.boolean) = scalar { throw error(.invalidPriority, at: place) }
        return scalar
    }

    /// Reads what isn't an object nor an array, but for a server value.
    mutating func leaf(_ problem: RealtimeError.Problem) throws(RealtimeError) -> RealtimeMembers.Scalar {
        scanner.skipSpace()
        let place = scanner.position
        switch scanner.peek() {
        case UInt8(ascii: "["): throw error(problem, at: place)
        case UInt8(ascii: "{"):
            scanner.position += 1
            scanner.skipSpace()
            guard scanner.peek() == UInt8(ascii: "\"") else { throw error(problem, at: place) }
            guard try string() == ".sv" else { throw error(problem, at: place) }
            try colon()
            let value = try serverValue()
            try endObject(.serverValueBesideOthers)
            return .server(value)
        default: return try scalar().map { .leaf($0) } ?? .none
        }
    }

    /// Reads a string, a number, a boolean, or null.
    mutating func scalar() throws(RealtimeError) -> RealtimeLeaf? {
        let place = scanner.position
        switch scanner.peek() {
        case UInt8(ascii: "\""):
            let text = try string()
            let count = text.utf8.count
            guard count <= RealtimeLimits.maxStringBytes else { throw error(.stringTooLong(count), at: place) }
            return .string(text)
        case let first? where Self.beginsNumber(first): return .number(try number())
        default:
            do throws(JSONError) { try scanner.skipValue() } catch { throw RealtimeError(error, at: here) }
            // Only the three words are left.
            switch scanner.bytes[place] {
            case UInt8(ascii: "t"): return .boolean(true)
            case UInt8(ascii: "f"): return .boolean(false)
            default: return nil
            }
        }
    }

    /// Reads what follows the key `.sv`.
    mutating func serverValue() throws(RealtimeError) -> RealtimeServerValue {
        scanner.skipSpace()
        let place = scanner.position
        switch scanner.peek() {
        case UInt8(ascii: "\""):
            guard try string() == "timestamp" else { throw error(.unknownServerValue, at: place) }
            return .timestamp
        case UInt8(ascii: "{"):
            scanner.position += 1
            scanner.skipSpace()
            guard scanner.peek() == UInt8(ascii: "\""), try string() == "increment" else {
                throw error(.unknownServerValue, at: place)
            }
            try colon()
            guard let first = scanner.peek(), Self.beginsNumber(first) else {
                throw error(.invalidIncrement, at: place)
            }
            let number = try number()
            try endObject(.unknownServerValue)
            return .increment(number)
        default: throw error(.unknownServerValue, at: place)
        }
    }

    // MARK: Tokens

    private static func beginsNumber(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    mutating func string() throws(RealtimeError) -> String {
        do throws(JSONError) { return try scanner.pairedString() } catch { throw RealtimeError(error, at: here) }
    }

    private mutating func number() throws(RealtimeError) -> RealtimeNumber {
        do throws(JSONError) {
            switch try scanner.number() {
            case .integer(let value): return RealtimeNumber(value)
            case .unsigned(let value): return RealtimeNumber(Double(value))
            case .double(let value): return RealtimeNumber(value)
            }
        } catch {
            throw RealtimeError(error, at: here)
        }
    }

    mutating func colon() throws(RealtimeError) {
        scanner.skipSpace()
        guard scanner.take(UInt8(ascii: ":")) else { throw json(.missingColon) }
        scanner.skipSpace()
    }

    /// Skips the brace of an object that has all it may have.
    private mutating func endObject(_ problem: RealtimeError.Problem) throws(RealtimeError) {
        scanner.skipSpace()
        guard !scanner.take(UInt8(ascii: "}")) else { return }
        throw scanner.peek() == UInt8(ascii: ",") ? error(problem, at: scanner.position) : json(.missingMemberSeparator)
    }

    private var here: RealtimePath { RealtimePath(unchecked: keys) }

    func json(_ problem: JSONError.Problem) -> RealtimeError {
        RealtimeError(.json(problem), at: here, offset: scanner.position)
    }

    func error(_ problem: RealtimeError.Problem, at place: Int? = nil) -> RealtimeError {
        RealtimeError(problem, at: here, offset: place)
    }
}
