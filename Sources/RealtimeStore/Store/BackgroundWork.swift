import DocumentModel
import StorageEngine

/// The background work on namespaces, some in each batch: removes garbage, moves the rows of small extents back to
/// the tree around them (see ``TreeLayout``), and builds and removes indexes. What is left goes on when the store is
/// next opened.
///
/// Used on the writer's thread.
struct BackgroundWork {
    /// The bytes after which a batch moves no more rows, which it holds.
    static let maxMovedBytes = 1024 * 1024

    /// A part of the work.
    private enum Part: Hashable {
        /// Garbage that is removed, or an extent whose rows are moved.
        case extent(TreeLayout.Extent)
        /// In one state: one that can't be built can be dropped.
        case index(namespace: String, number: UInt32, RealtimeIndex.State)
    }

    /// Namespaces that may have work.
    private var unsettled: Set<String> = []
    /// The one whose next large value waits.
    private var preferred: String?
    /// Trees whose rows are garbage unless a write puts them into place, and that it still may (`StagedValue`).
    private var held: [UInt32: StagedHold] = [:]
    /// Parts whose rows can't be read, and why. They are left, damaged ones until the store is next opened.
    private var unreadable: [Part: StorageError] = [:]
    /// The first row that is left of garbage whose removal has begun, as far as this process knows.
    private var positions: [TreeLayout.Extent: [UInt8]] = [:]
    /// Whether the last batch has failed.
    var isStuck = false
    /// For how many seconds it has been waiting for a batch without jobs; nil if it isn't.
    private var idleWait: Int?

    /// Under load each batch may have jobs.
    private static let longestIdleWait = 60

    /// Whether it is done only in batches without jobs, because the last one has failed, for damage or with rows that
    /// can't be read: others could too.
    var waitsForIdle: Bool { idleWait.map { $0 < Self.longestIdleWait } ?? false }

    mutating func waitForIdle() { idleWait = 0 }

    mutating func begin(with catalog: RealtimeCatalog) {
        unsettled = Set(catalog.namespaces.lazy.filter { !$0.value.isSettled }.map(\.key))
    }

    mutating func look(at namespace: String) { unsettled.insert(namespace) }

    /// Keeps the rows of a tree although they are garbage, until the hold is released.
    mutating func hold(_ tree: UInt32, by hold: StagedHold) { held[tree] = hold }

    /// Returns to rows that couldn't be read for the moment, in a batch without jobs: SQLite keeps nothing of a batch
    /// that has met them. Called each second.
    mutating func retry(in catalog: RealtimeCatalog) {
        idleWait = idleWait.map { $0 + 1 }
        let damaged = unreadable.filter { $0.value.kind == .damaged }
        guard damaged.count < unreadable.count else { return }
        unreadable = damaged
        idleWait = idleWait ?? 0
        begin(with: catalog)
    }

    /// Whether rows of some part can't be read.
    var isObstructed: Bool { !unreadable.isEmpty }

    /// The error of a part that is still to be done and can't be; nil without such a part.
    func obstacle(in catalog: RealtimeCatalog) -> StorageError? {
        unreadable.first { Self.exists($0.key, in: catalog) }?.value
    }

    private static func exists(_ part: Part, in catalog: RealtimeCatalog) -> Bool {
        switch part {
        case .extent(let extent):
            catalog.namespaces.values.contains {
                $0.layout.garbage.contains(extent) || $0.layout.extents.contains(extent)
            }
        case .index(let namespace, let number, let state):
            catalog.namespaces[namespace]?.indexes.contains { $0.number == number && $0.state == state } == true
        }
    }

    func holds(_ tree: UInt32) -> Bool { held[tree]?.isReleased == false }

    mutating func release(_ tree: UInt32, of namespace: String) {
        held[tree] = nil
        look(at: namespace)
    }

    /// Called after a rollback: the numbers of trees and indexes that were rolled back are used again.
    mutating func forgetAll(butOf catalog: RealtimeCatalog) {
        positions = [:]
        held = held.filter { $0.key < catalog.nextTree }
        unreadable = unreadable.filter { Self.exists($0.key, in: catalog) }
    }

    var isDone: Bool { unsettled.isEmpty }

    /// The garbage of the namespace whose turn it is, and its extents beyond those that it may have.
    func backlog(in catalog: RealtimeCatalog, maxExtents: Int) -> Int {
        guard let layout = next.flatMap({ catalog.namespaces[$0]?.layout }) else { return 0 }
        return layout.garbage.count + max(layout.extents.count - maxExtents, 0)
    }

    mutating func prefer(_ namespace: String?) { preferred = namespace }

    private var next: String? { preferred.flatMap { unsettled.contains($0) ? $0 : nil } ?? unsettled.first }

    /// How long the writer may wait for other work; nil for any time.
    var pause: Duration? { isDone ? nil : isStuck ? .seconds(1) : .zero }

