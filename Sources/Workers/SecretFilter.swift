import FunctionManifest
import NIOCore
import StrictJSON

/// Removes the values of secrets from what a worker writes.
///
/// It finds them as they are; it doesn't recognize a secret that was encoded or split. Values of less than eight bytes
/// aren't removed, because they occur in ordinary text.
struct SecretFilter: Sendable {
    /// The longest first: one may be a part of another.
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
        guard let bytes = without(text.utf8) else { return text }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// - Returns: nil if the text isn't JSON any more: a secret of digits may be one of its numbers.
    func filtered(json: ByteBuffer) -> ByteBuffer? {
        guard let bytes = without(json.readableBytesView) else { return json }
        let isJSON = bytes.withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            do throws(JSONError) {
                scanner.skipSpace()
                try scanner.skipValue()
                try scanner.end()
                return true
            } catch {
                return false
            }
        }
        return isJSON ? ByteBuffer(bytes: bytes) : nil
    }

    /// - Parameter bytes: the beginning of a text, which may end with the first part of a secret.
    func filtered(beginning bytes: some Sequence<UInt8>) -> String {
        let bytes = Array(bytes)
        return String(decoding: without(bytes, isBeginning: true) ?? bytes, as: UTF8.self)
    }

    /// - Returns: nil if the text contains none of them.
    private func without(_ text: some Sequence<UInt8>, isBeginning: Bool = false) -> [UInt8]? {
        guard !values.isEmpty else { return nil }
        let bytes = Array(text)
        var found: [Range<Int>] = []
        for value in values {
            var start = 0
            while let position = Self.position(of: value, in: bytes, from: start) {
                found.append(position..<position + value.count)
                start = position + value.count
            }
            if isBeginning, let part = Self.part(of: value, endingIn: bytes) { found.append(part) }
        }
        guard !found.isEmpty else { return nil }
        var result: [UInt8] = []
        var end = 0
        for range in found.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            // A match may lie within another one, or overlap it.
            if range.lowerBound >= end {
                result += bytes[end..<range.lowerBound]
                result += Self.mark.utf8
            }
            end = max(end, range.upperBound)
        }
        return result + bytes[end...]
    }

    /// The longest first part of a value with which the bytes end.
    private static func part(of value: [UInt8], endingIn bytes: [UInt8]) -> Range<Int>? {
        let longest = min(value.count - 1, bytes.count)
        for start in bytes.count - longest..<bytes.count
        where bytes[start] == value[0] && bytes[start...].elementsEqual(value.prefix(bytes.count - start)) {
            return start..<bytes.count
        }
        return nil
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
