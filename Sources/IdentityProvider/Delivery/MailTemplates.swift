import Foundation
import TextFormats
import UserStore

extension MailAction.Kind {
    /// The name of the template's files, and of the kind for webhooks.
    var templateName: String {
        switch self {
        case .passwordReset: "resetPassword"
        case .verifyEmail: "verifyEmail"
        case .verifyAndChangeEmail: "verifyAndChangeEmail"
        case .recoverEmail: "recoverEmail"
        case .emailSignIn: "emailSignIn"
        }
    }
}

/// Why a file of the templates' directory can't be used.
package struct MailTemplateError: Error, Hashable, Sendable, CustomStringConvertible {
    package var file: String
    /// From 1; nil if the problem concerns the whole file.
    package var line: Int?
    package var message: String

    /// A sentence for the operator.
    package var description: String { "\(file)\(line.map { ":\($0)" } ?? ""): \(message)" }
}

/// The templates of all mails: the built-in ones, and those that a team has in place of them.
package struct MailTemplates: Sendable {
    private struct Name: Hashable {
        var kind: MailAction.Kind
        /// In lower case, such as `de` or `de-ch`; empty for all languages.
        var language: String
    }

    private var templates: [Name: MailTemplate]

    private static let maxBytes = 256 * 1024

    /// The built-in ones.
    package init() {
        templates = Dictionary(
            uniqueKeysWithValues: MailAction.Kind.allCases.map { (Name(kind: $0, language: ""), .builtIn($0)) })
    }

    /// Reads a directory with files such as `resetPassword.txt`, `resetPassword.html` and `resetPassword.de.txt`. What it
    /// doesn't have is built in.
    ///
    /// - Throws: the problem of the first file that has one.
    package init(directory: String) throws(MailTemplateError) {
        self.init()
        let files: [String]
        do {
            files = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        } catch {
            throw MailTemplateError(file: directory, message: "the directory of mail templates can't be read")
        }
        var pages: [(file: String, path: String, name: Name)] = []
        for file in files where !file.hasPrefix(".") && (file.hasSuffix(".txt") || file.hasSuffix(".html")) {
            let path = directory + "/" + file
            let name = try Self.name(of: file, path)
            if file.hasSuffix(".html") {
                pages.append((file, path, name))
            } else {
                let source = try Self.read(path)
                templates[name] = try Self.located(path) { () throws(MailTemplate.Mistake) in
                    try MailTemplate.plain(source, name.kind)
                }
            }
        }
        for (file, path, name) in pages {
            let text = String(file.dropLast(".html".utf8.count)) + ".txt"
            guard files.contains(text) else {
                throw MailTemplateError(
                    file: path, message: "its text, with the subject, is missing; write \(text) beside it")
            }
            let source = try Self.read(path)
            templates[name]?.html = try Self.located(path) { () throws(MailTemplate.Mistake) in
                try MailTemplate.html(source, name.kind)
            }
        }
    }

    /// - Parameter language: as the client has asked for, such as `de-CH`: the template for it, for `de`, or for all.
    func template(for kind: MailAction.Kind, language: String) -> MailTemplate {
        let language = language.lowercased().replacing("_", with: "-")
        let general = language.prefix { $0 != "-" }
        for candidate in [language, String(general), ""] {
            if let template = templates[Name(kind: kind, language: candidate)] { return template }
        }
        return .builtIn(kind)
    }

    private static func name(of file: String, _ path: String) throws(MailTemplateError) -> Name {
        let parts = file.split(separator: ".", omittingEmptySubsequences: false)
        let kinds = MailAction.Kind.allCases
        guard let kind = kinds.first(where: { $0.templateName == parts[0] }) else {
            let names = kinds.map(\.templateName)
            let hint =
                NearestName.of(String(parts[0]), in: names).map { "did you mean \"\($0)\"?" }
                ?? "the mails are \(names.joined(separator: ", "))"
            throw MailTemplateError(file: path, message: "there is no mail with this name; \(hint)")
        }
        let isLanguage =
            parts.count == 3 && !parts[1].isEmpty
            && parts[1].allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        guard parts.count == 2 || isLanguage else {
            throw MailTemplateError(
                file: path,
                message: "this is not a template's name; write \(kind.templateName).txt, or "
                    + "\(kind.templateName).de.txt for one language")
        }
        return Name(kind: kind, language: parts.count == 3 ? parts[1].lowercased() : "")
    }

    private static func read(_ path: String) throws(MailTemplateError) -> String {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw MailTemplateError(file: path, message: "the file can't be read")
        }
        guard bytes.count <= maxBytes else {
            throw MailTemplateError(file: path, message: "the file is larger than 256 KiB, the limit for a template")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw MailTemplateError(file: path, message: "the file isn't UTF-8")
        }
        return text
    }

    private static func located<Result>(
        _ path: String, _ body: () throws(MailTemplate.Mistake) -> Result
    ) throws(MailTemplateError) -> Result {
        do throws(MailTemplate.Mistake) {
            return try body()
        } catch {
            throw MailTemplateError(file: path, line: error.line, message: error.message)
        }
    }
}
