import StrictJSON

extension CompletionKey {
    /// The maximum number of values that are sorted, which takes some ms.
    private static let maxSortedValues = 20_000

    /// The key of a caller's call of a function.
    ///
    /// - Parameters:
    ///   - uid: nil for callers without a token, who share their keys.
    ///   - key: empty until the handler names it.
    ///   - fingerprint: that of the data.
    package init(function: String, uid: String?, key: String, fingerprint: [UInt8]) {
        self.init(scope: "\(function)/\(uid ?? "")", key: key, fingerprint: fingerprint)
    }

    /// The key of a caller's call of a function, with the fingerprint of the data.
    package init(
        function: String, uid: String?, key: String, data: UnsafeRawBufferPointer,
        hash: (UnsafeRawBufferPointer) -> [UInt8]
    ) {
        self.init(function: function, uid: uid, key: key, fingerprint: Self.fingerprint(of: data, hash: hash))
    }

    /// The fingerprint of a call's data.
    ///
    /// It doesn't depend on the order of keys in the data: SDKs may send it differently each time. Data of more than
    /// 20,000 values, or with a repeated key, is compared as it was sent.
    ///
    /// - Parameters:
    ///   - data: JSON.
    ///   - hash: the fingerprint of the data once its keys are in order.
    package static func fingerprint(
        of data: UnsafeRawBufferPointer, hash: (UnsafeRawBufferPointer) -> [UInt8]
    ) -> [UInt8] {
        let sorted = JSONNode.canonicalText(of: data, maxValues: maxSortedValues)
        return sorted.map { $0.withUnsafeBytes(hash) } ?? hash(data)
    }
}

extension DocumentError {
    /// The refusal of a key that a caller without a token sends to a function that doesn't ask for keys.
    package static let keyWithoutUser = DocumentError(
        .unauthenticated,
        "An Idempotency-Key requires a signed-in user, unless the function is transactional or has a key in its data.")
}
