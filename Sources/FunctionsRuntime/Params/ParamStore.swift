import Synchronization
package import FunctionManifest

/// The values of params in this process.
package enum ParamStore {
    private static let ofProcess = Mutex<ParamValues?>(nil)

    /// Called before the first invocation; a process serves one function, or one set of values.
    package static func set(_ values: ParamValues) { ofProcess.withLock { $0 = values } }

    /// Those of the invocation that the current task works for, where it has its own, as in tests; else the process's.
    static var values: ParamValues? { InvocationContext.current?.params ?? ofProcess.withLock { $0 } }

    static func stopReading(_ what: String, _ name: String) -> Never {
        fatalError(
            "The \(what) \(name) has no value before a function runs. Read it in the handler, not where functions and "
                + "their options are listed.")
    }
}
