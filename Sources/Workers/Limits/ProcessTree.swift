/// The processes of each worker: those of its group and their descendants, even if these have moved to another group or
/// session.
///
/// A process that once belonged to a worker always belongs to it, even after its parent has ended. A process that left
/// the group and lost its parent before it was seen can't be attributed to any worker.
struct ProcessTree {
    private struct Member {
        var worker: Int32
        var startedAt: Int
    }

    private var members: [Int32: Member] = [:]
    /// Processes of no worker, which aren't examined in each scan.
    private var strangers: Set<Int32> = []
    private var scans = 0
    /// The number of scans after which strangers are examined again: an id may belong to another process by then.
    private static let forgetting = 10

    /// Adds processes that have started and removes those that have ended.
    mutating func refresh(
        workers: Set<Int32>, all: [Int32] = ProcessFigures.all(),
        descent: (Int32) -> ProcessFigures.Descent? = ProcessFigures.descent
    ) {
        scans += 1
        if scans % Self.forgetting == 0 { strangers = [] }
        let present = Set(all)
        strangers.formIntersection(present)
        // An id may belong to another process by now, which must not be killed.
        members = members.filter { pid, member in
            present.contains(pid) && !workers.contains(pid) && descent(pid)?.startedAt == member.startedAt
        }
        var unknown: [Int32: ProcessFigures.Descent] = [:]
        for pid in all where !workers.contains(pid) && members[pid] == nil && !strangers.contains(pid) {
            unknown[pid] = descent(pid)
        }
        // A parent may be new as well, and have a larger id than its child.
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

    /// The descendants of a worker, without itself.
    func children(of worker: Int32) -> [Int32] {
        members.isEmpty ? [] : members.filter { $0.value.worker == worker }.keys.sorted()
    }

    /// Forgets a worker that has ended.
    /// - Returns: its descendants that still run.
    mutating func remove(
        _ worker: Int32, descent: (Int32) -> ProcessFigures.Descent? = ProcessFigures.descent
    ) -> [Int32] {
        let left = members.filter { $0.value.worker == worker }
        for pid in left.keys { members[pid] = nil }
        return left.filter { descent($0.key)?.startedAt == $0.value.startedAt }.keys.sorted()
    }
}
