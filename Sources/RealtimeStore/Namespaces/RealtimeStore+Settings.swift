import DocumentModel
import RealtimeModel
import StorageEngine

/// Texts that are kept of a namespace beside its tree, such as the source of rules that were uploaded for it.
extension RealtimeStore {
    /// - Parameters:
    ///   - value: nil to delete the setting.
    ///   - completion: called once it is durable.
    package func set(
        _ name: String, to value: [UInt8]?, in namespace: String,
        completion: @escaping @Sendable (Result<Void, RealtimeFailure>) -> Void
    ) {
        change(
            { _, storage in
                let key = RowKind.setting.key(name, namespace)
                if let value {
                    try storage.put(.tree, key, SealedRow.seal(value, at: key))
                } else {
                    try storage.delete(.tree, key)
                }
            }, completion: completion)
    }

    /// A setting of all namespaces that have it, by namespace, and why it can't be read of others.
    package func settings(
        _ name: String
    ) async throws(RealtimeFailure) -> (found: [String: [UInt8]], damaged: [String: RealtimeFailure]) {
        try await change { _, storage -> (found: [String: [UInt8]], damaged: [String: RealtimeFailure]) in
            var found: [String: [UInt8]] = [:]
            var damaged: [String: RealtimeFailure] = [:]
            func skip(_ key: [UInt8], _ error: any Error) {
                if let namespace = RowKind.texts(2, in: key)?.texts.last {
                    damaged[namespace] = RealtimeFailure(from: error)
                }
            }
            let range = KeyRange(prefix: RowKind.setting.key(name))
            try storage.scan(.tree, range, damaged: { skip($0, $1) }) { key, row in
                guard let namespace = RowKind.texts(2, in: key)?.texts.last else { return true }
                do {
                    found[namespace] = Array(try SealedRow.open(row, at: key, "a setting of a database"))
                } catch {
                    skip(key, error)
                }
                return true
            }
            return (found, damaged)
        }
    }
}
