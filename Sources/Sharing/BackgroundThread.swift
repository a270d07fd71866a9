import CFunctionsSystem
package import Foundation

/// Threads for work that is in no hurry.
package enum BackgroundThread {
    /// A thread that gets less of the processors where others want them too. It isn't started yet.
    package static func make(_ name: String, _ body: @escaping @Sendable () -> Void) -> Thread {
        let thread = Thread {
            functions_run_in_background()
            body()
        }
        thread.name = name
        #if !os(Linux)
            thread.qualityOfService = .utility
        #endif
        return thread
    }
}
