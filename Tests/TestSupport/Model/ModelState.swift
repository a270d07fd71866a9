package import DocumentModel

/// All documents at one time: a dictionary, searched from one end to the other.
package struct ModelState: Hashable, Sendable {
    package var documents: [DocumentPath: Document] = [:]

    package init() {}

    /// What writes lead to.
    package struct Outcome: Sendable {
        package var state: ModelState
        package var results: [WriteResult] = []
        /// The reasons there are to refuse them, any of which may be given; then nothing is written.
        package var refusals: Set<StatusCode> = []
    }

    /// Writes as they would be applied at a time, one after the other.
    package func applying(_ writes: [Write], at time: Timestamp) -> Outcome {
        var outcome = Outcome(state: self)
        var transforms: [DocumentPath: Int] = [:]
        var verified: [DocumentPath: Bool] = [:]
        var firsts: [DocumentPath: Write] = [:]
        for write in writes {
            let isVerify = write.operation == .verify
            if isVerify && write.precondition == nil || verified[write.path] == !isVerify {
                outcome.refusals.insert(.invalidArgument)
            }
            let first = firsts[write.path]
            if first == nil { firsts[write.path] = write }
            verified[write.path] = isVerify
            let fields = write.transforms.map(\.field.segments)
            if fields.contains(where: { field in fields.contains { $0.count < field.count && field.starts(with: $0) } })
            {
                outcome.refusals.insert(.invalidArgument)
            }
            transforms[write.path, default: 0] += write.transforms.count
            if transforms[write.path, default: 0] > 500 { outcome.refusals.insert(.invalidArgument) }
            apply(write, at: time, after: first, to: &outcome)
        }
        // Writes that together leave a document as it was change nothing.
        for (index, write) in writes.enumerated() {
            guard let before = documents[write.path], let after = outcome.state.documents[write.path],
                before.createTime == after.createTime, before.fields == after.fields
            else { continue }
            outcome.state.documents[write.path] = before
            outcome.results[index].updateTime = before.updateTime
        }
        return outcome
    }

    /// The documents that are not the same in an earlier state.
    package func changes(since earlier: ModelState) -> [ModelChange] {
        Set(documents.keys).union(earlier.documents.keys).compactMap { path in
            let (before, after) = (earlier.documents[path], documents[path])
            return before == after ? nil : ModelChange(path: path, before: before, after: after)
        }.sorted { ModelOrder.compare($0.path, $1.path) < 0 }
    }

    /// - Parameter first: the first write of the same commit that is of this document, if this is another one: then no
    ///   other state would meet a precondition that it doesn't.
    private func apply(_ write: Write, at time: Timestamp, after first: Write?, to outcome: inout Outcome) {
        // A verify changes nothing: another one of the same document is of the stored state, too.
        let isVerify = if case .verify = write.operation { true } else { false }
        let isRepeated = first != nil && !isVerify
        let current = outcome.state.documents[write.path]
        switch write.precondition {
        case nil: break
        case .exists(true): if current == nil { outcome.refusals.insert(isRepeated ? .invalidArgument : .notFound) }
        case .exists(false):
            if current != nil { outcome.refusals.insert(isRepeated ? .invalidArgument : .alreadyExists) }
        case .updateTime where isRepeated:
            // The update time is that before all writes.
            if current == nil || write.precondition != first?.precondition {
                outcome.refusals.insert(.invalidArgument)
            }
        case .updateTime(let expected):
            if current?.updateTime != expected { outcome.refusals.insert(.failedPrecondition) }
        }
        var fields = current?.fields ?? [:]
        switch write.operation {
        case .delete:
            outcome.state.documents[write.path] = nil
            outcome.results.append(WriteResult(updateTime: nil, transformResults: []))
            return
        case .verify:
            outcome.results.append(WriteResult(updateTime: current?.updateTime, transformResults: []))
            return
        case .set(let new): fields = new
        case .update(let new, let mask):
            // What is named inside of another comes last: it is part of what that one brought.
            for field in mask.sorted(by: { $0.segments.count < $1.segments.count }) {
                if let value = ModelFields.value(new, field.segments) {
                    fields = ModelFields.setting(fields, field.segments, to: value)
                } else {
                    fields = ModelFields.removing(fields, field.segments)
                }
            }
        }
        var results: [Value] = []
        for transform in write.transforms {
            let before = ModelFields.value(fields, transform.field.segments)
            let (value, result) = ModelTransforms.apply(transform.operation, to: before, at: time)
            fields = ModelFields.setting(fields, transform.field.segments, to: value)
            results.append(result)
        }
        fields = fields.mapValues(\.truncatedToMicroseconds)
        if ModelLimits.refuses(fields) { outcome.refusals.insert(.invalidArgument) }
        var document = Document(
            path: write.path, fields: fields, createTime: current?.createTime ?? time, updateTime: time)
        if let current, current.fields == fields { document = current }
        outcome.state.documents[write.path] = document
        outcome.results.append(WriteResult(updateTime: document.updateTime, transformResults: results))
    }
}

/// A document before and after.
package struct ModelChange: Hashable, Sendable {
    package var path: DocumentPath
    package var before: Document?
    package var after: Document?

    package init(path: DocumentPath, before: Document?, after: Document?) {
        self.path = path
        self.before = before
        self.after = after
    }
}

/// The limits that random writes run into.
enum ModelLimits {
    static func refuses(_ fields: [String: Value]) -> Bool { refuses(fields, depth: 0) }

    private static func refuses(_ fields: [String: Value], depth: Int) -> Bool {
        fields.contains { name, value in
            name.isEmpty || name.utf8.count > 1500 || (name.hasPrefix("__") && name.hasSuffix("__") && name.count > 3)
                || refuses(value, depth: depth, inArray: false)
        }
    }

    private static func refuses(_ value: Value, depth: Int, inArray: Bool) -> Bool {
        switch value {
        case .geoPoint(let point): return abs(point.latitude) > 90 || abs(point.longitude) > 180
        case .array(let elements):
            return inArray || depth >= 20
                || elements.contains { refuses($0, depth: depth + 1, inArray: true) }
        case .map(let fields):
            if value.vectorElements != nil { return depth >= 20 }
            return depth >= 20 || refuses(fields, depth: depth + 1)
        default: return false
        }
    }
}
