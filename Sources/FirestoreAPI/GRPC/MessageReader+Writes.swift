import DocumentModel
import FirestoreMessages

extension MessageReader {
    func writes(_ messages: [FSWrite]) throws(DocumentError) -> [Write] {
        var writes: [Write] = []
        writes.reserveCapacity(messages.count)
        for message in messages { writes.append(try write(message)) }
        return writes
    }

    private func write(_ message: FSWrite) throws(DocumentError) -> Write {
        let precondition =
            message.hasCurrentDocument ? try Self.precondition(message.currentDocument) : nil
        var write: Write
        switch message.operation {
        case .update(let document)?:
            let fields = try fields(document.fields)
            let operation: Write.Operation =
                message.hasUpdateMask ? .update(fields, mask: try Self.mask(message.updateMask)) : .set(fields)
            write = Write(path: try path(document.name), operation: operation)
        case .delete(let name)?: write = Write(path: try path(name), operation: .delete)
        case .verify(let name)?: write = Write(path: try path(name), operation: .verify)
        case .transform(let transform)?:
            guard !transform.fieldTransforms.isEmpty else { throw .invalidArgument("a transform has no fields") }
            write = Write(
                path: try path(transform.document), operation: .update([:], mask: []),
                transforms: try transforms(transform.fieldTransforms))
        case nil: throw .invalidArgument("a write has none of update, delete, verify and transform")
        }
        if message.hasUpdateMask {
            guard case .update? = message.operation else { throw .invalidArgument("only an update has an update_mask") }
        }
        write.transforms += try transforms(message.updateTransforms)
        write.precondition = precondition
        return write
    }

    /// A mask by itself isn't counted where a commit's cost is: as over REST, its own bound holds.
    static func mask(_ message: FSDocumentMask) throws(DocumentError) -> [FieldPath] {
        let limit = DocumentLimits.maxMaskPaths
        guard message.fieldPaths.count <= limit else {
            throw .invalidArgument("a mask has at most \(limit) paths, not \(message.fieldPaths.count)")
        }
        var paths: [FieldPath] = []
        paths.reserveCapacity(message.fieldPaths.count)
        for text in message.fieldPaths { paths.append(try fieldPath(text)) }
        return paths
    }

    static func precondition(_ message: FSPrecondition) throws(DocumentError) -> Write.Precondition? {
        switch message.conditionType {
        case .exists(let exists)?: .exists(exists)
        case .updateTime(let time)?: .updateTime(try timestamp(time))
        case nil: nil
        }
    }

    private func transforms(
        _ messages: [FSDocumentTransform.FieldTransform]
    ) throws(DocumentError) -> [FieldTransform] {
        var transforms: [FieldTransform] = []
        for message in messages {
            let operation: FieldTransform.Operation
            switch message.transformType {
            case .setToServerValue(.requestTime)?: operation = .serverTimestamp
            case .setToServerValue?: throw .invalidArgument("REQUEST_TIME is the only server value")
            case .increment(let number)?: operation = .increment(try self.number(number))
            case .maximum(let number)?: operation = .maximum(try self.number(number))
            case .minimum(let number)?: operation = .minimum(try self.number(number))
            case .appendMissingElements(let array)?: operation = .arrayUnion(try values(array.values))
            case .removeAllFromArray(let array)?: operation = .arrayRemove(try values(array.values))
            case nil: throw .invalidArgument("a transform has no operation")
            }
            transforms.append(FieldTransform(try Self.fieldPath(message.fieldPath), operation))
        }
        return transforms
    }

    private func number(_ message: FSValue) throws(DocumentError) -> Value {
        let value = try value(message)
        switch value {
        case .integer, .double: return value
        default: throw .invalidArgument("the operand of a transform must be a number")
        }
    }
}