    /// Does some of the work.
    ///
    /// - Parameters:
    ///   - limit: the rows that it removes or moves.
    ///   - maxBytes: those after which it moves no more.
    ///   - skipped: called if rows that are needed can't be read. They stay as they are.
    /// - Throws: if the batch must not be kept.
    mutating func step(
        _ kind: RealtimeRows, _ storage: any StorageWriter, atMost limit: Int, bytes maxBytes: Int,
        skipped: (StorageError, _ namespace: String) -> Void
    ) throws {
        (isStuck, idleWait) = (false, nil)
        guard let namespace = next else { return }
        guard let record = try? kind.record(of: namespace) else {
            unsettled.remove(namespace)
            return
        }
        do {
            guard let part = try nextPart(of: record, namespace, kind.configuration, storage) else {
                unsettled.remove(namespace)
                return
            }
            do {
                try work(on: part, of: record, namespace, kind, storage, atMost: limit, bytes: maxBytes)
            } catch {
                throw PartFailure(part: part, underlying: error)
            }
        } catch let failure as PartFailure {
            // Commits go on, and so does the other work.
            let error: StorageError
            switch failure.underlying {
            case let found as StorageError where found.kind == .damaged || found.kind == .unavailable: error = found
            case let found as DecodingFailure: error = StorageError(.damaged, found.reason)
            default: throw failure.underlying
            }
            unreadable[failure.part] = error
            skipped(error, namespace)
        }
    }

    private struct PartFailure: Error {
        var part: Part
        var underlying: any Error
    }

    /// Whether a namespace's garbage can be removed, as far as is known.
    func isRemovable(_ garbage: TreeLayout.Extent) -> Bool {
        !holds(garbage.tree) && unreadable[.extent(garbage)] == nil
    }

    private func nextPart(
        of record: NamespaceRecord, _ namespace: String, _ configuration: RealtimeStoreConfiguration,
        _ storage: any StorageReader
    ) throws -> Part? {
        if let garbage = record.layout.garbage.first(where: isRemovable) { return .extent(garbage) }
        if let extent = try movable(of: record.layout, configuration, storage) { return .extent(extent) }
        return record.indexes.lazy.filter { $0.state != .ready }
            .map { Part.index(namespace: namespace, number: $0.number, $0.state) }.first { unreadable[$0] == nil }
    }

    /// Reads all that it needs before it changes anything that would be wrong by itself.
    private mutating func work(
        on part: Part, of record: NamespaceRecord, _ namespace: String, _ kind: RealtimeRows,
        _ storage: any StorageWriter, atMost limit: Int, bytes maxBytes: Int
    ) throws {
        switch part {
        case .extent(let garbage) where record.layout.garbage.contains(garbage):
            let rest = KeyRange(lower: positions[garbage] ?? garbage.stored.lower, upper: garbage.stored.upper)
            positions[garbage] = try storage.removeRange(.tree, rest, atMost: limit)
            guard positions[garbage] == nil else { return }
            kind.update(namespace) { record, _ in record.layout.garbage.removeAll { $0 == garbage } }
        case .extent(let extent):
            let tree = record.layout.neighbor(of: extent)
            let moved = try Self.move(extent, to: tree, atMost: limit, bytes: maxBytes, in: storage)
            kind.update(namespace) { record, _ in record.layout.assign(moved, to: tree) }
        case .index(_, let number, _):
            guard let index = record.indexes.first(where: { $0.number == number }) else { return }
            guard try IndexPass(namespace, record.layout, index, storage).advance(atMost: limit) else { return }
            kind.update(namespace) { record, _ in record.finish(number) }
        }
    }

    /// An extent that is small, or one of too many.
    private func movable(
        of layout: TreeLayout, _ configuration: RealtimeStoreConfiguration, _ storage: any StorageReader
    ) throws -> TreeLayout.Extent? {
        // Where garbage is left that can't be read, it would be seen again.
        let trees = Set(layout.extents.map(\.tree) + [layout.tree])
        let left = layout.garbage.filter { trees.contains($0.tree) }
        let extents = layout.extents.filter { extent in
            unreadable[.extent(extent)] == nil
                && !left.contains {
                    $0.range.intersection(extent.range) != nil && $0.tree == layout.neighbor(of: extent)
                }
        }
        if layout.extents.count > configuration.maxExtents, let first = extents.first { return first }
        return try extents.first { extent in
            do {
                return try storage.key(.tree, extent.stored, after: configuration.maxComparedRows) == nil
            } catch {
                throw PartFailure(part: .extent(extent), underlying: error)
            }
        }
    }

    /// Moves the first rows of an extent.
    ///
    /// - Returns: the part of the range whose rows are in the other tree now.
    private static func move(
        _ extent: TreeLayout.Extent, to tree: UInt32, atMost limit: Int, bytes maxBytes: Int,
        in storage: any StorageWriter
    ) throws -> KeyRange {
        var rows: [(key: [UInt8], row: [UInt8])] = []
        var bytes = 0
        var isComplete = true
        try storage.scan(.tree, extent.stored, reverse: false) { key, row in
            rows.append((key, row))
            bytes += key.count + row.count
            isComplete = rows.count < limit && bytes < maxBytes
            return isComplete
        }
        let header = TreeKey.header(ofTree: tree)
        for (key, row) in rows {
            try storage.put(.tree, header + key[TreeKey.headerCount...], row)
            try storage.delete(.tree, key)
        }
        guard !isComplete, let last = rows.last else { return extent.range }
        return KeyRange(lower: extent.range.lower, upper: last.key[TreeKey.headerCount...] + [0])
    }
}
