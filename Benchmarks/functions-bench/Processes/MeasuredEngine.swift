import EmbeddedStorage
import Foundation
import StorageEngine

/// The engine that keeps what is measured: in this process, its children and the host.
enum MeasuredEngine {
    /// Children have it in their environment.
    private static let variable = "BENCH_ENGINE"

    static var kind: EmbeddedEngineKind {
        ProcessInfo.processInfo.environment[variable].flatMap(EmbeddedEngineKind.init) ?? EmbeddedStore.defaultEngine
    }

    /// Called before anything is measured.
    static func choose(_ kind: EmbeddedEngineKind) { setenv(variable, kind.rawValue, 1) }

    /// Opens a store, or creates it.
    static func open(_ path: String) throws -> any EmbeddedEngine { try EmbeddedStore.open(kind, at: path) }
}
