import Synchronization
package import FunctionManifest

/// The values of params in this process.
package enum ParamStore {
    private static let ofProcess = Mutex<ParamValues?>(nil)

    /// Called before the first invocation. A process serves one function, so it has one set of values.
    package static func set(_ values: ParamValues) { ofProcess.withLock { $0 = values } }

    /// The values of the current task's invocation if it has its own, as in tests; otherwise the process's.
    static var values: ParamValues? { InvocationContext.current?.params ?? ofProcess.withLock { $0 } }

    static func stopReading(_ what: String, _ name: String) -> Never {
        fatalError(
            "The \(what) \(name) has no value before a function runs. Read it in the handler, not where functions and "
                + "their options are listed.")
    }
}
