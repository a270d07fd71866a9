import FunctionManifest
import HostConfiguration

/// A file of variables, one `NAME=value` a line, in the syntax that Firebase's tools accept in `.env`.
///
/// An unquoted value ends at a `#`; white space around it is removed. Single quotes keep everything as it is, double
/// quotes also interpret `\n`, `\r`, `\t`, `\v`, `\\`, `\'` and `\"`. A quoted value may span several lines.
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

    /// - Throws: the numbers of all lines that failed to parse. The error doesn't contain their text, which may be
    ///   secret.
    init(path: String, bytes: [UInt8]) throws(ConfigurationError) {
        self.init(path: path)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ConfigurationError(file: path, problems: [.init(place: nil, key: "", message: "isn't UTF-8")])
        }
        var scanner = VariableScanner(text)
        while let item = scanner.next() {
            // The last one wins, as in Firebase's tools.
            entries[item.name] = Entry(value: item.value, line: item.line)
        }
        guard scanner.invalidLines.isEmpty else {
            throw ConfigurationError(
                file: path,
                problems: scanner.invalidLines.map {
                    .init(
                        place: .init(line: $0, column: 1), key: "",
                        message:
                            "this line is not a variable; write NAME=value, with capital letters, "
                            + "digits and _ in the name, and close a quoted value with the same quote")
                })
        }
    }
}

/// Scans the text of a file of variables.
private struct VariableScanner {
    private var rest: Substring.UnicodeScalarView
    private var line = 1
    /// The numbers of lines that failed to parse.
    private(set) var invalidLines: [Int] = []

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
            if let first = text.first(where: { !Self.isSpace($0) }), first != "#" { invalidLines.append(line) }
            rest = rest[text.endIndex...]
            endLine()
        }
        return nil
    }

    /// Scans a variable to the end of its line, or of the last line of its value.
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

    private mutating func take(while matches: (Unicode.Scalar) -> Bool) -> Substring.UnicodeScalarView {
        let taken = rest.prefix(while: matches)
        rest = rest[taken.endIndex...]
        return taken
    }

    private mutating func skipSpace() { _ = take(while: Self.isSpace) }

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
