package import DocumentModel
import StrictJSON
import TextFormats

/// Reads a file of users in CSV, as `firebase auth:export` writes it: one user in each row, without a header.
package struct UserTableReader {
    private enum State {
        /// At the start of a field, or in one without quotes.
        case plain
        case quoted
        /// After a quote in a quoted field: the field's end, or the first of two.
        case quote
    }

    static let maxRowBytes = 1 << 20
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private var state = State.plain
    private var field: [UInt8] = []
    /// Whether the field has quotes, between which blanks belong to it.
    private var isQuoted = false
    private var row: [String] = []
    private var rowBytes = 0
    private var line = 1
    private var rowLine = 1
    private var entries: [UserEntry] = []

    package init() {}

    /// - Returns: what is complete.
    /// - Throws: `invalidArgument` with the line, if the bytes aren't such a file.
    package mutating func read(_ bytes: [UInt8]) throws(DocumentError) -> [UserEntry] {
        for byte in bytes { try take(byte) }
        defer { entries = [] }
        return entries
    }

    /// - Returns: the last user, if the file doesn't end with a line break.
    /// - Throws: `invalidArgument` if the file is incomplete.
    package mutating func finish() throws(DocumentError) -> [UserEntry] {
        guard state != .quoted else {
            throw .invalidArgument("line \(rowLine): a quote isn't closed before the end of the file")
        }
        try endRow()
        defer { entries = [] }
        return entries
    }

    private mutating func take(_ byte: UInt8) throws(DocumentError) {
        rowBytes += 1
        guard rowBytes <= Self.maxRowBytes else {
            throw .invalidArgument(
                "line \(rowLine): a row has more than \(Self.maxRowBytes >> 20) MiB; is a quote open?")
        }
        switch (state, byte) {
        case (.quoted, UInt8(ascii: "\"")): state = .quote
        case (.quote, UInt8(ascii: "\"")):
            field.append(byte)
            state = .quoted
        case (.quoted, _): field.append(byte)
        case (.plain, UInt8(ascii: "\"")) where field.isEmpty:
            state = .quoted
            isQuoted = true
        case (_, UInt8(ascii: ",")): endField()
        case (_, UInt8(ascii: "\n")): try endRow()
        case (_, UInt8(ascii: "\r")): break
        case (.quote, _): throw .invalidArgument("line \(line): there is text between a closing quote and the comma")
        case (.plain, _):
            field.append(byte)
            // Spreadsheets begin a table with it. It isn't a part of the first uid.
            if line == 1, rowBytes == Self.byteOrderMark.count, field == Self.byteOrderMark { field = [] }
        }
        if byte == UInt8(ascii: "\n") { line += 1 }
        if rowBytes == 0 { rowLine = line }
    }

    private mutating func endField() {
        let text = String(decoding: field, as: UTF8.self)
        row.append(isQuoted ? text : text.trimmed)
        field = []
        isQuoted = false
        state = .plain
    }

    private mutating func endRow() throws(DocumentError) {
        endField()
        defer {
            row = []
            rowBytes = 0
        }
        guard row.contains(where: { !$0.isEmpty }) else { return }
        // Rows end with a comma.
        guard row.count <= Self.columns + 1, row.dropFirst(Self.columns).allSatisfy(\.isEmpty) else {
            throw .invalidArgument("line \(rowLine): the row has \(row.count) columns; users have \(Self.columns)")
        }
        entries.append(try Self.entry(row, line: rowLine))
    }

    // MARK: Columns

    static let columns = 52

    /// The first of the four columns of each provider.
    static let providers: [(id: String, column: Int)] = [
        ("google.com", 7), ("facebook.com", 11), ("twitter.com", 15), ("github.com", 19), ("apple.com", 28),
        ("microsoft.com", 32), ("gc.apple.com", 36), ("playgames.google.com", 40), ("linkedin.com", 44),
        ("yahoo.com", 48),
    ]

    /// The columns of texts, beside those of providers. Column 2 and 26 are flags.
    static let texts: [(name: String, column: Int)] = [
        ("localId", 0), ("email", 1), ("passwordHash", 3), ("salt", 4), ("displayName", 5), ("photoUrl", 6),
        ("createdAt", 23), ("lastSignedInAt", 24), ("phoneNumber", 25), ("customAttributes", 27),
    ]
    static let flags: [(name: String, column: Int)] = [("emailVerified", 2), ("disabled", 26)]

    private static func entry(_ row: [String], line: Int) throws(DocumentError) -> UserEntry {
        func text(_ column: Int) -> String? { column < row.count && !row[column].isEmpty ? row[column] : nil }
        var fields = JSONObject()
        for (name, column) in texts { fields[name] = text(column).map(JSONValue.string) }
        for (name, column) in flags {
            switch text(column) {
            case "true": fields[name] = true
            case "false": fields[name] = false
            case nil: break
            case let other?:
                throw .invalidArgument(
                    "line \(line), column \(column + 1) (\(name)): \"\(other)\" is not true or false")
            }
        }
        for (name, column) in texts where name.hasSuffix("At") {
            guard let value = text(column) else { continue }
            guard Int64(value) != nil else {
                throw .invalidArgument("line \(line), column \(column + 1) (\(name)): \"\(value)\" is not a number")
            }
        }
        for (name, column) in texts where name == "passwordHash" || name == "salt" {
            guard let value = text(column) else { continue }
            guard Base64.decodeAnyAlphabet(value) != nil else {
                throw .invalidArgument("line \(line), column \(column + 1) (\(name)): this is not base 64")
            }
        }
        let accounts = providers.compactMap { id, column -> JSONValue? in
            guard let rawID = text(column) else { return nil }
            var account: JSONObject = ["providerId": .string(id), "rawId": .string(rawID)]
            account["email"] = text(column + 1).map(JSONValue.string)
            account["displayName"] = text(column + 2).map(JSONValue.string)
            account["photoUrl"] = text(column + 3).map(JSONValue.string)
            return .object(account)
        }
        if !accounts.isEmpty { fields["providerUserInfo"] = .array(accounts) }
        return UserEntry(fields, place: "line \(line)")
    }
}

extension String {
    fileprivate var trimmed: String {
        var text = Substring(self)
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
