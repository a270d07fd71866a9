package import DocumentModel
package import StrictJSON

/// Splits a file of users in JSON, as `firebase auth:export` and the emulators write it, into its users: an object with the
/// list `users`. It holds one user at a time.
package struct UserListReader {
    package enum Item {
        case user(UserEntry)
        /// Another member of the object than its users, such as `hash`.
        case member(name: String, JSONValue)
    }

    private enum Place {
        case start, member, colon, value, users, end
    }

    /// A user with all that it can have, several times over.
    static let maxValueBytes = 1 << 20

    private var place = Place.start
    private var scanner = ValueScanner()
    /// The value that is being read; nil between two values.
    private var value: (bytes: [UInt8], line: Int)?
    private var name = ""
    private var line = 1
    private var hasUsers = false
    /// Whether a comma must come before the next member or user.
    private var needsComma = false
    private var items: [Item] = []

    package init() {}

    /// - Returns: what is complete.
    /// - Throws: `invalidArgument` with the line, if the bytes aren't such a file.
    package mutating func read(_ bytes: [UInt8]) throws(DocumentError) -> [Item] {
        for byte in bytes {
            // A value without a closing sign ends before the byte that ends it.
            while try !take(byte) {}
            if byte == UInt8(ascii: "\n") { line += 1 }
        }
        defer { items = [] }
        return items
    }

    /// - Throws: `invalidArgument` if the file is incomplete, or a JSON file of something else.
    package func finish() throws(DocumentError) {
        guard place == .end else {
            throw .invalidArgument(
                place == .start ? "the file is empty" : "the file ends in line \(line) before it is complete")
        }
        guard hasUsers else { throw .invalidArgument("the file has no list \"users\"; \(Self.form)") }
    }

    /// - Returns: whether the byte was used up.
    private mutating func take(_ byte: UInt8) throws(DocumentError) -> Bool {
        if value != nil { return try takeOfValue(byte) }
        if byte == 0x20 || (9...13).contains(byte) { return true }
        switch (place, byte) {
        case (.start, 0xEF), (.start, 0xBB), (.start, 0xBF): break
        case (.start, UInt8(ascii: "{")): place = .member
        case (.member, UInt8(ascii: "}")): place = .end
        case (.users, UInt8(ascii: "]")):
            place = .member
            needsComma = true
        case (.member, UInt8(ascii: ",")) where needsComma, (.users, UInt8(ascii: ",")) where needsComma:
            needsComma = false
        case (.member, UInt8(ascii: "\"")) where !needsComma, (.users, UInt8(ascii: "{")) where !needsComma: begin(byte)
        case (.colon, UInt8(ascii: ":")): place = .value
        case (.value, UInt8(ascii: "[")) where name == "users":
            place = .users
            hasUsers = true
            needsComma = false
        case (.value, _) where name != "users": begin(byte)
        default: throw unexpected(byte)
        }
        return true
    }

    private mutating func begin(_ byte: UInt8) {
        value = ([byte], line)
        scanner = ValueScanner()
        _ = scanner.isOver(after: byte)
    }

    private mutating func takeOfValue(_ byte: UInt8) throws(DocumentError) -> Bool {
        if scanner.isScalar, scanner.endsScalar(byte) {
            try end()
            return false
        }
        value?.bytes.append(byte)
        guard (value?.bytes.count ?? 0) <= Self.maxValueBytes else {
            throw .invalidArgument("line \(line): a value has more than \(Self.maxValueBytes >> 20) MiB")
        }
        if scanner.isOver(after: byte) { try end() }
        return true
    }

    private mutating func end() throws(DocumentError) {
        guard let (bytes, line) = value else { return }
        value = nil
        let node: JSONNode
        do throws(JSONProblem) { node = try JSONNode(parsing: bytes) } catch {
            let position = JSONPosition(of: error.offset, in: bytes)
            throw .invalidArgument("line \(line + position.line - 1): \(error.message)")
        }
        switch place {
        case .member:
            if case .string(let text) = node.kind { name = text }
            place = .colon
        case .users:
            items.append(.user(UserEntry(node, bytes, place: "line \(line)")))
            needsComma = true
        default:
            // It was parsed a moment ago.
            items.append(.member(name: name, (try? JSONValue(parsing: bytes)) ?? .null))
            place = .member
            needsComma = true
        }
    }

    private func unexpected(_ byte: UInt8) -> DocumentError {
        let sign = (0x21...0x7E).contains(byte) ? "\"\(Character(UnicodeScalar(byte)))\"" : "the byte \(byte)"
        return .invalidArgument("line \(line): \(sign) is not expected here; \(Self.form)")
    }

    private static let form = "a file of users is { \"users\": [ { \"localId\": … }, … ] }"
}

/// Finds the end of a JSON value.
private struct ValueScanner {
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    /// A number, true, false or null, which have no closing sign.
    private(set) var isScalar = false

    /// - Returns: whether the byte is the last of the value.
    mutating func isOver(after byte: UInt8) -> Bool {
        if isInString {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString = false
            }
            return !isInString && depth == 0
        }
        switch byte {
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            depth -= 1
            return depth <= 0
        default: if depth == 0 { isScalar = true }
        }
        return false
    }

    func endsScalar(_ byte: UInt8) -> Bool {
        byte == 0x20 || (9...13).contains(byte) || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}")
    }
}
