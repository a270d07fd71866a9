import CFunctionsSystem

/// Processes that workers have started and left behind when they ended.
enum Orphans {
    /// Makes this process the parent of orphaned processes from now on.
    /// - Returns: whether it is.
    static func adopt() -> Bool {
        #if os(Linux)
            functions_adopt_orphans() == 0
        #else
            false
        #endif
    }

    /// Reaps orphans that have ended.
    static func reap() {
        #if os(Linux)
            while true {
                let child = functions_ended_child()
                // A worker may have ended just now; the signal of its end is on its way.
                guard child > 0, ProcessSpawn.reapOrphan(child) else { return }
            }
        #endif
    }
}
