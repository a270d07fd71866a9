import CommitPipeline
import DocumentModel

/// Computes all changes of a list of writes before anything is stored.
struct WriteComputation {
    /// What the writes make of a document.
    private struct State {
        let path: DocumentPath
        let before: Document?
        var after: Document?
        /// About what the document takes in memory after them, if they change it.
        var weight = 0
        var transforms = 0
        /// Whether it is verified; otherwise it is written. Firestore refuses both in one commit.
        let isVerified: Bool
        /// What its first write requires.
        let precondition: Write.Precondition?

        /// What the policy decides on: what all writes of the document make of it together, as on Firestore. The states
        /// between them are never stored.
        ///
        /// A precondition says what a write is: a client that may create a document which another one has created
        /// meanwhile learns that there is one, and its SDK retries the transaction.
        var access: Access {
            if isVerified { return .get(path, before) }
            guard let after else { return .delete(path, before) }
            let isUpdate =
                switch precondition {
                case nil: before != nil
                case .exists(let exists): exists
                case .updateTime: true
                }
            return isUpdate ? .update(from: before, to: after) : .create(after, over: before)
        }
    }

    private(set) var outcome = WriteOutcome()
    /// What the policy's decisions have cost.
    private(set) var decisionCost = 0

    private let time: Timestamp
    /// The time of the request, for server timestamps and rules: in milliseconds, as on Firestore. Clients page by such
    /// times, and many of them know no finer ones.
    private let requestTime: Timestamp
    private let policy: (any AccessPolicy)?
    private let maxDecisionCost: Int?
    private let catalog: IndexCatalog
    private let read: (DocumentPath) throws -> Document?
    /// In the order of each document's first write.
    private var states: [State] = []
    private var positions: [DocumentPath: Int] = [:]
    /// The positions of documents that have several writes.
    private var repeatedPositions: Set<Int> = []
    private var repeated: RepeatedWork
    /// The first precondition or limit that refuses a write.
    private var refusal: DocumentError?
    /// Why no state of the documents would make the commit succeed, which counts before any other refusal, as on
    /// Firestore.
    private var contradiction: DocumentError?

    /// - Parameters:
    ///   - time: the commit's time, and in milliseconds that of its server timestamps.
    ///   - maxDecisionCost: what the policy's decisions may cost; nil for the policy's own bounds.
    ///   - catalog: determines how a document's index entries are counted.
    ///   - repeated: the bound on repeated work.
    ///   - meter: counts the policy's decisions; nil for those of the writer.
    ///   - read: reads the current state of documents.
    /// - Throws: `DocumentError` if a precondition, the policy or a limit refuses a write, ``DecisionTooCostly``, and
    ///   what the meter throws.
    init(
        _ writes: [Write], at time: Timestamp, policy: (any AccessPolicy)?, maxDecisionCost: Int? = nil,
        catalog: IndexCatalog, repeated: RepeatedWork, meter: QueryMeter? = nil,
        read: @escaping (DocumentPath) throws -> Document?
    ) throws {
        self.time = time
        requestTime = time.truncatedToMilliseconds
        self.policy = policy
        self.maxDecisionCost = maxDecisionCost
        self.catalog = catalog
        self.repeated = repeated
        self.read = read
        try Self.checkSize(of: writes)
        for write in writes {
            outcome.results.append(try compute(write))
            if let exceeded = self.repeated.refusal {
                // The commit is refused whatever the other writes are.
                refusal = refusal ?? exceeded
                break
            }
        }
        settleUnchanged(writes)
        try decide(meter)
        // Thrown only after the policy check: only clients that may write a document may learn about its preconditions
        // and limits.
        if let refusal = contradiction ?? refusal { throw refusal }
        // A write that changes nothing keeps the time of the last change.
        for state in states where state.before?.updateTime != state.after?.updateTime {
            outcome.add(
                DocumentChange(path: state.path, before: state.before, after: state.after), weight: state.weight)
        }
    }

    /// Several writes that leave a document as it was change nothing, as on Firestore: functions that write it so when it
    /// changes would call each other for ever.
    private mutating func settleUnchanged(_ writes: [Write]) {
        var settled: Set<Int> = []
        for position in repeatedPositions {
            guard let before = states[position].before, let after = states[position].after,
                before.createTime == after.createTime, before.updateTime != after.updateTime,
                Value.map(before.fields) == .map(after.fields)
            else { continue }
            states[position].after = before
            settled.insert(position)
        }
        guard !settled.isEmpty else { return }
        for (write, index) in zip(writes, outcome.results.indices) {
            guard let position = positions[write.path], settled.contains(position) else { continue }
            outcome.results[index].updateTime = states[position].before?.updateTime
        }
    }

