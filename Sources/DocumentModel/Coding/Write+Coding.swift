extension ByteWriter {
    public mutating func write(_ write: Write) {
        self.write(write.path)
        switch write.operation {
        case .set(let fields):
            self.write(byte: 1)
            self.write(fields: fields)
        case .update(let fields, let mask):
            self.write(byte: 2)
            self.write(fields: fields)
            self.write(mask) { $0.write($1) }
        case .delete: self.write(byte: 3)
        case .verify: self.write(byte: 4)
        }
        self.write(write.transforms) { $0.write($1) }
        switch write.precondition {
        case nil: self.write(byte: 0)
        case .exists(let exists):
            self.write(byte: 1)
            self.write(exists)
        case .updateTime(let time):
            self.write(byte: 2)
            self.write(time)
        }
    }

    mutating func write(_ transform: FieldTransform) {
        write(transform.field)
        switch transform.operation {
        case .serverTimestamp: write(byte: 1)
        case .increment(let value):
            write(byte: 2)
            write(value)
        case .maximum(let value):
            write(byte: 3)
            write(value)
        case .minimum(let value):
            write(byte: 4)
            write(value)
        case .arrayUnion(let values):
            write(byte: 5)
            write(values) { $0.write($1) }
        case .arrayRemove(let values):
            write(byte: 6)
            write(values) { $0.write($1) }
        }
    }
}

extension ByteReader {
    public mutating func write() throws(DecodingFailure) -> Write {
        let path = try path()
        let operation: Write.Operation
        switch try byte() {
        case 1: operation = .set(try fields())
        case 2:
            let fields = try fields()
            operation = .update(fields, mask: try list { reader throws(DecodingFailure) in try reader.fieldPath() })
        case 3: operation = .delete
        case 4: operation = .verify
        case let tag: throw DecodingFailure("unknown write tag \(tag)")
        }
        var write = Write(path: path, operation: operation)
        write.transforms = try list { reader throws(DecodingFailure) in try reader.transform() }
        switch try byte() {
        case 0: break
        case 1: write.precondition = .exists(try bool())
        case 2: write.precondition = .updateTime(try timestamp())
        case let tag: throw DecodingFailure("unknown precondition tag \(tag)")
        }
        return write
    }

    private mutating func transform() throws(DecodingFailure) -> FieldTransform {
        let field = try fieldPath()
        switch try byte() {
        case 1: return FieldTransform(field, .serverTimestamp)
        case 2: return FieldTransform(field, .increment(try value()))
        case 3: return FieldTransform(field, .maximum(try value()))
        case 4: return FieldTransform(field, .minimum(try value()))
        case 5:
            return FieldTransform(field, .arrayUnion(try list { reader throws(DecodingFailure) in try reader.value() }))
        case 6:
            return FieldTransform(
                field, .arrayRemove(try list { reader throws(DecodingFailure) in try reader.value() }))
        case let tag: throw DecodingFailure("unknown transform tag \(tag)")
        }
    }
}
