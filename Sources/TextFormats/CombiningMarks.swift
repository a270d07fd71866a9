/// The combining marks of a text, such as accents.
///
/// Swift takes texts for equal that differ in the order of such marks only. To compare or hash a text it sorts those
/// that follow one another, in a time that grows with the square of their number: the millions that fit into a request
/// take hours. So what clients send has a bound.
package enum CombiningMarks {
    /// How many may follow one another. Sorting them takes less than a millisecond, and languages have a few at most.
    package static let most = 1000

    /// Marks that consist of two, and aren't said to be marks themselves.
    private static let pairs: Set<UInt32> = [0x0F73, 0x0F75, 0x0F81]

    /// Whether no more than ``most`` follow one another.
    ///
    /// - Parameter text: UTF-8, perhaps with other bytes between texts.
    package static func areFew(in text: UnsafeRawBufferPointer) -> Bool {
        // Each takes two bytes at least.
        guard text.count > 2 * most else { return true }
        var (place, marks) = (0, 0)
        while place < text.count {
            let first = text[place]
            guard first >= 0xCC else {
                // Before U+0300. Most text is ASCII.
                let isASCII =
                    text.count - place >= 8
                    && text.loadUnaligned(fromByteOffset: place, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
                place += isASCII ? 8 : 1
                marks = 0
                continue
            }
            let count = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
            guard text.count - place >= count else { return true }
            switch first {
            // Greek, Cyrillic, ideographs and Hangul, of which long texts consist.
            case 0xCE...0xD1, 0xE4...0xE9, 0xEB...0xED:
                place += count
                marks = 0
                continue
            default: break
            }
            guard let scalar = scalar(in: text, at: place, count), isMark(scalar) else {
                place += 1
                marks = 0
                continue
            }
            place += count
            marks += 1
            guard marks <= most else { return false }
        }
        return true
    }

    package static func areFew(in text: String) -> Bool {
        guard text.utf8.count > 2 * most else { return true }
        var text = text
        return text.withUTF8 { areFew(in: UnsafeRawBufferPointer($0)) }
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.canonicalCombiningClass != .notReordered || pairs.contains(scalar.value)
    }

    /// - Returns: nil if the bytes aren't a character.
    private static func scalar(in text: UnsafeRawBufferPointer, at place: Int, _ count: Int) -> Unicode.Scalar? {
        var value = UInt32(text[place]) & (0x7F >> UInt32(count))
        for offset in 1..<count {
            let byte = text[place + offset]
            guard byte & 0xC0 == 0x80 else { return nil }
            value = value << 6 | UInt32(byte & 0x3F)
        }
        return Unicode.Scalar(value)
    }
}
