import NIOCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Caches verified tokens, so that a user's next call costs a hash and a comparison.
///
/// Two generations approximate a least-recently-used list. Hits and new tokens go to the young generation; once that
/// has half of the allowed count or bytes, the old generation is evicted and the young one becomes old. So recently
/// used tokens stay, a hit moves nothing else, and both count and bytes are bounded.
package final class VerifiedTokenCache: Sendable {
    private struct Entry {
        var text: [UInt8]
        var token: VerifiedToken

        var cost: Int { text.count + token.claims.readableBytes + 128 }
    }

    private struct Generations {
        /// By the hash of the token's text; a hit compares the text itself.
        var young: [Int: Entry] = [:]
        var old: [Int: Entry] = [:]
        var youngCost = 0

        mutating func insert(_ entry: Entry, _ hash: Int, maxCount: Int, maxBytes: Int) {
            if young.count >= maxCount / 2 || youngCost + entry.cost > maxBytes / 2 {
                old = young
                young = [:]
                youngCost = 0
            }
            if let replaced = young.updateValue(entry, forKey: hash) { youngCost -= replaced.cost }
            youngCost += entry.cost
        }
    }

    private let maxCount: Int
    private let maxBytes: Int
    private let generations = Mutex(Generations())

    /// - Parameter maxBytes: for texts and claims together, including the overhead of each entry.
    package init(maxCount: Int = 20_000, maxBytes: Int = 64 * 1024 * 1024) {
        self.maxCount = maxCount
        self.maxBytes = maxBytes
    }

    /// The claims of a token that was stored and hasn't expired.
    package func token(for text: UnsafeBufferPointer<UInt8>, now: Int64) -> VerifiedToken? {
        let hash = Self.hash(text)
        return generations.withLock { generations in
            if let entry = generations.young[hash] {
                return Self.isEqual(entry.text, text) && entry.token.expires > now ? entry.token : nil
            }
            guard let entry = generations.old[hash], Self.isEqual(entry.text, text), entry.token.expires > now else {
                return nil
            }
            generations.insert(entry, hash, maxCount: maxCount, maxBytes: maxBytes)
            return entry.token
        }
    }

    package func store(_ token: VerifiedToken, for text: UnsafeBufferPointer<UInt8>) {
        let entry = Entry(text: Array(text), token: token)
        guard entry.cost <= maxBytes / 2 else { return }
        let hash = Self.hash(text)
        generations.withLock { $0.insert(entry, hash, maxCount: maxCount, maxBytes: maxBytes) }
    }

    /// The hash is seeded randomly in each process, so that attackers can't prepare texts that collide.
    private static func hash(_ text: UnsafeBufferPointer<UInt8>) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(text))
        return hasher.finalize()
    }

    private static func isEqual(_ stored: [UInt8], _ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard stored.count == text.count, let start = text.baseAddress else { return false }
        return stored.withUnsafeBytes { bytes in
            bytes.baseAddress.map { memcmp($0, start, text.count) == 0 } ?? false
        }
    }
}
