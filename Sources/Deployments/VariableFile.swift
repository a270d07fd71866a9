import FunctionManifest
import HostConfiguration

/// A file of variables, `NAME=value` line by line, as Firebase's tools read `.env`.
///
/// A value stands as it is, up to a `#` and without the space around it; in single quotes it may hold anything, in double
/// quotes `\n`, `\r`, `\t`, `\v`, `\\`, `\'` and `\"` as well; a quoted value may go over several lines.
struct VariableFile: Equatable, Sendable {
    struct Entry: Equatable, Sendable {
        var value: String
        var line: Int
    }

    var path: String
    private(set) var entries: [String: Entry]

    init(path: String, entries: [String: Entry] = [:]) {
        self.path = path
        self.entries = entries
    }

    /// - Throws: all lines that can't be read. Their text isn't told: it may be secret.
    init(path: String, bytes: [UInt8]) throws(ConfigurationError) {
        self.init(path: path)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ConfigurationError(file: path, problems: [.init(place: nil, key: "", message: "isn't UTF-8")])
        }
        var scanner = VariableScanner(text)
        while let item = scanner.next() {
            // As in Firebase's tools, the last one counts.
            entries[item.name] = Entry(value: item.value, line: item.line)
        }
        guard scanner.wrong.isEmpty else {
            throw ConfigurationError(
                file: path,
                problems: scanner.wrong.map {
                    .init(
                        place: .init(line: $0, column: 1), key: "",
                        message:
                            "this is no variable; write NAME=value, with capital letters, digits and _ in the name, "
                            + "and a quote at the value's end where there is one at its start")
                })
        }
    }
}

/// Goes through the text of a file of variables.
private struct VariableScanner {
    private var rest: Substring.UnicodeScalarView
    private var line = 1
    /// The lines that are none.
    private(set) var wrong: [Int] = []

    init(_ text: String) {
        var scalars = Substring(text).unicodeScalars
        if scalars.first == "\u{FEFF}" { scalars.removeFirst() }
        rest = scalars
    }

    mutating func next() -> (name: String, value: String, line: Int)? {
        while !rest.isEmpty {
            let start = rest
            let startLine = line
            if let item = variable() { return (item.name, item.value, startLine) }
            rest = start
            line = startLine
            let text = rest.prefix { !Self.isNewline($0) }
            if let first = text.first(where: { !Self.isSpace($0) }), first != "#" { wrong.append(line) }
            rest = rest[text.endIndex...]
            endLine()
        }
        return nil
    }

    /// A whole line of a variable, or the lines that its value goes over.
    private mutating func variable() -> (name: String, value: String)? {
        skipSpace()
        let name = String(
            take { $0 == "_" || ("0"..."9").contains($0) || ("A"..."Z").contains($0) || ("a"..."z").contains($0) })
        skipSpace()
        guard ParamManifest.isValidName(name), rest.first == "=" else { return nil }
        rest.removeFirst()
        skipSpace()
        let value: String
        if let quote = rest.first, quote == "\"" || quote == "'" {
            guard let quoted = quoted(quote) else { return nil }
            value = quoted
        } else {
            var text = take { $0 != "#" && !Self.isNewline($0) }
            while text.last.map(Self.isSpace) == true { text.removeLast() }
            value = String(text)
        }
        skipSpace()
        if rest.first == "#" { _ = take { !Self.isNewline($0) } }
        guard rest.isEmpty || rest.first.map(Self.isNewline) == true else { return nil }
        endLine()
        return (name, value)
    }

    private mutating func quoted(_ quote: Unicode.Scalar) -> String? {
        rest.removeFirst()
        var value = String.UnicodeScalarView()
        while let scalar = rest.popFirst() {
            switch scalar {
            case quote: return String(value)
            case "\\":
                guard let next = rest.popFirst() else { return nil }
                if quote == "\"", let escaped = Self.escapes[next] {
                    value.append(escaped)
                } else if next == quote {
                    value.append(contentsOf: quote == "'" ? ["\\", next] : [next])
                } else {
                    if next == "\n" { line += 1 }
                    value.append(contentsOf: [scalar, next])
                }
            default:
                if scalar == "\n" { line += 1 }
                value.append(scalar)
            }
        }
        return nil
    }

    private static let escapes: [Unicode.Scalar: Unicode.Scalar] = [
        "n": "\n", "r": "\r", "t": "\t", "v": "\u{0B}", "\\": "\\", "'": "'", "\"": "\"",
    ]

    private mutating func take(_ isMeant: (Unicode.Scalar) -> Bool) -> Substring.UnicodeScalarView {
        let taken = rest.prefix(while: isMeant)
        rest = rest[taken.endIndex...]
        return taken
    }

    private mutating func skipSpace() { _ = take(Self.isSpace) }

    private mutating func endLine() {
        if rest.first == "\r" { rest.removeFirst() }
        if rest.first == "\n" { rest.removeFirst() }
        line += 1
    }

    private static func isNewline(_ scalar: Unicode.Scalar) -> Bool { scalar == "\n" || scalar == "\r" }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar == " " || scalar == "\t" || scalar == "\u{0B}" || scalar == "\u{0C}"
    }
}
