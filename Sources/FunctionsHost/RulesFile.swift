import DocumentModel
import Foundation
import HostProcess
import Logging
package import SecurityRules
import ServiceLifecycle

/// The file of a project's security rules.
package enum RulesFile {
    /// - Throws: ``HostError`` with all errors of the file, each with its place: `firestore.rules:12:5: expected ';' …`.
    package static func load(_ path: String) throws -> Ruleset {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw HostError("the rules \(path) can't be read")
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw HostError("the rules \(path) aren't text in UTF-8")
        }
        do {
            return try Ruleset(text)
        } catch let error as InvalidRules {
            let errors = error.diagnostics.filter { $0.severity == .error }
            throw HostError(errors.map { "\(path):\($0.position): \($0.message)" }.joined(separator: "\n"))
        }
    }

    /// What tells that a file has changed; nil if there is none.
    static func stamp(of path: String) -> String? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            let time = attributes[.modificationDate] as? Date
        else { return nil }
        return "\(time.timeIntervalSince1970) \(attributes[.size] ?? 0) \(attributes[.systemFileNumber] ?? 0)"
    }
}

extension ClientRules {
    /// The rules of a project's file. Without one, development is open, as the official emulators are, and production denies
    /// all clients.
    ///
    /// - Throws: as ``RulesFile/load(_:)``.
    convenience init(file: String?, isDevelopment: Bool, logger: Logger) throws {
        let state: State = try file.map { .rules(try RulesFile.load($0)) } ?? (isDevelopment ? .open : .closed)
        let lines = LineBudget(linesPerMinute: 60)
        self.init(state) { refusal in
            let (isAdmitted, leftOut) = lines.admit(at: .wallClock())
            if leftOut > 0 {
                logger.notice("more clients were refused than are logged", metadata: ["left.out": "\(leftOut)"])
            }
            guard isAdmitted else { return }
            // In development the explanation has values of documents. Tokens aren't among them.
            var metadata: Logger.Metadata = ["rules.method": "\(refusal.method)", "document.path": "\(refusal.path)"]
            metadata["uid"] = refusal.uid.map { "\($0)" }
            let places = refusal.decision.refusals.map { "\($0.position)" }.joined(separator: " ")
            metadata["rules"] = isDevelopment ? "\(refusal.decision.explanation)" : "\(places)"
            logger.notice("the rules refuse a client", metadata: metadata)
        }
        guard case .rules(let ruleset) = state, let file else { return }
        for warning in ruleset.warnings { logger.notice("\(file):\(warning.position): \(warning.message)") }
    }
}

/// Takes over the rules whenever their file changes, in development. A file with errors leaves the rules as they are.
struct RulesWatch: Service {
    let file: String
    let rules: ClientRules
    /// The file's stamp before it was loaded.
    let loaded: String?
    let logger: Logger

    private static let interval = Duration.milliseconds(500)

    func run() async throws {
        var known = loaded
        for await _ in AsyncTimer(interval: Self.interval).cancelOnGracefulShutdown() {
            let stamp = RulesFile.stamp(of: file)
            guard stamp != known else { continue }
            known = stamp
            do {
                let ruleset = try RulesFile.load(file)
                rules.replace(.rules(ruleset))
                logger.notice("the rules have changed", metadata: ["rules": "\(file)"])
                for warning in ruleset.warnings { logger.notice("\(file):\(warning.position): \(warning.message)") }
            } catch {
                logger.error("the rules have errors; those before are used", metadata: ["error": "\(error)"])
            }
        }
    }
}

/// Yields after each interval.
private struct AsyncTimer: AsyncSequence, Sendable {
    let interval: Duration

    struct AsyncIterator: AsyncIteratorProtocol {
        let interval: Duration

        mutating func next() async -> Void? { try? await Task.sleep(for: interval) }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(interval: interval) }
}
