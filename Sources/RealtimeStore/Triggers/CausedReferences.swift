import CommitPipeline
import DocumentModel
import RealtimeModel
import StorageEngine
import StrictJSON

/// Makes the events of a commit's changes.
struct CausedReferences {
    private let namespace: String
    private let before: RealtimeSnapshot
    private let after: RealtimeSnapshot
    private let limits: TriggerLimits

    init(in namespace: String, before: RealtimeSnapshot, after: RealtimeSnapshot, limits: TriggerLimits) {
        self.namespace = namespace
        self.limits = limits
        // What is read for events is bounded by their size.
        let reads = RealtimeReadLimits(maxBytes: limits.maxEventBytes)
        self.before = RealtimeSnapshot(before.rows, indexes: before.indexes, limits: reads, version: before.version)
        self.after = RealtimeSnapshot(after.rows, indexes: after.indexes, limits: reads, version: after.version)
    }

    /// The events, in the order of their nodes.
    ///
    /// - Throws: `triggerLimit` if there are more, or larger ones, than one write may cause.
    func events(of changes: [RealtimeAppliedChange], by triggers: RealtimeTriggers) throws -> [CausedEvent] {
        var found = ChangedReferences(
            triggers, in: namespace, before: before, after: after, maxNodes: limits.maxNodes)
        do {
            for change in changes { try found.add(change) }
        } catch is TooManyNodes {
            throw tooMuchToLookAt
        }
        var events: [CausedEvent] = []
        var (calls, bytes) = (0, 0)
        for (path, reference) in found.references.sorted(by: { $0.key < $1.key }) {
            let event = try event(path, reference, &bytes)
            guard bytes <= limits.maxBytes else { throw tooLargeInAll }
            guard let event else { continue }
            calls += event.receivers.count
            guard calls <= limits.maxFunctions else { throw tooMany }
            events.append(event)
        }
        return events
    }

    /// - Parameter bytes: those of the values that were read or kept are added to it.
    private func event(
        _ path: RealtimePath, _ reference: ChangedReferences.Reference, _ bytes: inout Int
    ) throws -> CausedEvent? {
        let (existed, exists) = (try before.exists(at: path), try after.exists(at: path))
        let triggers = reference.triggers.filter { $0.kind.includes(existedBefore: existed, existsAfter: exists) }
        guard !triggers.isEmpty else { return nil }
        let change: ReferenceChange
        do {
            let old = existed ? try json(before, at: path) : nil
            if reference.mayBeEqual {
                let new = exists ? try json(after, at: path) : nil
                guard old != new else {
                    bytes += 2 * (old?.count ?? 0)
                    return nil
                }
                change = ReferenceChange(
                    instance: namespace, path: path.string, before: old,
                    settings: [ReferenceChange.Setting("", new)], existsAfter: exists)
            } else {
                change = ReferenceChange(
                    instance: namespace, path: path.string, before: old,
                    settings: reference.settings.map { Self.setting($0, from: path) }, existsAfter: exists)
            }
        } catch let failure as RealtimeFailure where failure.code == .tooLarge {
            throw tooLarge(path)
        }
        guard change.bytes <= limits.maxEventBytes else { throw tooLarge(path) }
        bytes += change.bytes
        let key = Array(namespace.utf8) + [0] + TreeKey.of(path)
        return CausedEvent(
            .reference(change),
            for: triggers.map { CausedEvent.Receiver(function: $0.function, orderKey: $0.isOrdered ? key : nil) })
    }

    /// - Parameter path: that of the node, which contains the change's target or is below it.
    private static func setting(_ change: RealtimeChange, from path: RealtimePath) -> ReferenceChange.Setting {
        if let target = change.target.relative(to: path) {
            return ReferenceChange.Setting(target.string, change.node?.json(as: .export))
        }
        let relative = path.relative(to: change.target.path) ?? .root
        return ReferenceChange.Setting("", change.node?[relative]?.json(as: .export))
    }

    private func json(_ state: RealtimeSnapshot, at path: RealtimePath) throws -> [UInt8] {
        var json: [UInt8] = []
        try state.writeJSON(at: path, as: .export) { json += $0 }
        return json
    }

    private var tooMany: RealtimeFailure {
        RealtimeFailure(.triggerLimit, "the write would call more than \(limits.maxFunctions) functions, the limit")
    }

    private var tooMuchToLookAt: RealtimeFailure {
        RealtimeFailure(
            .triggerLimit,
            "the patterns of functions match, or go through, more than \(limits.maxNodes) nodes that the write may "
                + "change, the limit; divide the write")
    }

    private var tooLargeInAll: RealtimeFailure {
        RealtimeFailure(
            .triggerLimit,
            "the values for the functions that the write would call have more than \(limits.maxBytes) bytes together, "
                + "the limit; divide the write")
    }

    private func tooLarge(_ path: RealtimePath) -> RealtimeFailure {
        RealtimeFailure(
            .triggerLimit,
            "the write would cause an event for \(path) of more than \(limits.maxEventBytes) bytes, the limit")
    }
}

/// What one commit's events may be: how many functions are called, and how large the values are that they receive.
package struct TriggerLimits: Hashable, Sendable {
    package var maxFunctions: Int
    package var maxEventBytes: Int
    /// Of all events together, with the values that turn out to be equal.
    package var maxBytes: Int
    /// The nodes that are looked at, with those that patterns go through.
    package var maxNodes: Int

    /// Firebase's: 1,000 functions for a write, 1 MiB for an event. The others are what the host can bear, while other
    /// writers wait.
    package static let strict = TriggerLimits(
        maxFunctions: 1_000, maxEventBytes: 1024 * 1024, maxBytes: 64 * 1024 * 1024, maxNodes: 50_000)
    /// Where `strictTriggerValidation` is off.
    package static let lifted = TriggerLimits(
        maxFunctions: 10_000, maxEventBytes: 16 * 1024 * 1024, maxBytes: 64 * 1024 * 1024, maxNodes: 200_000)
}
