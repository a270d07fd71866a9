import CFunctionsSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What workers have started and left behind when they ended.
enum Orphans {
    /// Makes this process their parent from now on.
    /// - Returns: whether it is.
    static func adopt() -> Bool {
        #if os(Linux)
            functions_adopt_orphans() == 0
        #else
            false
        #endif
    }

    /// Reaps those that have ended.
    ///
    /// - Parameter isWorker: whether a child is a worker, which its supervisor reaps.
    static func reap(sparing isWorker: (Int32) -> Bool) {
        #if os(Linux)
            while true {
                let child = functions_ended_child()
                // A worker may have ended just now: the signal of its own end is on its way.
                guard child > 0, !isWorker(child), waitpid(child, nil, WNOHANG) == child else { return }
            }
        #endif
    }
}
