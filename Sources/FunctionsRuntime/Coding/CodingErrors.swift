import StrictJSON

extension DecodingError {
    /// The error with its path in one sentence: `data.items[3].quantity: expected an integer, found a string`.
    package var explanation: String {
        switch self {
        case .keyNotFound(let key, let context):
            (context.codingPath + [key]).joinedPath + ": missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            Self.explain(context.codingPath, context.debugDescription)
        @unknown default: String(describing: self)
        }
    }

    fileprivate static func explain(_ path: [any CodingKey], _ reason: String) -> String {
        path.isEmpty ? reason : "\(path.joinedPath): \(reason)"
    }
}

extension EncodingError {
    /// The error with its path in one sentence: `result.price: JSON has no number for nan`.
    package var explanation: String {
        switch self {
        case .invalidValue(_, let context): DecodingError.explain(context.codingPath, context.debugDescription)
        @unknown default: String(describing: self)
        }
    }
}
