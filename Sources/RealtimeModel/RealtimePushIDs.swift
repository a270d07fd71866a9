/// Generates the keys of list items, which sort by the time of their creation.
///
/// A key has 20 characters of `-0…9A…Z_a…z`: eight of the milliseconds since 1970, most significant first, and twelve
/// random ones. Within a millisecond the random part is the last one plus 1.
package struct RealtimePushIDs: Sendable {
    private var milliseconds: Int64 = -1
    /// Each below 64.
    private var random = [UInt8](repeating: 0, count: 12)

    private static let alphabet = Array("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz".utf8)

    package init() {}

    /// The next key, which sorts after all earlier ones, also if the clock is set back.
    ///
    /// - Parameter now: milliseconds since 1970.
    package mutating func next(
        now: Int64, using generator: inout some RandomNumberGenerator
    ) -> RealtimeKey {
        if now > milliseconds || !increment() {
            milliseconds = Swift.max(now, milliseconds + 1)
            for index in random.indices { random[index] = UInt8.random(in: 0..<64, using: &generator) }
        }
        var key: [UInt8] = []
        key.reserveCapacity(20)
        for shift in stride(from: 42, through: 0, by: -6) {
            key.append(Self.alphabet[Int(milliseconds >> Int64(shift)) & 63])
        }
        for value in random { key.append(Self.alphabet[Int(value)]) }
        return RealtimeKey(unchecked: String(decoding: key, as: UTF8.self))
    }

    /// - Returns: False if the random part was the largest one.
    private mutating func increment() -> Bool {
        for index in random.indices.reversed() {
            if random[index] < 63 {
                random[index] += 1
                return true
            }
            random[index] = 0
        }
        return false
    }
}
