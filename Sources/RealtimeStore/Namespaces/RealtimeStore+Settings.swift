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

    /// A setting of all namespaces that have it, by namespace.
    package func settings(_ name: String) async throws(RealtimeFailure) -> [String: [UInt8]] {
        try await change { _, storage in
            var found: [String: [UInt8]] = [:]
            try storage.scan(.tree, KeyRange(prefix: RowKind.setting.key(name)), reverse: false) { key, row in
                guard let namespace = RowKind.texts(2, in: key)?.texts.last else { return true }
                found[namespace] = Array(try SealedRow.open(row, at: key, "a setting of a database"))
                return true
            }
            return found
        }
    }
}
