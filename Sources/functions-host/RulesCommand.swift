import ArgumentParser
import ControlAPI
import ControlProtocol
import Foundation
import HostConfiguration
import HostProcess
import SecurityRules
import StrictJSON

/// `functions-host rules`
struct RulesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules", abstract: "Checks security rules, and explains what they decide.",
        subcommands: [RulesCheckCommand.self, RulesExplainCommand.self, RulesCoverageCommand.self])
}

/// - Throws: an error that says why a file of rules can't be read.
private func rulesText(at path: String) throws(HostError) -> String {
    guard let data = FileManager.default.contents(atPath: path) else {
        guard FileManager.default.fileExists(atPath: path) else { throw HostError("there is no file \(path)") }
        throw HostError("\(path) can't be read")
    }
    guard let text = String(validating: data, as: UTF8.self) else { throw HostError("\(path) isn't text in UTF-8") }
    return text
}

/// `functions-host rules check [FILE]`
struct RulesCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Shows the errors and warnings of rules files.",
        discussion: """
            A file .json has rules of the Realtime Database, any other has Cloud Firestore's. The exit code is 0 if the rules can \
            be used, 1 if they have errors, and 2 if there is no file. With --json, there is a line for each file.
            """)

    @Argument(help: "The file. Default: those that functions.json names.")
    var file: String?

    @Option(help: "The configuration file.")
    var config = "functions.json"

    @Option(help: "The environment of the configuration file to apply.")
    var env: String?

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        var files = [file].compactMap(\.self)
        if files.isEmpty {
            let configuration: HostConfiguration
            // The bundles needn't be built yet.
            do {
                configuration = try HostConfiguration.load(config, environment: env, checkingFiles: false)
            } catch {
                return try fail("\(error)")
            }
            files = [configuration.rules, configuration.databaseRules].compactMap(\.self)
            guard !files.isEmpty else {
                return try fail("\(config) names no rules; write \"rules\": \"firestore.rules\" or give a file")
            }
        }
        var errors = 0
        for path in files {
            let text: String
            do throws(HostError) { text = try rulesText(at: path) } catch { return try fail("\(error)") }
            let diagnostics =
                path.hasSuffix(".json")
                ? Self.diagnostics(of: DatabaseRules.self, text) : Self.diagnostics(of: Ruleset.self, text)
            let found = diagnostics.count { $0.severity == .error }
            errors += found
            if json {
                print(Self.json(path, diagnostics))
            } else {
                for diagnostic in diagnostics { print("\(path):\(diagnostic)") }
                if found == 0 { print("\(path): the rules can be used") }
            }
        }
        if errors > 0 { throw ExitCode(1) }
    }

    private static func diagnostics<Rules: CompiledRules>(of _: Rules.Type, _ text: String) -> [Diagnostic] {
        do { return try Rules(text).warnings } catch { return error.diagnostics }
    }

    private func fail(_ message: String) throws {
        try? FileOutput.append("functions-host: \(message)\n", to: .standardError)
        throw ExitCode(2)
    }

    private static func json(_ file: String, _ diagnostics: [Diagnostic]) -> String {
        let value: JSONValue = [
            "file": .string(file),
            "diagnostics": .array(
                diagnostics.map { diagnostic in
                    [
                        "severity": .string(diagnostic.severity.rawValue),
                        "line": .integer(Int64(diagnostic.position.line)),
                        "column": .integer(Int64(diagnostic.position.column)), "message": .string(diagnostic.message),
                    ]
                }),
        ]
        return "\(value)"
    }
}

