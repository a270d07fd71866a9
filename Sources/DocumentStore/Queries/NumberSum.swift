import DocumentModel

/// A sum of numbers that doesn't depend on their order: nothing is lost before the end.
struct NumberSum {
    private(set) var count = 0
    private var integers: Int128 = 0
    /// Doubles whose exact sum is that of all doubles; none overlaps another's digits.
    private var partials: [Double] = []
    /// The sum of what is infinite or no number.
    private var special: Double?
    private var hasDoubles = false

    /// Adds a field's value; what isn't a number counts for nothing.
    mutating func add(_ value: Value) {
        switch value {
        case .integer(let number): integers += Int128(number)
        case .double(let number):
            hasDoubles = true
            if number.isFinite { add(number) } else { special = (special ?? 0) + number }
        default: return
        }
        count += 1
    }

    /// An integer where all numbers are and it fits, else a double; 0 where there is none.
    var value: Value {
        if !hasDoubles, let sum = Int64(exactly: integers) { return .integer(sum) }
        return .double(double)
    }

    /// Null where there is none.
    var average: Value { count == 0 ? .null : .double(double / Double(count)) }

    private var double: Double {
        if let special { return special }
        var sum = self
        let nearest = Double(integers)
        sum.add(nearest)
        sum.add(Double(integers - Int128(nearest)))
        return sum.rounded
    }

    /// Shewchuk's sum: each addition's rounding error is kept as a partial of its own.
    private mutating func add(_ number: Double) {
        var number = number
        var kept: [Double] = []
        for partial in partials {
            let (large, small) = abs(number) < abs(partial) ? (partial, number) : (number, partial)
            let high = large + small
            // Beyond what a double can hold.
            guard high.isFinite else {
                special = (special ?? 0) + high
                return
            }
            let low = small - (high - large)
            if low != 0 { kept.append(low) }
            number = high
        }
        partials = kept + [number]
    }

    /// The partials' sum, rounded once.
    private var rounded: Double {
        var rest = partials
        guard var high = rest.popLast() else { return 0 }
        var low = 0.0
        while let next = rest.popLast() {
            let sum = high + next
            low = next - (sum - high)
            high = sum
            if low != 0 { break }
        }
        // Half-way cases round to where the partials left over point.
        if let next = rest.last, (low < 0 && next < 0) || (low > 0 && next > 0) {
            let twice = low * 2
            let sum = high + twice
            if sum - high == twice { high = sum }
        }
        return high
    }
}
