/// The id of a new document, in the format of Firestore's clients: twenty letters and digits, 119 bits, so that collisions
/// are negligible.
package enum AutomaticID {
    private static let length = 20
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    package static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        return make(using: &generator)
    }

    package static func make(using generator: inout some RandomNumberGenerator) -> String {
        String(unsafeUninitializedCapacity: length) { bytes in
            var count = 0
            // A number from the system costs a call of it, and has bits for ten letters.
            while count < length {
                var bits: UInt64 = generator.next()
                for _ in 0..<10 where count < length {
                    let index = Int(bits & 63)
                    bits >>= 6
                    // The last two numbers of six bits have no letter.
                    guard index < alphabet.count else { continue }
                    bytes[count] = alphabet[index]
                    count += 1
                }
            }
            return count
        }
    }
}