/// `functions-host rules explain OPERATION PATH`
struct RulesExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Shows what the rules decide on an operation, and why, with the host's documents.",
        discussion: """
            Nothing is read or written for the client. With --database, the operations are read, write, update and delete, and a query is \
            as WebSocket clients send it: {"i":".key","l":10,"vf":"l"}. Exit codes: 0 the operation is allowed, 1 it is refused, 3 no host is \
            running, 64 invalid arguments or another failure.
            """)

    @OptionGroup var options: HostOptions

    @Option(name: .customLong("as"), help: "The user's id. Without it, the client is unauthenticated.")
    var uid: String?

    @Option(help: "Further claims of the user's token, as a JSON object.")
    var claims: String?

    @Option(help: "The document to be written, as a JSON object of its fields.")
    var written: String?

    @Option(help: "For list: a query as Firestore's REST API has it, a StructuredQuery.")
    var query: String?

    @Option(help: "A file of rules, instead of the host's.")
    var rules: String?

    @Option(
        help:
            "The Realtime Database whose rules decide, such as demo-shop-default-rtdb; without it, Cloud Firestore's do."
    )
    var database: String?

    @Argument(help: "get, list, write or delete; with --database read, write, update or delete.")
    var operation: String

    @Argument(help: "The path of the document, or for list of the collection: users/ada.")
    var path: String

    func validate() throws {
        guard claims == nil || uid != nil else { throw ValidationError("--claims needs --as: they are the user's") }
    }

    func run() async throws {
        var isAllowed = false
        // Not 1, which says that the operation is refused.
        try await options.run(failureCode: .validationFailure) { host, report in
            var request = ControlRequest(database == nil ? "rules" : "database-rules", "explain")
            request.add("database", database)
            request.add("method", operation)
            request.add("path", path)
            request.add("uid", uid)
            request.add("claims", claims)
            request.add("written", written)
            request.add("query", query)
            if let rules {
                request.add("rules", try rulesText(at: rules))
            }
            let answer = try await host.askWithFiles(request, as: RulesReport.self)
            report.answer(Self.lines(answer), answer)
            isAllowed = answer.isAllowed
        }
        if !isAllowed { throw ExitCode(1) }
    }

    private static func lines(_ report: RulesReport) -> [String] {
        var lines: [String] = []
        if let allow = report.allow {
            lines.append("allowed by \(allow.line):\(allow.column)")
        } else if report.isAllowed {
            lines.append("allowed: it asks nothing of the rules")
        } else {
            lines.append(report.refusals.isEmpty ? "refused: no rule matches" : "refused")
        }
        for statement in report.refusals {
            lines.append("  \(statement.line):\(statement.column): \(statement.reason ?? "false")")
        }
        for value in report.values {
            let expression = value.expression.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            lines.append("    \(value.line):\(value.column)  \(expression) = \(value.value)")
        }
        return lines
    }
}

/// `functions-host rules coverage`
struct RulesCoverageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coverage",
        abstract: "Shows how often each allow statement has decided since the rules were loaded.",
        discussion: """
            Run your tests against the host first. With --database, queries that had no index are shown too. Exit codes: 0 every statement has allowed and refused something, 1 one \
            hasn't, 3 no host is running, 64 invalid arguments or another failure.
            """)

    @OptionGroup var options: HostOptions

    @Option(help: "The Realtime Database whose rules are meant; without it, Cloud Firestore's are.")
    var database: String?

    func run() async throws {
        var isComplete = false
        // Not 1, which says that a statement hasn't decided both ways.
        try await options.run(failureCode: .validationFailure) { host, report in
            var request = ControlRequest(database == nil ? "rules" : "database-rules", "coverage")
            request.add("database", database)
            let answer = try await host.ask(request, as: RulesCoverageReport.self)
            report.answer(answer.statements.map(Self.line) + (answer.missingIndexes ?? []), answer)
            isComplete = answer.statements.allSatisfy { $0.allowed > 0 && $0.refused > 0 }
        }
        if !isComplete { throw ExitCode(1) }
    }

    private static func line(_ statement: RulesCoverageReport.Statement) -> String {
        var line = "\(statement.line):\(statement.column)  allowed \(statement.allowed), refused \(statement.refused)"
        if statement.allowed == 0 {
            line += statement.refused == 0 ? "  never decided anything" : "  never allowed anything"
        }
        if statement.allowed > 0, statement.refused == 0 { line += "  never refused anything" }
        return line
    }
}
