import UserStore

/// What stands in a template for a value of a mail, in the syntax of Firebase's templates.
enum MailPlaceholder: String, Hashable, Sendable, CaseIterable {
    case link = "LINK"
    case email = "EMAIL"
    case newEmail = "NEW_EMAIL"
    case appName = "APP_NAME"
    case displayName = "DISPLAY_NAME"

    /// The placeholders that have a value in mails of a kind.
    static func all(in kind: MailAction.Kind) -> [MailPlaceholder] {
        allCases.filter { $0 != .newEmail || kind == .verifyAndChangeEmail || kind == .recoverEmail }
    }
}

/// The subject and the texts of a mail, with placeholders.
struct MailTemplate: Hashable, Sendable {
    struct Filled: Hashable, Sendable {
        var subject: String
        var text: String
        var html: String?
    }

    enum Piece: Hashable, Sendable {
        case literal(String)
        case value(MailPlaceholder)
    }

    var subject: [Piece]
    var text: [Piece]
    var html: [Piece]?

    func filled(_ values: [MailPlaceholder: String]) -> Filled {
        // A name with line breaks can't add lines to a mail.
        let breaks: Set<Unicode.GeneralCategory> = [.control, .lineSeparator, .paragraphSeparator]
        let values = values.mapValues { value in
            String(
                String.UnicodeScalarView(
                    value.unicodeScalars.map { breaks.contains($0.properties.generalCategory) ? " " : $0 }))
        }
        func fill(_ pieces: [Piece], _ form: (String) -> String = { $0 }) -> String {
            pieces.map { piece in
                switch piece {
                case .literal(let text): text
                case .value(let placeholder): form(values[placeholder] ?? "")
                }
            }.joined()
        }
        return Filled(subject: fill(subject), text: fill(text), html: html.map { fill($0, Page.escaped) })
    }

    // MARK: Reading

    /// What is wrong in a template, and in which of its lines.
    struct Mistake: Error {
        var line: Int?
        var message: String
    }

    /// - Parameter source: `Subject: …` in the first line, and the text after it.
    static func plain(_ source: String, _ kind: MailAction.Kind) throws(Mistake) -> MailTemplate {
        var lines = source.split(omittingEmptySubsequences: false) { $0.isNewline }
        let first = lines.removeFirst()
        guard first.lowercased().hasPrefix("subject:") else {
            throw Mistake(line: 1, message: "the first line is not the subject; write \"Subject: …\"")
        }
        let subject = first.dropFirst("subject:".count).drop { $0 == " " }
        guard !subject.isEmpty else { throw Mistake(line: 1, message: "the subject is empty") }
        let skipped = lines.prefix { $0.allSatisfy(\.isWhitespace) }.count
        return MailTemplate(
            subject: try pieces([subject], kind, firstLine: 1, without: .link),
            text: try body(Array(lines.dropFirst(skipped)), kind, firstLine: skipped + 2))
    }

    static func html(_ source: String, _ kind: MailAction.Kind) throws(Mistake) -> [Piece] {
        try body(source.split(omittingEmptySubsequences: false) { $0.isNewline }, kind, firstLine: 1)
    }

    private static func body(
        _ lines: [Substring], _ kind: MailAction.Kind, firstLine: Int
    ) throws(Mistake) -> [Piece] {
        let pieces = try pieces(lines, kind, firstLine: firstLine)
        guard pieces.contains(.value(.link)) else {
            throw Mistake(line: nil, message: "%LINK% is missing, without which the mail is of no use")
        }
        return pieces
    }

    private static func pieces(
        _ lines: [Substring], _ kind: MailAction.Kind, firstLine: Int, without excluded: MailPlaceholder? = nil
    ) throws(Mistake) -> [Piece] {
        let allowed = MailPlaceholder.all(in: kind).filter { $0 != excluded }
        var pieces: [Piece] = []
        var literal = ""
        for (index, line) in lines.enumerated() {
            var rest = line
            while let match = rest.firstMatch(of: /%([A-Z][A-Z_]*)%/) {
                guard let placeholder = MailPlaceholder(rawValue: String(match.1)), allowed.contains(placeholder) else {
                    let names = allowed.map { "%\($0.rawValue)%" }.joined(separator: ", ")
                    throw Mistake(
                        line: firstLine + index, message: "%\(match.1)% has no value here; there are \(names)")
                }
                literal += rest[..<match.range.lowerBound]
                if !literal.isEmpty { pieces.append(.literal(literal)) }
                literal = ""
                pieces.append(.value(placeholder))
                rest = rest[match.range.upperBound...]
            }
            literal += rest
            if index < lines.count - 1 { literal += "\n" }
        }
        if !literal.isEmpty { pieces.append(.literal(literal)) }
        return pieces
    }
}
