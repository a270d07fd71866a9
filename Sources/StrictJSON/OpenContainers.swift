/// The arrays and objects around a scanner's position: one bit for each, the innermost last.
struct OpenContainers {
    /// The number of words that it needs.
    static let wordCount = JSONScanner.maxDepth / UInt64.bitWidth

    private let words: UnsafeMutableBufferPointer<UInt64>
    private(set) var depth = 0
    /// Whether the innermost container is an object.
    private(set) var isObject = false

    /// - Parameter words: Its memory, of ``wordCount`` words.
    init(in words: UnsafeMutableBufferPointer<UInt64>) {
        self.words = words
        words.initialize(repeating: 0)
    }

    /// - Returns: False if the maximum depth is reached.
    @inline(__always)
    mutating func push(isObject: Bool) -> Bool {
        guard depth < JSONScanner.maxDepth else { return false }
        let bit: UInt64 = 1 << UInt64(depth & 63)
        if isObject { words[depth >> 6] |= bit } else { words[depth >> 6] &= ~bit }
        self.isObject = isObject
        depth += 1
        return true
    }

    @inline(__always)
    mutating func pop() {
        depth -= 1
        let outer = max(depth - 1, 0)
        isObject = words[outer >> 6] >> UInt64(outer & 63) & 1 == 1
    }
}
