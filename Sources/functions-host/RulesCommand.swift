import ArgumentParser
import Foundation
import HostConfiguration
import HostProcess
import SecurityRules
import StrictJSON

/// `functions-host rules`
struct RulesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules", abstract: "Checks security rules.", subcommands: [RulesCheckCommand.self])
}

/// `functions-host rules check [FILE]`
struct RulesCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Shows the errors and warnings of a rules file.",
        discussion: "The exit code is 0 if the rules can be used, 1 if they have errors, and 2 if there is no file.")

    @Argument(help: "The file. Default: the one that functions.json names.")
    var file: String?

    @Option(help: "The configuration file.")
    var config = "functions.json"

    @Option(help: "The environment of the configuration file to apply.")
    var env: String?

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let path: String
        if let file {
            path = file
        } else {
            let configuration: HostConfiguration
            do { configuration = try HostConfiguration.load(config, environment: env) } catch {
                return try fail("\(error)")
            }
            guard let rules = configuration.rules else {
                return try fail("\(config) names no rules; write \"rules\": \"firestore.rules\" or give a file")
            }
            path = rules
        }
        guard let data = FileManager.default.contents(atPath: path),
            let text = String(validating: data, as: UTF8.self)
        else { return try fail("\(path) can't be read as text in UTF-8") }
        let diagnostics: [Diagnostic]
        do { diagnostics = try Ruleset(text).warnings } catch {
            diagnostics = (error as? InvalidRules)?.diagnostics ?? []
        }
        let errors = diagnostics.count { $0.severity == .error }
        if json {
            print(Self.json(path, diagnostics))
        } else {
            for diagnostic in diagnostics { print("\(path):\(diagnostic)") }
            if errors == 0 { print("\(path): the rules can be used") }
        }
        if errors > 0 { throw ExitCode(1) }
    }

    private func fail(_ message: String) throws {
        FileHandle.standardError.write(Data("functions-host: \(message)\n".utf8))
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
