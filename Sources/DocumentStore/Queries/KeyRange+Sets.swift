import StorageEngine

extension KeyRange {
    func intersection(_ other: KeyRange) -> KeyRange {
        let lower = self.lower.lexicographicallyPrecedes(other.lower) ? other.lower : self.lower
        guard let upper, let otherUpper = other.upper else {
            return KeyRange(lower: lower, upper: self.upper ?? other.upper)
        }
        return KeyRange(lower: lower, upper: upper.lexicographicallyPrecedes(otherUpper) ? upper : otherUpper)
    }

    /// The range of the same keys after every byte of each key is inverted.
    ///
    /// No key may be a prefix of one of the bounds; this holds for bounds that end where a part of the key ends.
    var inverted: KeyRange {
        var range = KeyRange.all
        if let upper {
            // Nothing sorts after the last possible key.
            guard let lower = KeyBytes.successor(ofPrefix: upper.map { ~$0 }) else {
                return KeyRange(lower: [], upper: [])
            }
            range.lower = lower
        }
        if !lower.isEmpty { range.upper = KeyBytes.successor(ofPrefix: lower.map { ~$0 }) }
        return range
    }
}

extension [KeyRange] {
    /// The parts that both lists contain. Both must be ascending without overlaps, as is the result.
    func intersection(_ other: [KeyRange]) -> [KeyRange] {
        var result: [KeyRange] = []
        for range in self {
            for part in other {
                let common = range.intersection(part)
                if !common.isEmpty { result.append(common) }
            }
        }
        return result
    }

    /// The parts outside of a range.
    func subtracting(_ hole: KeyRange) -> [KeyRange] {
        var outside = [KeyRange(lower: [], upper: hole.lower)]
        if let upper = hole.upper { outside.append(KeyRange(lower: upper, upper: nil)) }
        return intersection(outside)
    }
}
