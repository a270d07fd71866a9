import Synchronization

/// Numbers invocations over all loops; a number names one invocation for the life of the process.
final class InvocationIDSource: Sendable {
    private let last = Atomic<UInt64>(0)

    func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}

enum ExecutionID {
    /// Twelve random characters: short enough to read out, and to need no allocation.
    static func random() -> String {
        var bits = UInt64.random(in: .min ... .max)
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
