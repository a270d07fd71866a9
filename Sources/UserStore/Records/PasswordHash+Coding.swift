import DocumentModel

extension PasswordHash {
    init(from reader: inout ByteReader) throws(DecodingFailure) {
        scheme = try PasswordScheme(from: &reader)
        hash = try reader.blob()
        salt = try reader.blob()
    }

    func write(to writer: inout ByteWriter) {
        scheme.write(to: &writer)
        writer.write(blob: hash)
        writer.write(blob: salt)
    }
}

extension PasswordScheme {
    init(from reader: inout ByteReader) throws(DecodingFailure) {
        switch try reader.byte() {
        case 0:
            self = .scrypt(
                cost: try reader.size(), blockSize: try reader.size(), parallelism: try reader.size())
        case 1:
            self = .firebaseScrypt(
                signerKey: try reader.blob(), saltSeparator: try reader.blob(), rounds: try reader.size(),
                memoryCost: try reader.size())
        case 2: self = .hmac(try reader.choice(), key: try reader.blob(), order: try reader.choice())
        case 3: self = .digest(try reader.choice(), rounds: try reader.size(), order: try reader.choice())
        case 4: self = .pbkdf2(try reader.choice(), rounds: try reader.size())
        case 5: self = .bcrypt
        case 6:
            self = .argon2(
                Argon2Parameters(
                    variant: try reader.choice(), version: try reader.choice(), iterations: try reader.size(),
                    memoryKiB: try reader.size(), parallelism: try reader.size(), associatedData: try reader.blob()))
        case let kind: throw DecodingFailure("there is no password scheme \(kind)")
        }
    }

    func write(to writer: inout ByteWriter) {
        switch self {
        case .scrypt(let cost, let blockSize, let parallelism):
            writer.write(byte: 0)
            for number in [cost, blockSize, parallelism] { writer.write(count: number) }
        case .firebaseScrypt(let signerKey, let saltSeparator, let rounds, let memoryCost):
            writer.write(byte: 1)
            writer.write(blob: signerKey)
            writer.write(blob: saltSeparator)
            for number in [rounds, memoryCost] { writer.write(count: number) }
        case .hmac(let digest, let key, let order):
            writer.write(byte: 2)
            writer.write(byte: digest.rawValue)
            writer.write(blob: key)
            writer.write(byte: order.rawValue)
        case .digest(let digest, let rounds, let order):
            writer.write(byte: 3)
            writer.write(byte: digest.rawValue)
            writer.write(count: rounds)
            writer.write(byte: order.rawValue)
        case .pbkdf2(let digest, let rounds):
            writer.write(byte: 4)
            writer.write(byte: digest.rawValue)
            writer.write(count: rounds)
        case .bcrypt: writer.write(byte: 5)
        case .argon2(let parameters):
            writer.write(byte: 6)
            writer.write(byte: parameters.variant.rawValue)
            writer.write(byte: parameters.version.rawValue)
            for number in [parameters.iterations, parameters.memoryKiB, parameters.parallelism] {
                writer.write(count: number)
            }
            writer.write(blob: parameters.associatedData)
        }
    }
}

extension ByteReader {
    /// A number that isn't the count of bytes that follow.
    fileprivate mutating func size() throws(DecodingFailure) -> Int {
        guard let size = Int(exactly: try varint()) else { throw DecodingFailure("a number exceeds 63 bits") }
        return size
    }

    fileprivate mutating func choice<Choice: RawRepresentable<UInt8>>() throws(DecodingFailure) -> Choice {
        let raw = try byte()
        guard let choice = Choice(rawValue: raw) else { throw DecodingFailure("there is no choice \(raw)") }
        return choice
    }
}
