/// Which processes belong to which worker: those of its group, and those that they have started, whatever group or session
/// these have moved to.
///
/// Who has been seen to belong to a worker does so for good, even where its parent is gone. One that has moved away and
/// lost its parent before it was seen can't be told from a stranger.
struct ProcessKin {
    private struct Member {
        var worker: Int32
        var startedAt: Int
    }

    private var members: [Int32: Member] = [:]
    /// Processes that are nobody's, which needn't be looked at each time.
    private var strangers: Set<Int32> = []
    private var scans = 0
    /// A number may come to name another process: strangers are looked at again after so many scans.
    private static let forgetting = 10

    /// Takes in who has come and who has gone.
    mutating func refresh(
        workers: Set<Int32>, all: [Int32] = ProcessFigures.all(),
        descent: (Int32) -> ProcessFigures.Descent? = ProcessFigures.descent
    ) {
        scans += 1
        if scans % Self.forgetting == 0 { strangers = [] }
        let present = Set(all)
        strangers.formIntersection(present)
        // A number may name another process by now, which must not be killed for this one.
        members = members.filter { pid, member in
            present.contains(pid) && !workers.contains(pid) && descent(pid)?.startedAt == member.startedAt
        }
        var unknown: [Int32: ProcessFigures.Descent] = [:]
        for pid in all where !workers.contains(pid) && members[pid] == nil && !strangers.contains(pid) {
            unknown[pid] = descent(pid)
        }
        // A parent may be new as well, and have any number.
        var progress = true
        while progress {
            progress = false
            for (pid, descent) in unknown {
                let worker =
                    workers.contains(descent.group)
                    ? descent.group
                    : workers.contains(descent.parent) ? descent.parent : members[descent.parent]?.worker
                guard let worker else { continue }
                members[pid] = Member(worker: worker, startedAt: descent.startedAt)
                unknown[pid] = nil
                progress = true
            }
        }
        strangers.formUnion(unknown.keys)
    }

    /// Those that a worker has started, itself not among them.
    func children(of worker: Int32) -> [Int32] {
        members.isEmpty ? [] : members.filter { $0.value.worker == worker }.keys.sorted()
    }

    /// Forgets a worker that has ended.
    /// - Returns: what it had started and is still there.
    mutating func remove(
        _ worker: Int32, descent: (Int32) -> ProcessFigures.Descent? = ProcessFigures.descent
    ) -> [Int32] {
        let left = members.filter { $0.value.worker == worker }
        for pid in left.keys { members[pid] = nil }
        return left.filter { descent($0.key)?.startedAt == $0.value.startedAt }.keys.sorted()
    }
}
