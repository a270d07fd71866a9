import CommitPipeline
import StorageEngine
import DocumentModel
import DocumentStore
import Foundation
import HostProcess
import StrictJSON

/// Reports the progress and the result of a command, to people or as JSON.
final class CommandReport {
    private static let maxProblems = 100

    private let isJSON: Bool
    private let isVerbose: Bool
    private let isTerminal = isatty(FileHandle.standardError.fileDescriptor) == 1
    private let results: FileHandle
    private var toldAt = ContinuousClock.now
    private var hasOpenLine = false
    private(set) var problems: [String] = []
    /// The first failure to write to the standard output.
    private var outputFailure: OutputFailure?

    init(isJSON: Bool, isVerbose: Bool, resultToErrors: Bool) {
        self.isJSON = isJSON
        self.isVerbose = isVerbose
        results = resultToErrors ? .standardError : .standardOutput
    }

    /// Every tenth of a second on a terminal, otherwise occasionally.
    func progress(_ what: String, done: Int, total: Int?, inBytes: Bool = false) {
        let now = ContinuousClock.now
        let pause: Duration = isTerminal ? .milliseconds(100) : isVerbose ? .seconds(1) : .seconds(30)
        guard now - toldAt >= pause else { return }
        toldAt = now
        var text = "\(what): \(inBytes ? Self.size(done) : "\(done)")"
        if let total, total > 0 { text += " of \(inBytes ? Self.size(total) : "\(total)"), \(done * 100 / total) %" }
        if isTerminal {
            hasOpenLine = true
            write("\r\u{1B}[K\(text)", to: .standardError)
        } else {
            write(text + "\n", to: .standardError)
        }
    }

    /// Only the first problems are printed.
    func problem(_ text: String) {
        guard problems.count < Self.maxProblems else { return }
        problems.append(text)
        closeLine()
        if !isJSON { write(text + "\n", to: results) }
        if problems.count == Self.maxProblems, !isJSON {
            write("further problems are counted but not shown\n", to: results)
        }
    }

    /// The result: a sentence for people, an object for programs.
    func result(_ sentence: String, _ members: [String: any Encodable & Sendable]) {
        closeLine()
        write((isJSON ? Self.json(members) : sentence) + "\n", to: results)
    }

    /// The host's response: lines for people, the JSON response for programs.
    func answer(_ lines: [String], _ answer: any Encodable & Sendable) {
        closeLine()
        let text = isJSON ? Self.text(AnyEncodable(answer)) + "\n" : lines.map { $0 + "\n" }.joined()
        write(text, to: results)
    }

    /// Writes a line at once.
    ///
    /// - Throws: also if the reader has left, so that a command which goes on by itself ends.
    func line(_ text: String) throws(OutputFailure) { try FileOutput.append(text + "\n", to: results) }

    /// Whether further lines are of no use.
    var hasLostReader: Bool { FileOutput.hasLostReader(results) }

    /// Checks that the results so far have been written. A reader that has left may have all that it wants.
    func checkOutput() throws(OutputFailure) {
        if let outputFailure, !outputFailure.isOfReader { throw outputFailure }
    }

    func fail(_ error: any Error) {
        closeLine()
        if error is OutputFailure { return write("functions-host: \(error)\n", to: .standardError) }
        let document = error as? DocumentError ?? (error as? StorageError)?.documentError
        let message = document?.message ?? "\(error)"
        if isJSON {
            write(
                Self.json(["error": ["status": document?.code.wireName ?? "UNKNOWN", "message": message]]) + "\n",
                to: results)
        } else {
            write("functions-host: \(message)\n", to: .standardError)
        }
    }

    /// Reports the error of a function.
    ///
    /// - Parameter details: JSON.
    func fail(_ status: String, _ message: String, details: String?) {
        closeLine()
        guard isJSON else {
            let details = details.map { " \($0)" } ?? ""
            return write("functions-host: \(status): \(message)\(details)\n", to: .standardError)
        }
        var error: JSONObject = ["status": .string(status), "message": .string(message)]
        error["details"] = details.flatMap { try? JSONValue(parsing: Array($0.utf8)) }
        let line = (try? JSONValue.object(["error": .object(error)]).serialized()) ?? []
        write(String(decoding: line, as: UTF8.self) + "\n", to: results)
    }

    private func closeLine() {
        guard hasOpenLine else { return }
        hasOpenLine = false
        write("\r\u{1B}[K", to: .standardError)
    }

    private func write(_ text: String, to handle: FileHandle) {
        do throws(OutputFailure) { try FileOutput.append(text, to: handle) } catch {
            if handle.fileDescriptor == STDOUT_FILENO, outputFailure == nil { outputFailure = error }
        }
    }

    private static func json(_ members: [String: any Encodable & Sendable]) -> String {
        text(members.mapValues(AnyEncodable.init))
    }

    private static func text(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    static func size(_ bytes: Int) -> String {
        let units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
        var (value, unit) = (Double(bytes), 0)
        while value >= 1024, unit + 1 < units.count { (value, unit) = (value / 1024, unit + 1) }
        return unit == 0 ? "\(bytes) bytes" : "\(Double(Int(value * 10)) / 10) \(units[unit])"
    }
}

private struct AnyEncodable: Encodable {
    let value: any Encodable & Sendable

    init(_ value: any Encodable & Sendable) { self.value = value }

    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}
