import DocumentModel
import DocumentStore
@testable import FirestoreAPI
import Testing

struct ListenBatchTests {
    private let time = Timestamp(microseconds: 9)

    private func document(_ id: String, _ version: Int64) throws -> Document {
        let time = Timestamp(microseconds: version)
        return Document(
            path: try DocumentPath("c/\(id)"), fields: ["n": .integer(version)], createTime: time, updateTime: time)
    }

    /// Changes as text: the document's id, its version, the targets that have it and those that it has left.
    private func texts(_ batch: ListenBatch) -> [String] {
        batch.messages(at: time).map { message in
            switch message {
            case .change(let document, let targets, let removed):
                "\(document.path.id)\(document.updateTime.microseconds) \(targets) \(removed)"
            case .delete(let path, let removed, _): "\(path.id) deleted \(removed)"
            case .remove(let path, let removed, _): "\(path.id) left \(removed)"
            case .filter(let target, let count): "\(target) has \(count)"
            case .targets, .snapshot: "\(message)"
            }
        }
    }

    /// News of several takes come in any order of their targets.
    @Test func theLastStateOfEachTargetCounts() throws {
        let target = ListenTarget.query(Query(collectionID: "c"))
        var batch = ListenBatch()
        let ids = (1...40 as ClosedRange<Int32>).shuffled()
        for id in ids {
            batch.add(.changes([.added(try document("a", 1))], at: time), of: id, target, isProjected: false)
        }
        for id in ids.shuffled() where id.isMultiple(of: 2) {
            let news: ListenChange =
                id.isMultiple(of: 4)
                ? .removed(try document("a", 1), deleted: false) : .modified(try document("a", 2))
            batch.add(.changes([news], at: time), of: id, target, isProjected: false)
        }
        let left = (1...40).filter { $0.isMultiple(of: 4) }
        let stay = (1...40).filter { !$0.isMultiple(of: 4) }
        #expect(texts(batch) == ["a2 \(stay) \(left)"])
    }

    /// The document may exist again when its deletion is sent, outside of the target. Clients that knew it as deleted then
    /// would ignore it in the next target that has it, and their own write of it.
    @Test func aDeletionHasTheTimeAtWhichItWasFound() throws {
        let target = ListenTarget.query(Query(collectionID: "c"))
        var batch = ListenBatch()
        let (a, b) = (try document("a", 1), try document("b", 1))
        let (found, later) = (Timestamp(microseconds: 3), Timestamp(microseconds: 5))
        for removed in [a, b] {
            batch.add(.changes([.removed(removed, deleted: true)], at: found), of: 1, target, isProjected: false)
        }
        batch.add(.initial([], at: found), of: 2, .documents([a.path]), isProjected: false)
        // It was created again, and has left this target, too.
        batch.add(.changes([.removed(b, deleted: false)], at: later), of: 3, target, isProjected: false)
        #expect(texts(batch) == ["a deleted [1, 2]", "b left [1, 3]"])
        var times: [Timestamp] = []
        for case .delete(_, _, let at) in batch.messages(at: time) { times.append(at) }
        #expect(times == [found])
    }

    /// SDKs that have only an earlier state would listen to the document by itself.
    @Test func aDocumentThatHasLeftComesWithItsStateIfThatIsKnown() throws {
        let target = ListenTarget.query(Query(collectionID: "c"))
        func merged(_ news: (ListenChange, Timestamp)...) -> [String] {
            var batch = ListenBatch()
            for (index, (change, time)) in news.enumerated() {
                batch.add(.changes([change], at: time), of: Int32(index + 1), target, isProjected: false)
            }
            return texts(batch)
        }
        let (a, now, newer) = (try document("a", 1), try document("a", 2), try document("a", 3))
        let (found, later) = (Timestamp(microseconds: 3), Timestamp(microseconds: 5))
        let left = ListenChange.removed(a, deleted: false)
        let known = ListenChange.removed(a, deleted: false, now: now)
        let deleted = ListenChange.removed(a, deleted: true)
        #expect(merged((left, found), (known, found)) == ["a2 [] [1, 2]"])
        #expect(merged((known, found), (left, found)) == ["a2 [] [1, 2]"])
        // It may have changed since.
        #expect(merged((known, found), (left, later)) == ["a left [1, 2]"])
        #expect(merged((known, found), (deleted, later)) == ["a deleted [1, 2]"])
        #expect(merged((deleted, found), (known, later)) == ["a2 [] [1, 2]"])
        #expect(merged((known, found), (.added(newer), later)) == ["a3 [2] [1]"])
        #expect(merged((deleted, found), (left, found)) == ["a deleted [1, 2]"])
    }

    @Test func aForgottenTargetLeavesNothing() throws {
        let target = ListenTarget.query(Query(collectionID: "c"))
        var batch = ListenBatch()
        let (a, b) = (try document("a", 1), try document("b", 1))
        batch.add(.initial([a, b], at: time), of: 1, target, isProjected: false)
        batch.add(.initial([b], at: time), of: 2, target, isProjected: false)
        batch.add(.count(1, at: time), of: 2, target, isProjected: false)
        batch.drop(1)
        #expect(texts(batch) == ["b1 [2] []", "2 has 1"])
        // Its documents can come again, at the end.
        batch.add(.changes([.added(a)], at: time), of: 3, target, isProjected: false)
        batch.add(.changes([.removed(b, deleted: true)], at: time), of: 2, target, isProjected: false)
        #expect(texts(batch) == ["b deleted [2]", "a1 [3] []", "2 has 0"])
        batch.drop(2)
        batch.drop(3)
        #expect(batch.isEmpty)
    }

    /// Many targets come and go while another one is behind.
    @Test func droppedTargetsLeaveTheOthers() throws {
        let target = ListenTarget.query(Query(collectionID: "c"))
        var batch = ListenBatch()
        var targets: [String: Set<Int32>] = [:]
        for step in 0..<2_000 {
            let id = Int32.random(in: 1...9)
            if step.isMultiple(of: 3) {
                batch.drop(id)
                for name in targets.keys { targets[name]?.remove(id) }
            } else {
                let name = "d\(Int.random(in: 0..<30))"
                batch.add(.changes([.added(try document(name, 1))], at: time), of: id, target, isProjected: false)
                targets[name, default: []].insert(id)
            }
            let expected = targets.filter { !$0.value.isEmpty }.map { "\($0.key)1 \($0.value.sorted()) []" }
            #expect(texts(batch).sorted() == expected.sorted())
            #expect(batch.isEmpty == expected.isEmpty)
        }
    }

    @Test func projectionsAreMessagesOfTheirOwn() throws {
        let target = ListenTarget.query(Query(collectionID: "c"))
        var batch = ListenBatch()
        let document = try document("a", 1)
        batch.add(.initial([document], at: time), of: 1, target, isProjected: true)
        batch.add(.initial([document], at: time), of: 2, target, isProjected: false)
        batch.add(.initial([document], at: time), of: 3, target, isProjected: false)
        #expect(texts(batch) == ["a1 [1] []", "a1 [2, 3] []"])
    }
}
