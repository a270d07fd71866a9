import NIOCore
package import RealtimeModel
import StrictJSON
import Synchronization

/// A change that listens are sent. All listens that see the same change share one push, so that it is encoded once.
package final class RealtimePush: Sendable {
    package enum Change: Sendable {
        /// What the path has now; nil for nothing.
        case put(RealtimeNode?)
        /// What is changed below the path, in one commit. Targets are relative to the path.
        case merge([RealtimeChange])
    }

    /// The place of the change, from the root. It is at or below the path of each listen that the push is sent to.
    package let target: RealtimeTarget
    package let change: Change
    /// That of the state that has the change.
    let version: Int64

    /// A message up to its tag.
    private struct Beginning {
        var bytes: [UInt8]
        /// Its length in UTF-16 units.
        var units: Int

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
            units = bytes.withUnsafeBytes { UTF16Units.count($0) }
        }
    }

    /// The frames of a message without a tag, and of the last one with a tag.
    private struct Frames {
        /// What messages begin with, for further tags and for sessions that poll.
        var beginning: Beginning?
        var plain: ByteBuffer?
        var tagged: (tag: Int64, bytes: ByteBuffer)?
        var data: [RealtimeForm: ByteBuffer] = [:]
        var narrowed: RealtimePush?
    }

    private let frames = Mutex(Frames())

    package init(_ target: RealtimeTarget, _ change: Change, version: Int64 = 0) {
        self.target = target
        self.change = change
        self.version = version
    }

    /// The change of a value.
    package convenience init(_ path: RealtimePath, _ change: Change) { self.init(RealtimeTarget(path), change) }

    /// The message's frames for a WebSocket, encoded by the first listen that needs them.
    func frames(tag: Int64?) -> ByteBuffer {
        frames.withLock { frames in
            if tag == nil, let known = frames.plain { return known }
            if let known = frames.tagged, known.tag == tag { return known.bytes }
            // Most messages have one tag, or none, and keep nothing beside its frames.
            let isFirst = frames.beginning == nil && frames.plain == nil && frames.tagged == nil
            let start = isFirst ? Beginning(makeBeginning()) : beginning(&frames)
            let end = Self.end(tag: tag)
            // The end is ASCII.
            let bytes = FramePieces.frames(of: start.bytes, end, units: start.units + end.count)
            if let tag { frames.tagged = (tag, bytes) } else { frames.plain = bytes }
            return bytes
        }
    }

    /// How much memory the message takes.
    func frameBytes(tag: Int64?) -> Int { frames(tag: tag).readableBytes }

    /// The change as JSON in a form, which is encoded once.
    func data(as form: RealtimeForm) -> ByteBuffer {
        frames.withLock { frames in
            if let known = frames.data[form] { return known }
            var writer = JSONWriter(capacity: 64)
            write(to: &writer, as: form)
            let bytes = ByteBuffer(bytes: writer.bytes)
            frames.data[form] = bytes
            return bytes
        }
    }

    /// The place that all changes of a merge are below, with the changes as they are from there: a client of a stream knows only
    /// the names of children.
    var narrowed: RealtimePush {
        frames.withLock { frames in
            let narrowed = frames.narrowed ?? makeNarrowed()
            if narrowed !== self { frames.narrowed = narrowed }
            return narrowed
        }
    }

    private func makeNarrowed() -> RealtimePush {
        guard !target.isPriority, case .merge(let changes) = change, let first = changes.first else { return self }
        var shared = first.target.path.depth
        for change in changes {
            let path = change.target.path
            // A child's name is left, or that of the priority.
            let own = change.target.isPriority ? path.depth : path.depth - 1
            shared = min(shared, own, zip(first.target.path.keys, path.keys).prefix { $0 == $1 }.count)
        }
        guard shared > 0 else { return self }
        let place = RealtimePath(unchecked: target.path.keys + first.target.path.keys.prefix(shared))
        let below = changes.map { change in
            RealtimeChange(
                RealtimeTarget(
                    RealtimePath(unchecked: Array(change.target.path.keys.dropFirst(shared))),
                    isPriority: change.target.isPriority),
                change.node)
        }
        return RealtimePush(RealtimeTarget(place), .merge(below), version: version)
    }

    private func beginning(_ frames: inout Frames) -> Beginning {
        if let known = frames.beginning { return known }
        let new = Beginning(makeBeginning())
        frames.beginning = new
        return new
    }

    /// The message in the protocol of WebSocket and long polling.
    func message(tag: Int64?) -> [UInt8] {
        frames.withLock { beginning(&$0).bytes } + Self.end(tag: tag)
    }

    private func makeBeginning() -> [UInt8] {
        var writer = JSONWriter(capacity: 128)
        writer.raw(#"{"t":"d","d":{"a":"#)
        writer.string(isMerge ? "m" : "d")
        writer.raw(#","b":{"p":"#)
        writer.string(target.string)
        writer.raw(#","d":"#)
        write(to: &writer, as: .export)
        return writer.bytes
    }

    private static func end(tag: Int64?) -> [UInt8] {
        var writer = JSONWriter(capacity: 32)
        if let tag {
            writer.raw(#","t":"#)
            writer.integer(tag)
        }
        writer.raw("}}}")
        return writer.bytes
    }

    var isMerge: Bool { if case .merge = change { true } else { false } }

    private func write(to writer: inout JSONWriter, as form: RealtimeForm) {
        switch change {
        case .put(let node): writer.realtime(node, as: form)
        case .merge(let changes):
            writer.raw("{")
            writer.list(changes.lazy.filter { form.hasPriorities || !$0.target.isPriority }) { writer, change in
                writer.key(change.target.string)
                writer.realtime(change.node, as: form)
            }
            writer.raw("}")
        }
    }
}
