import CommitPipeline
import DocumentModel
@testable import DocumentStore
import StoreTestSupport
import Synchronization
import Testing

struct DocumentCacheTests {
    private let paths: [DocumentPath]

    init() throws { paths = try ["c/a", "c/b"].map { try DocumentPath($0) } }

    private func document(_ path: DocumentPath, _ n: Int64, padding: Int = 0) -> Document {
        let time = Timestamp(microseconds: n)
        let text = String(repeating: "x", count: padding)
        return Document(
            path: path, fields: ["n": .integer(n), "text": .string(text)], createTime: time, updateTime: time)
    }

    private func reserve(_ paths: [DocumentPath], in cache: DocumentCache) throws -> DocumentCache.Reservation {
        guard case .missing(let reservation?) = cache.find(paths) else {
            throw DocumentError(.internal, "nothing is missing")
        }
        return reservation
    }

    private func found(_ paths: [DocumentPath], in cache: DocumentCache) -> [Document?]? {
        switch cache.find(paths) {
        case .found(let known, _): return known.map(\.document)
        case .missing(let reservation):
            if let reservation { cache.settle(reservation, paths, nil) }
            return nil
        }
    }

    @Test func whatWasReadIsFoundUntilItChanges() throws {
        let cache = DocumentCache(version: 1, maxBytes: 1 << 20)
        cache.settle(try reserve(paths, in: cache), paths, [document(paths[0], 1), nil])
        #expect(found(paths, in: cache) == [document(paths[0], 1), nil])
        cache.willChange([paths[1]])
        #expect(found(paths, in: cache) == nil)
        #expect(found([paths[0]], in: cache) == [document(paths[0], 1)])
        cache.committed([(paths[1], document(paths[1], 2))], version: 2)
        guard case .found(let known, version: 2) = cache.find(paths) else {
            Issue.record("the new state isn't found")
            return
        }
        #expect(known.map(\.document) == [document(paths[0], 1), document(paths[1], 2)])
    }

    @Test func whatChangedSinceAReadBeganIsNotAdded() throws {
        let cache = DocumentCache(version: 1, maxBytes: 1 << 20)
        let early = try reserve(paths, in: cache)
        cache.willChange([paths[0]])
        // Neither does it count for a read that begins before the change is durable, nor for a later one.
        let during = try reserve(paths, in: cache)
        cache.committed([(paths[0], document(paths[0], 2))], version: 2)
        let late = try reserve(paths, in: cache)
        cache.settle(early, paths, [document(paths[0], 1), nil])
        cache.settle(during, paths, [document(paths[0], 1), nil])
        #expect(found([paths[0]], in: cache) == nil)
        cache.settle(late, paths, [document(paths[0], 2), nil])
        #expect(found(paths, in: cache) == [document(paths[0], 2), nil])
    }

    @Test func whatWasRolledBackMustBeReadAgain() throws {
        let cache = DocumentCache(version: 1, maxBytes: 1 << 20)
        cache.settle(try reserve(paths, in: cache), paths, [document(paths[0], 1), nil])
        cache.willChange(paths)
        cache.rolledBack()
        #expect(found([paths[0]], in: cache) == nil)
        cache.settle(try reserve(paths, in: cache), paths, [document(paths[0], 1), nil])
        #expect(found(paths, in: cache) == [document(paths[0], 1), nil])
    }

    @Test func memoryIsBounded() throws {
        let cache = DocumentCache(version: 1, maxBytes: 100_000)
        let hot = try DocumentPath("c/hot")
        cache.settle(try reserve([hot], in: cache), [hot], [document(hot, 1)])
        for n in 0..<1000 {
            let path = try DocumentPath("c/d\(n)")
            cache.settle(try reserve([path], in: cache), [path], [document(path, 1, padding: 1000)])
            // What is read again and again stays.
            #expect(found([hot], in: cache) != nil)
            #expect(cache.bytes <= 105_000)
        }
        #expect(try found([DocumentPath("c/d999")], in: cache) != nil)
        #expect(try found([DocumentPath("c/d0")], in: cache) == nil)
        let large = try DocumentPath("c/large")
        cache.settle(try reserve([large], in: cache), [large], [document(large, 1, padding: 20_000)])
        #expect(found([large], in: cache) == nil)
        cache.close()
        #expect(cache.bytes == 0 && found([hot], in: cache) == nil)
    }

    /// Two documents of each writer always change together, and each reader sees whole commits, in their order, and all that
    /// were acknowledged before.
    @Test(arguments: [EngineKind.memory, .sqlite])
    func readersSeeWholeCommitsInOrder(_ kind: EngineKind) async throws {
        try await withStore(kind) { test in
            let pairs = try Pairs(writers: 3)
            try await withThrowingTaskGroup { group in
                for writer in pairs.paths.indices { group.addTask { try await pairs.write(writer, to: test) } }
                for _ in 0..<4 { group.addTask { try await pairs.read(from: test) } }
                try await group.waitForAll()
            }
        }
    }
}

private final class Pairs: Sendable {
    let paths: [[DocumentPath]]
    private let acknowledged: Mutex<[Int64]>
    private let ended = Atomic(0)

    init(writers: Int) throws {
        paths = try (0..<writers).map { writer in try ["a", "b"].map { try DocumentPath("pairs/\(writer)\($0)") } }
        acknowledged = Mutex([Int64](repeating: 0, count: writers))
    }

    func write(_ writer: Int, to test: TestStore) async throws {
        defer { ended.add(1, ordering: .sequentiallyConsistent) }
        for n in 1...400 as ClosedRange<Int64> {
            try await test.commit(paths[writer].map { Write(path: $0, operation: .set(["n": .integer(n)])) })
            acknowledged.withLock { $0[writer] = n }
        }
    }

    func read(from test: TestStore) async throws {
        var seen = [Int64](repeating: 0, count: paths.count)
        while ended.load(ordering: .sequentiallyConsistent) < paths.count {
            let writer = Int.random(in: paths.indices)
            let least = max(acknowledged.withLock { $0[writer] }, seen[writer])
            let wanted = Bool.random() ? paths[writer] : [paths[writer][.random(in: 0...1)]]
            let answer = try await test.store.get(wanted, .strong, in: OperationContext())
            let numbers = answer.documents.map { document in
                if case .integer(let n)? = document?.fields["n"] { n } else { 0 as Int64 }
            }
            #expect(Set(numbers).count == 1, "half a commit")
            #expect(numbers[0] >= least, "an old state")
            #expect(answer.documents.allSatisfy { $0.map { $0.updateTime <= answer.readTime } ?? true })
            seen[writer] = numbers[0]
            await Task.yield()
        }
    }
}
