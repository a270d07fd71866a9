package import StorageEngine
package import DocumentModel

/// What is stored under an idempotency key that was used before.
package enum KeptAnswer: Hashable, Sendable {
    /// The response that the earlier call received.
    case answer([UInt8])
    /// The key was used with other data.
    case otherData
}

/// The response stored under an idempotency key, or that its work was begun.
///
/// The table holds each record under its key (after a 1), and the key under its expiry time (after a 2).
package struct CompletionRecord: Hashable {
    package private(set) var fingerprint: [UInt8]
    /// Microseconds since 1970.
    package private(set) var expires: Int64
    /// Nil if the work was begun and has no response.
    package private(set) var answer: [UInt8]?

    /// - Returns: nil if there is none, or it has expired.
    package static func find(_ key: CompletionKey, in storage: any StorageReader, at now: Timestamp) throws -> Self? {
        guard let bytes = try storage.get(.completions, storageKey(key)) else { return nil }
        let record = try decode(bytes)
        return record.expires > now.microseconds ? record : nil
    }

    /// The response to a caller with this key; nil if the work is still to be done.
    ///
    /// - Parameter room: what counts the response.
    package static func answer(
        to key: CompletionKey, in storage: any StorageReader, at now: Timestamp, within room: (any AnswerBytes)?
    ) throws -> KeptAnswer? {
        guard let record = try find(key, in: storage, at: now) else { return nil }
        guard record.fingerprint == key.fingerprint else { return .otherData }
        guard let answer = record.answer else { return nil }
        try room?.take(answer.count)
        return .answer(answer)
    }

    /// Stores the response, or without one that the work was begun.
    package static func store(
        _ answer: [UInt8]?, for key: CompletionKey, in storage: any StorageWriter, at now: Timestamp
    ) throws {
        let storageKey = storageKey(key)
        try remove(storageKey, from: storage)
        let kept = key.keptFor.components
        let expires = now.microseconds + kept.seconds * 1_000_000 + kept.attoseconds / 1_000_000_000_000
        var writer = ByteWriter(reservingCapacity: (answer?.count ?? 0) + 64)
        writer.write(blob: key.fingerprint)
        writer.write(signed: expires)
        if let answer { writer.write(blob: answer) }
        try storage.put(.completions, storageKey, writer.bytes)
        try storage.put(.completions, expiries.key(expires, of: storageKey), [])
    }

    package static func remove(_ key: CompletionKey, from storage: any StorageWriter) throws {
        try remove(storageKey(key), from: storage)
    }

    private static func remove(_ storageKey: [UInt8], from storage: any StorageWriter) throws {
        guard let old = try storage.get(.completions, storageKey) else { return }
        try storage.delete(.completions, expiries.key(try decode(old).expires, of: storageKey))
        try storage.delete(.completions, storageKey)
    }

    package static func decode(_ bytes: [UInt8]) throws(DecodingFailure) -> Self {
        var reader = ByteReader(bytes)
        var record = CompletionRecord(fingerprint: try reader.blob(), expires: try reader.signed(), answer: nil)
        if !reader.isAtEnd { record.answer = try reader.blob() }
        try reader.finish()
        return record
    }

    private static func storageKey(_ key: CompletionKey) -> [UInt8] {
        var bytes: [UInt8] = [1]
        KeyBytes.append(key.scope.utf8, to: &bytes)
        KeyBytes.append(key.key.utf8, to: &bytes)
        return bytes
    }

    static let expiries = ExpiryEntries(.completions, kind: 2)
}
