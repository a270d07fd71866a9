import DocumentModel
import FunctionManifest

/// The changes that a document trigger handles, and the handler's input for them.
struct DocumentTrigger: Sendable {
    let manifest: TriggerManifest.DocumentTrigger
    /// The function's region.
    let region: String
    /// Empty if the pattern is invalid, in which case the bundle doesn't start.
    private let table: DocumentPatternTable<Void>

    init(_ type: ChangeEventType, _ pattern: String, _ options: FunctionOptions) {
        manifest = TriggerManifest.DocumentTrigger(
            eventType: type, document: pattern, retry: options.retry?.ofEvents, isOrdered: options.isOrdered,
            hasAuthContext: options.hasAuthContext)
        region = options.regions.first?.rawValue ?? ""
        table = DocumentPatternTable((try? DocumentPattern(pattern)).map { [($0, ())] } ?? [])
    }

    /// Decodes events whose data is derived from the changed document.
    func reading<Payload: Sendable>(
        _ payload: @escaping @Sendable (ChangedDocument) throws -> Payload
    ) -> @Sendable (ReceivedEvent) throws -> DocumentEvent<Payload> {
        { received in
            guard case .document(let path, let before, let after) = received.event.content,
                manifest.eventType.includes(from: before, to: after), let match = table.matches(path).first
            else { throw received.unexpected("documents \(manifest.document) \(manifest.eventType.rawValue)") }
            let change = ChangedDocument(
                reference: DocumentReference(firestore: received.context.firestore, path: path), before: before,
                after: after)
            return DocumentEvent(
                data: try payload(change), params: match.params, change: change, received: received, trigger: self)
        }
    }
}

/// A document before and after a commit.
struct ChangedDocument: Sendable {
    let reference: DocumentReference
    let before: DocumentModel.Document?
    let after: DocumentModel.Document?

    var snapshotBefore: DocumentSnapshot { DocumentSnapshot(reference: reference, document: before) }
    var snapshotAfter: DocumentSnapshot { DocumentSnapshot(reference: reference, document: after) }
    var change: Change<DocumentSnapshot> { Change(before: snapshotBefore, after: snapshotAfter) }

    /// - Throws: `DecodingError`, with the document and the field, if it doesn't have the type.
    func typed<T: Decodable & Sendable>(_ document: DocumentModel.Document?) throws -> Document<T> {
        try DocumentSnapshot(reference: reference, document: document).document(as: T.self)
    }

    func typedChange<T: Decodable & Sendable>() throws -> Change<Document<T>> {
        Change(before: try typed(before), after: try typed(after))
    }

    func writtenChange<T: Decodable & Sendable>() throws -> Change<Document<T>?> {
        Change(before: try before.map { try typed($0) }, after: try after.map { try typed($0) })
    }

    /// The fields that differ, as in an update mask: down to the entries of existing maps. Nil if this isn't an update.
    var updateMask: [FieldPath]? {
        guard let before, let after else { return nil }
        var mask: [FieldPath] = []
        Self.compare(before.fields, after.fields, below: [], &mask)
        return mask
    }

    private static func compare(
        _ before: [String: Value], _ after: [String: Value], below path: [String], _ mask: inout [FieldPath]
    ) {
        for name in Set(before.keys).union(after.keys).sorted() where before[name] != after[name] {
            if case .map(let old)? = before[name], case .map(let new)? = after[name], !old.isEmpty, !new.isEmpty,
                before[name]?.vectorElements == nil, after[name]?.vectorElements == nil
            {
                compare(old, new, below: path + [name], &mask)
            } else {
                mask.append(FieldPath(segments: path + [name]))
            }
        }
    }
}
