import CommitPipeline
import DocumentModel
package import HostConfiguration
package import RealtimeStore

/// The Realtime Databases, as data commands reach them.
package struct DatabaseData: Sendable {
    let store: RealtimeStore
    /// Where a text waits until it is whole.
    let directory: String
    /// Those of functions.json, and the default one.
    private let names: [String]
    /// Whether others exist from their first use.
    private let isDevelopment: Bool
    let triggerLimits: @Sendable (String) -> TriggerLimits

    /// - Parameters:
    ///   - directory: the data directory.
    ///   - triggerLimits: what the events of a write to a database may be.
    package init(
        _ store: RealtimeStore, _ configuration: HostConfiguration, directory: String,
        triggerLimits: @escaping @Sendable (String) -> TriggerLimits = { _ in .strict }
    ) {
        self.store = store
        self.directory = directory
        self.triggerLimits = triggerLimits
        names = configuration.databaseNames
        isDevelopment = configuration.mode == .development
    }

    /// - Throws: `notFound` if there is no such database.
    func require(_ name: String) async throws {
        guard !names.contains(name) else { return }
        var known = names
        if isDevelopment {
            known += try await store.namespaces().filter { !known.contains($0) }
            guard !known.contains(name) else { return }
        }
        throw unknown(name, known)
    }

    /// Creates a database that doesn't exist but may.
    ///
    /// - Throws: `notFound` or `invalidArgument` if it may not.
    func create(_ name: String) async throws {
        if !names.contains(name) {
            guard isDevelopment else { throw unknown(name, names) }
            guard DatabaseNamespace.isValid(name) else {
                throw DocumentError.invalidArgument(
                    "\"\(name)\" is not the name of a database; \(DatabaseNamespace.description)")
            }
        }
        try await store.declare([name])
    }

    private func unknown(_ name: String, _ known: [String]) -> DocumentError {
        let advice = isDevelopment ? "" : "add it to \"database.namespaces\" in functions.json, or "
        return DocumentError(
            .notFound,
            "the database \"\(name)\" doesn't exist; \(advice)name one of these: \(known.joined(separator: ", "))")
    }
}

extension DocumentError {
    /// The error for what an operation on a database threw; cancellations, and errors that aren't the database's, stay.
    static func ofDatabase(_ error: any Error) -> any Error {
        switch error {
        case let error as RealtimeFailure: error.documentError
        case is DecodingFailure: RealtimeFailure(from: error).documentError
        default: error
        }
    }
}
