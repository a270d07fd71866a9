import Synchronization

/// Numbers invocations across all loops. A number is never reused while the process lives.
package final class InvocationIDSource: Sendable {

    package init() {}
    private let last = Atomic<UInt64>(0)

    func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}

/// Ids of executions, for people and logs: they differ across restarts of the host and aren't secret.
package enum ExecutionID {
    private static let counter = Atomic<UInt64>(UInt64.random(in: .min ... .max))

    /// Twelve characters: short enough to read out, and to need no allocation. A counter is mixed instead of drawing
    /// random bytes, which would be a system call.
    package static func next() -> String {
        var bits = counter.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        bits ^= bits >> 31
        return String(unsafeUninitializedCapacity: 12) { bytes in
            for index in 0..<12 {
                bytes[index] = alphabet[Int(bits & 31)]
                bits >>= 5
            }
            return 12
        }
    }

    private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
}
