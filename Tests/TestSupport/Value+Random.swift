package import DocumentModel

extension Value {
    /// A value of any kind, from few enough that many are equal or nearly so.
    package static func random(using generator: inout SeededGenerator, depth: Int = 0) -> Value {
        let texts = ["", "a", "ab", "b", "é", "e\u{301}", "\u{0}", "\u{1}", "a\u{0}", "a\u{0}b", "\u{FFFF}", "😀", "z"]
        let integers: [Int64] = [0, 1, -1, 2, .max, .max - 1, .min, .min + 1, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1]
        let doubles: [Double] = [
            0, -0.0, 1, 1.5, -1.5, .nan, .infinity, -.infinity, 0x1p53, 0x1p63, -0x1p63, .leastNonzeroMagnitude,
            1e300,
        ]
        switch Int.random(in: 0..<(depth < 3 ? 13 : 10), using: &generator) {
        case 0: return .null
        case 1: return .boolean(Bool.random(using: &generator))
        case 2, 3: return .integer(integers.randomElement(using: &generator) ?? 0)
        case 4, 5: return .double(doubles.randomElement(using: &generator) ?? 0)
        case 6: return .timestamp(Timestamp(microseconds: Int64.random(in: -3...3, using: &generator)))
        case 7: return .string(texts.randomElement(using: &generator) ?? "")
        case 8:
            return .bytes(
                (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                    UInt8.random(in: 0...3, using: &generator)
                })
        case 9:
            return .geoPoint(GeoPoint(latitude: .random(in: -2...2, using: &generator).rounded(), longitude: 1))
        case 10:
            return .array(
                (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                    random(using: &generator, depth: depth + 1)
                })
        case 11:
            let count = Int.random(in: 0...3, using: &generator)
            return .map(
                Dictionary(
                    (0..<count).map { _ in
                        (texts.randomElement(using: &generator) ?? "", random(using: &generator, depth: depth + 1))
                    }, uniquingKeysWith: { $1 }))
        default:
            let elements = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                Value.double(.random(in: -1...1, using: &generator).rounded())
            }
            return .map(["__type__": .string("__vector__"), "value": .array(elements)])
        }
    }
}
