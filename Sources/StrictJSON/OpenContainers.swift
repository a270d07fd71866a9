/// The arrays and objects around a scanner's position, with the keys of those objects.
///
/// Both are on one stack: a word for each container, and above an object's word one for each of its keys.
struct OpenContainers: ~Copyable {
    private var words: UnsafeMutableBufferPointer<UInt64>
    private var isOwned = false
    private var count = 0
    /// The position of the innermost container's word.
    private var innermost = 0
    private(set) var depth = 0
    /// Whether the innermost container is an object.
    private(set) var isObject = false

    /// - Parameter words: The memory for the stack until it grows.
    init(startingIn words: UnsafeMutableBufferPointer<UInt64>) { self.words = words }

    deinit { if isOwned { words.deallocate() } }

    /// - Returns: False if the maximum depth is reached.
    mutating func push(isObject: Bool) -> Bool {
        guard depth < JSONScanner.maxDepth else { return false }
        append(UInt64(innermost) << 1 | (self.isObject ? 1 : 0))
        innermost = count - 1
        self.isObject = isObject
        depth += 1
        return true
    }

    mutating func pop() {
        count = innermost
        let word = words[count]
        innermost = Int(word >> 1)
        isObject = word & 1 == 1
        depth -= 1
    }

    /// - Parameter isPlain: Whether the key is ASCII without escapes, so that equal keys have equal bytes.
    mutating func addKey(at offset: Int, length: Int, isPlain: Bool) {
        append(Key(offset: offset, length: length, isPlain: isPlain).word)
    }

    private mutating func append(_ word: UInt64) {
        if count == words.count { grow() }
        words[count] = word
        count += 1
    }

    private mutating func grow() {
        let larger = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: words.count * 2)
        _ = larger.update(fromContentsOf: words)
        if isOwned { words.deallocate() }
        words = larger
        isOwned = true
    }
}

extension OpenContainers {
    /// The position and length of a key in one word.
    private struct Key {
        let word: UInt64

        private static let longest = 1 << 23 - 1

        init(word: UInt64) { self.word = word }

        init(offset: Int, length: Int, isPlain: Bool) {
            // A longer key is compared as a string.
            let isPlain = isPlain && length < Self.longest
            word = UInt64(offset) << 24 | UInt64(isPlain ? length : Self.longest) << 1 | (isPlain ? 1 : 0)
        }

        /// The offset of its quote.
        var offset: Int { Int(word >> 24) }
        var length: Int { Int(word >> 1) & Self.longest }
        var isPlain: Bool { word & 1 == 1 }

        /// Whether two plain keys are the same.
        @inline(__always)
        func equals(_ other: Key, in bytes: UnsafeRawBufferPointer) -> Bool {
            guard (word ^ other.word) & (1 << 24 - 1) == 0 else { return false }
            var (a, b, left) = (offset + 1, other.offset + 1, length)
            while left >= 8 {
                guard
                    bytes.loadUnaligned(fromByteOffset: a, as: UInt64.self)
                        == bytes.loadUnaligned(fromByteOffset: b, as: UInt64.self)
                else { return false }
                (a, b, left) = (a + 8, b + 8, left - 8)
            }
            while left > 0 {
                guard bytes[a] == bytes[b] else { return false }
                (a, b, left) = (a + 1, b + 1, left - 1)
            }
            return true
        }

        func hash(in bytes: UnsafeRawBufferPointer) -> UInt64 {
            let seed = Self.seed
            var hash = seed ^ UInt64(length)
            var (place, left) = (offset + 1, length)
            func mix(_ word: UInt64) {
                let product = (hash ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
                hash = product.high ^ product.low ^ seed
            }
            while left >= 8 {
                mix(bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
                (place, left) = (place + 8, left - 8)
            }
            if left > 0 {
                let end = place + left
                if end >= 8 {
                    let tail = bytes.loadUnaligned(fromByteOffset: end - 8, as: UInt64.self)
                    mix(UInt64(littleEndian: tail) >> UInt64(64 - 8 * left))
                } else {
                    mix((place..<end).reversed().reduce(0) { $0 << 8 | UInt64(bytes[$1]) })
                }
            }
            return hash ^ hash >> 32
        }

        /// Random for each process, so that clients can't construct keys that collide.
        private static let seed = UInt64.random(in: 1...UInt64.max) | 1
    }

    /// - Throws: `duplicateKey` if the innermost object contains a key twice.
    @inline(__always)
    func checkKeys(in bytes: UnsafeRawBufferPointer) throws(JSONSyntaxError) {
        guard count - innermost > 2 else { return }
        try checkSeveralKeys(in: bytes)
    }

    private func checkSeveralKeys(in bytes: UnsafeRawBufferPointer) throws(JSONSyntaxError) {
        let keys = UnsafeMutableBufferPointer(rebasing: words[(innermost + 1)..<count])
        guard keys.allSatisfy({ Key(word: $0).isPlain }) else { return try checkStrings(keys, in: bytes) }
        guard keys.count <= 8 else { return try checkHashes(keys, in: bytes) }
        for later in 1..<keys.count {
            for earlier in 0..<later where Key(word: keys[later]).equals(Key(word: keys[earlier]), in: bytes) {
                throw Self.duplicate(keys[later], keys[earlier])
            }
        }
    }

    private func checkHashes(
        _ keys: UnsafeMutableBufferPointer<UInt64>, in bytes: UnsafeRawBufferPointer
    ) throws(JSONSyntaxError) {
        // The table is at most half full.
        let mask = 1 << (Int.bitWidth - (keys.count * 2 - 1).leadingZeroBitCount) - 1
        let duplicate = withUnsafeTemporaryAllocation(of: UInt32.self, capacity: mask + 1) {
            table -> JSONSyntaxError? in
            table.initialize(repeating: 0)
            for index in keys.indices {
                let key = Key(word: keys[index])
                var slot = Int(truncatingIfNeeded: key.hash(in: bytes)) & mask
                while table[slot] != 0 {
                    let earlier = keys[Int(table[slot]) - 1]
                    if key.equals(Key(word: earlier), in: bytes) { return Self.duplicate(key.word, earlier) }
                    slot = (slot + 1) & mask
                }
                table[slot] = UInt32(index + 1)
            }
            return nil
        }
        if let duplicate { throw duplicate }
    }

    /// Compares keys with escapes or beyond ASCII as strings.
    private func checkStrings(
        _ keys: UnsafeMutableBufferPointer<UInt64>, in bytes: UnsafeRawBufferPointer
    ) throws(JSONSyntaxError) {
        var seen: [String: UInt64] = [:]
        seen.reserveCapacity(keys.count)
        for key in keys {
            var scanner = JSONScanner(bytes)
            scanner.position = Key(word: key).offset
            if let earlier = seen.updateValue(key, forKey: try scanner.string()) { throw Self.duplicate(key, earlier) }
        }
    }

    private static func duplicate(_ key: UInt64, _ earlier: UInt64) -> JSONSyntaxError {
        JSONSyntaxError(.duplicateKey(first: Key(word: earlier).offset), offset: Key(word: key).offset)
    }
}
