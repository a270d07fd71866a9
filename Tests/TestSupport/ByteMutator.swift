/// Changes bytes as damage or malice would: by bits and bytes, and by what formats are made of, such as numbers, lengths
/// and fields.
package struct ByteMutator: Sendable {
    package var random: SeededGenerator

    package init(_ random: SeededGenerator) { self.random = random }

    /// Numbers at the ends of their ranges, and just beyond those of other types.
    package static let extremes: [Int64] = [
        .min, .min + 1, .max, .max - 1, -1, 0, 1, 2, Int64(Int32.max), Int64(Int32.max) + 1, Int64(Int32.min),
        Int64(UInt32.max), 253_402_300_799_999_999, 253_402_300_800_000_000, -62_135_596_800_000_001,
        .max / 1000, .max / 1_000_000, 1 << 53, 1 << 60,
    ]

    /// The bytes with a few changes.
    ///
    /// - Parameter others: other bytes of the format, of which parts may be taken.
    package mutating func mutated(_ bytes: [UInt8], like others: [[UInt8]] = []) -> [UInt8] {
        var bytes = bytes
        for _ in 0...Int.random(in: 0...2, using: &random) { change(&bytes, others) }
        return bytes
    }

    private mutating func change(_ bytes: inout [UInt8], _ others: [[UInt8]]) {
        let place = Int.random(in: 0...bytes.count, using: &random)
        switch Int.random(in: 0..<14, using: &random) {
        case 0: if place < bytes.count { bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &random) }
        case 1: if place < bytes.count { bytes[place] = random.pick([0, 1, 2, 3, 0x7F, 0x80, 0xFE, 0xFF]) }
        case 2: if place < bytes.count { bytes[place] = .random(in: 0 ... .max, using: &random) }
        case 3: bytes.removeSubrange(place...)
        case 4: bytes.removeSubrange(..<place)
        case 5:
            bytes += (0..<Int.random(in: 1...24, using: &random)).map { _ in .random(in: 0 ... .max, using: &random) }
        case 6: bytes.insert(contentsOf: bytes[part(of: bytes)], at: place)
        case 7: bytes.removeSubrange(part(of: bytes))
        case 8: overwrite(&bytes, at: place, with: fixed(8))
        case 9: overwrite(&bytes, at: place, with: fixed(4))
        case 10: replaceVarint(&bytes, at: place)
        case 11:
            guard let other = others.randomElement(using: &random) else { return }
            bytes = Array(bytes[..<place] + other[part(of: other)])
        case 12:
            guard let other = others.randomElement(using: &random) else { return }
            bytes.insert(contentsOf: other[part(of: other)], at: place)
        default:
            // Something nested far deeper than anything real.
            guard random.once(in: 8), let byte = bytes.randomElement(using: &random) else { return }
            let pair = [byte, random.pick([byte, 1, 0xFF])]
            let count = random.pick([50, 2000, 100_000])
            bytes.insert(contentsOf: (0..<count).lazy.map { pair[$0 % 2] }, at: place)
        }
    }

    /// A short part of the bytes.
    private mutating func part(of bytes: [UInt8]) -> Range<Int> {
        let start = Int.random(in: 0...bytes.count, using: &random)
        return start..<Int.random(in: start...min(bytes.count, start + 40), using: &random)
    }

    /// A number at the end of its range, most significant byte first, maybe as keys have it.
    private mutating func fixed(_ width: Int) -> [UInt8] {
        var bits = UInt64(bitPattern: random.pick(Self.extremes))
        if random.once(in: 3) { bits ^= 1 << 63 }
        return stride(from: (width - 1) * 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: bits >> $0) }
    }

    private func overwrite(_ bytes: inout [UInt8], at place: Int, with new: [UInt8]) {
        bytes.replaceSubrange(place..<min(place + new.count, bytes.count), with: new)
    }

    /// Replaces what may be a number of seven bits a byte by one at the end of its range, signed or not.
    private mutating func replaceVarint(_ bytes: inout [UInt8], at place: Int) {
        var end = place
        while end < bytes.count, end < place + 9, bytes[end] >= 0x80 { end += 1 }
        let number = random.pick(Self.extremes)
        var rest = random.once(in: 2) ? UInt64(bitPattern: number) : UInt64(bitPattern: (number << 1) ^ (number >> 63))
        var new: [UInt8] = []
        while rest >= 0x80 {
            new.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        new.append(UInt8(rest))
        bytes.replaceSubrange(place..<min(end + 1, bytes.count), with: new)
    }
}