    /// The policy sees all documents in their final state, whatever the order of the writes.
    private mutating func decide(_ meter: QueryMeter?) throws {
        guard let policy else { return }
        // The policy receives errors of documents only.
        var tooCostly: DecisionTooCostly?
        let readStored = { [read] (path: DocumentPath) throws(DocumentError) -> Document? in
            do {
                return try read(path)
            } catch {
                tooCostly = tooCostly ?? error as? DecisionTooCostly
                throw DocumentError(from: error)
            }
        }
        let view = AccessView(
            time: requestTime, maxCost: maxDecisionCost, isWritten: { [positions] in positions[$0] != nil },
            document: { [states, positions] path throws(DocumentError) in
                if let position = positions[path] { return states[position].before }
                return try readStored(path)
            },
            documentAfter: { [states, positions] path throws(DocumentError) in
                if let position = positions[path] { return states[position].after }
                return try readStored(path)
            })
        defer { decisionCost = view.cost }
        for state in states {
            do { try policy.check(state.access, in: view) } catch { if tooCostly == nil { throw error } }
            // Without the document, what the policy decides means nothing.
            if let tooCostly { throw tooCostly }
            try meter?.noteDecision()
        }
    }

    private mutating func compute(_ write: Write) throws -> WriteResult {
        let path = write.path
        let known = positions[path]
        let isRepeated = known != nil
        let position = try known ?? add(write)
        if isRepeated { repeatedPositions.insert(position) }
        let current = states[position].after
        try checkVerify(write, states[position])
        // A verify changes nothing: another one of the same document is of the stored state, too.
        if isRepeated, !write.isVerify {
            contradiction = contradiction ?? Self.contradiction(of: write.precondition, to: states[position])
        } else {
            note { () throws(DocumentError) in try Self.check(write.precondition, of: path, current) }
        }
        var fields: [String: Value]
        switch write.operation {
        case .delete, .verify:
            guard write.transforms.isEmpty else {
                throw DocumentError.invalidArgument("a delete or verify of \"\(path)\" can't have transforms")
            }
            if write.isVerify {
                return WriteResult(updateTime: current?.updateTime, transformResults: [])
            }
            (states[position].after, states[position].weight) = (nil, 0)
            return WriteResult(updateTime: nil, transformResults: [])
        case .set(let new): fields = new
        case .update(let new, let mask):
            fields = current?.fields ?? [:]
            if isRepeated { repeated.add(fields) }
            try merge(new, mask: mask, into: &fields)
        }
        fields = fields.truncatedToMicroseconds
        let transformResults = try transform(write, at: position, isRepeated: isRepeated, &fields)
        let catalog = catalog
        note { () throws(DocumentError) in try catalog.check(fields, of: path) }
        var document = Document(
            path: path, fields: fields, createTime: current?.createTime ?? time, updateTime: time)
        if let current, Value.map(current.fields) == .map(fields) { document.updateTime = current.updateTime }
        let weight = document.weight
        note { () throws(DocumentError) in try DocumentLimits.check(weight: weight, of: path) }
        (states[position].after, states[position].weight) = (document, weight)
        return WriteResult(updateTime: document.updateTime, transformResults: transformResults)
    }

    /// Reads a document at its first write.
    private mutating func add(_ write: Write) throws -> Int {
        let stored = try read(write.path)
        positions[write.path] = states.count
        states.append(
            State(
                path: write.path, before: stored, after: stored, isVerified: write.isVerify,
                precondition: write.precondition))
        return states.count - 1
    }

    private func checkVerify(_ write: Write, _ state: State) throws(DocumentError) {
        guard !write.isVerify || write.precondition != nil else {
            throw .invalidArgument("a verify of \"\(write.path)\" needs a precondition, exists or updateTime")
        }
        guard state.isVerified == write.isVerify else {
            throw .invalidArgument(
                "one commit can't both verify and write \"\(write.path)\"; give the write the precondition")
        }
    }

