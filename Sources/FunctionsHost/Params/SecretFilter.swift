import NIOCore
import WorkerProtocol

/// Takes the values of secrets out of what a worker writes.
///
/// It finds them as they are: one that was encoded, or cut in pieces, it doesn't know again. Values of less than eight
/// bytes stay, for they could be anything.
struct SecretFilter: Sendable {
    /// Long ones first: one may be a part of another.
    private let values: [[UInt8]]

    private static let leastBytes = 8
    private static let mark = "●●●"

    init(_ params: ParamValues) {
        var values: Set<[UInt8]> = []
        for secret in params.secrets.values {
            values.insert(Array(secret.utf8))
            // A secret of several lines, such as a key's file, is printed line by line.
            for line in secret.split(whereSeparator: \.isNewline) { values.insert(Array(line.utf8)) }
        }
        self.values = values.filter { $0.count >= Self.leastBytes }.sorted { ($0.count, $0[0]) > ($1.count, $1[0]) }
    }

    func filtered(_ text: String) -> String {
        guard let bytes = without(values, in: text.utf8) else { return text }
        return String(decoding: bytes, as: UTF8.self)
    }

    func filtered(_ buffer: ByteBuffer) -> ByteBuffer {
        without(values, in: buffer.readableBytesView).map { ByteBuffer(bytes: $0) } ?? buffer
    }

    /// - Returns: nil where none of them is there.
    private func without(_ values: [[UInt8]], in text: some Sequence<UInt8>) -> [UInt8]? {
        guard !values.isEmpty else { return nil }
        var bytes = Array(text)
        var isChanged = false
        for value in values {
            var start = 0
            while let found = Self.position(of: value, in: bytes, from: start) {
                bytes.replaceSubrange(found..<found + value.count, with: Self.mark.utf8)
                start = found + Self.mark.utf8.count
                isChanged = true
            }
        }
        return isChanged ? bytes : nil
    }

    private static func position(of value: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        guard bytes.count - start >= value.count else { return nil }
        for position in start...(bytes.count - value.count)
        where bytes[position] == value[0] && bytes[position..<position + value.count].elementsEqual(value) {
            return position
        }
        return nil
    }
}
