import DocumentModel
import DocumentStore
import TestSupport

/// A listener and the result that its events have led to.
struct FollowedListener {
    let target: ListenTarget
    /// Nil if the listener was ended, to be resumed later.
    var listener: DocumentListener?
    /// As received: a query's in its order, documents by path.
    private(set) var shown: [Document] = []
    /// The time up to which all events were received; nil before the first one.
    private(set) var position: Timestamp?

    init(target: ListenTarget, listener: DocumentListener) {
        self.target = target
        self.listener = listener
    }

    /// Goes on with what was shown at a position.
    init(target: ListenTarget, listener: DocumentListener, shown: [Document], position: Timestamp) {
        self.init(target: target, listener: listener)
        (self.shown, self.position) = (shown, position)
    }

    /// Receives events until they are complete up to a time.
    ///
    /// - Returns: False if the listener must start over.
    mutating func follow(upTo time: Timestamp, _ model: StoreModel) async throws -> Bool {
        guard let listener else { return true }
        while position.map({ $0 < time }) ?? true {
            let event = try await Patience.wait(for: "\(target) of \(time)") { try await listener.next(before: time) }
            switch event {
            case nil:
                // It needn't wait: it has received everything, and nothing changed here.
                position = max(position ?? time, time)
                let result = Self.result(of: target, in: model.state(at: time))
                try Self.expect(shown == result, "\(target) shows \(shown) at \(time), not \(result)")
            case .startOver: return false
            case .initial(let documents, let at):
                let result = Self.result(of: target, in: model.state(at: at))
                try Self.expect(documents == result, "\(target) begins at \(at) with \(documents), not \(result)")
                (shown, position) = (result, at)
            case .count(let count, let at):
                try Self.expect(count == shown.count, "\(target) has \(shown.count) documents at \(at), not \(count)")
            case .changes(let changes, let at):
                try Self.expect(position.map { $0 <= at } ?? false, "\(target) goes from \(position as Any) to \(at)")
                try apply(changes, at, model)
            }
        }
        return true
    }

    /// Where it is left, and goes on from.
    mutating func leave() {
        listener?.cancel()
        listener = nil
    }

    private mutating func apply(_ changes: [ListenChange], _ at: Timestamp, _ model: StoreModel) throws {
        let state = model.state(at: at)
        let result = Self.result(of: target, in: state)
        let before = Dictionary(uniqueKeysWithValues: shown.map { ($0.path, $0) })
        let after = Dictionary(uniqueKeysWithValues: result.map { ($0.path, $0) })
        // Documents that have left may come with their states.
        let changes: [ListenChange] = try changes.map { change in
            guard case .removed(let document, let isDeleted, let now?) = change else { return change }
            try Self.expect(
                now.updateTime == state?.documents[now.path]?.updateTime, "\(target) has left \(now) at \(at)")
            return .removed(document, deleted: isDeleted)
        }
        let removed: [ListenChange] = shown.filter { after[$0.path] == nil }.map {
            .removed($0, deleted: state?.documents[$0.path] == nil)
        }
        let others: [ListenChange] = result.compactMap { document in
            guard let old = before[document.path] else { return .added(document) }
            return old == document ? nil : .modified(document)
        }
        try Self.expect(
            changes == removed + others, "\(target) changes at \(at) by \(changes), not \(removed + others)")
        (shown, position) = (result, at)
    }

    private static func result(of target: ListenTarget, in state: ModelState?) -> [Document] {
        let state = state ?? ModelState()
        switch target {
        case .query(let query): return ModelQuery(query).run(in: state)
        case .documents(let paths):
            return paths.sorted { ModelOrder.compare($0, $1) < 0 }.compactMap { state.documents[$0] }
        }
    }

    private static func expect(_ holds: Bool, _ complaint: @autoclosure () -> String) throws(Disagreement) {
        if !holds { throw Disagreement(step: nil, description: complaint()) }
    }
}

extension DocumentListener {
    /// The next event, or nil once there is none up to a time.
    fileprivate func next(before time: Timestamp) async throws -> ListenEvent? {
        let waiting = Task { try await self.next() }
        let watch = Task {
            while !Task.isCancelled {
                if let current = currentTime, current >= time { return waiting.cancel() }
                try await Task.sleep(for: .microseconds(200))
            }
        }
        defer { watch.cancel() }
        return try await waiting.value
    }
}