    private mutating func note(_ check: () throws(DocumentError) -> Void) {
        do { try check() } catch { refusal = refusal ?? error }
    }

    private func merge(
        _ new: [String: Value], mask: [FieldPath], into fields: inout [String: Value]
    ) throws(DocumentError) {
        for field in mask { try field.check() }
        // Shorter paths first, so that longer paths apply to maps that shorter ones have set.
        for field in mask.sorted(by: { $0.segments.count < $1.segments.count }) {
            fields.set(new.value(at: field.segments[...]), at: field.segments[...])
        }
    }

    private mutating func transform(
        _ write: Write, at position: Int, isRepeated: Bool, _ fields: inout [String: Value]
    ) throws(DocumentError) -> [Value] {
        guard !write.transforms.isEmpty else { return [] }
        states[position].transforms += write.transforms.count
        guard states[position].transforms <= DocumentLimits.maxTransforms else {
            throw .invalidArgument(
                "a commit has more than 500 transforms of the document \"\(write.path)\", the limit")
        }
        try Self.check(write.transforms)
        var results: [Value] = []
        var arrays: Set<FieldPath> = []
        for transform in write.transforms {
            let current = fields.value(at: transform.field.segments[...])
            if transform.isOfArray, !arrays.insert(transform.field).inserted || isRepeated {
                repeated.add(current)
                if repeated.refusal != nil { break }
            }
            let (value, result) = transform.apply(to: current, at: requestTime)
            fields.set(value.truncatedToMicroseconds, at: transform.field.segments[...])
            results.append(result)
        }
        return results
    }

    private static func check(_ transforms: [FieldTransform]) throws(DocumentError) {
        // Bounds the lengths of paths, too.
        for transform in transforms { try transform.check() }
        guard transforms.count > 1, transforms.contains(where: { $0.field.segments.count > 1 }) else { return }
        let fields = Set(transforms.lazy.map(\.field))
        for transform in transforms {
            let segments = transform.field.segments
            for length in 1..<segments.count {
                let above = FieldPath(segments: Array(segments.prefix(length)))
                guard !fields.contains(above) else {
                    throw .invalidArgument(
                        "a write can't transform \(above) and \(transform.field), which is in it, at once")
                }
            }
        }
    }

    /// What a write requires that an earlier one of the same document has made impossible, as on Firestore.
    private static func contradiction(of precondition: Write.Precondition?, to state: State) -> DocumentError? {
        switch precondition {
        case nil: return nil
        case .exists(let exists):
            guard exists != (state.after != nil) else { return nil }
            return .invalidArgument(
                "a write of \"\(state.path)\" requires that it \(exists ? "exists" : "doesn't exist"), and an earlier "
                    + "one in the same request \(exists ? "deletes" : "writes") it")
        case .updateTime(let expected):
            // It is that of the document before all writes, which the first one has checked.
            if state.after != nil, case .updateTime(let first)? = state.precondition,
                first.truncatedToMicroseconds == expected.truncatedToMicroseconds
            {
                return nil
            }
            return .invalidArgument(
                "a write of \"\(state.path)\" requires an update time, and the first one in the same request doesn't "
                    + "require the same, or an earlier one deletes it")
        }
    }

    private static func check(
        _ precondition: Write.Precondition?, of path: DocumentPath, _ current: Document?
    ) throws(DocumentError) {
        switch precondition {
        case nil: return
        case .exists(true):
            guard current != nil else { throw DocumentError(.notFound, "there is no document \"\(path)\" to update") }
        case .exists(false):
            guard current == nil else { throw DocumentError(.alreadyExists, "document \"\(path)\" already exists") }
        case .updateTime(let expected):
            guard current?.updateTime == expected.truncatedToMicroseconds else {
                let found = current.map { "was updated at \($0.updateTime)" } ?? "does not exist"
                throw DocumentError(
                    .failedPrecondition, "document \"\(path)\" \(found), and the commit expects \(expected)")
            }
        }
    }

    static func checkSize(of writes: [Write]) throws(DocumentError) {
        let size = writes.reduce(0) { $0 + DocumentLimits.size(of: $1) }
        guard size <= DocumentLimits.maxRequestBytes else {
            throw .invalidArgument("a commit has \(size) bytes, more than 10 MiB, the limit")
        }
    }
}

extension Write {
    fileprivate var isVerify: Bool { if case .verify = operation { true } else { false } }
}
