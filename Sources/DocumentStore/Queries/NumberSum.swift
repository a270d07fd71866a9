import DocumentModel

/// A sum of numbers that doesn't depend on their order: it is only rounded at the end.
struct NumberSum {
    private(set) var count = 0
    private var integers: Int128 = 0
    /// Doubles whose exact sum is that of all doubles; their digits don't overlap.
    private var partials: [Double] = []
    /// The sum of the infinite and NaN values.
    private var special: Double?
    /// The first sum of finite values that exceeded the range of a double. What is added later doesn't bring it back.
    private var overflow: Double?
    private var hasDoubles = false

    /// Adds a field's value; values that aren't numbers are ignored.
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

    /// An integer if all numbers are integers and the sum fits, otherwise a double; 0 if there are no numbers.
    var value: Value {
        if !hasDoubles, let sum = Int64(exactly: integers) { return .integer(sum) }
        return .double(double)
    }

    /// Null if there are no numbers.
    var average: Value { count == 0 ? .null : .double(double / Double(count)) }

    private var double: Double {
        if let special = special ?? overflow { return special }
        var sum = self
        let nearest = Double(integers)
        sum.add(nearest)
        sum.add(Double(integers - Int128(nearest)))
        return sum.overflow ?? sum.rounded
    }

    /// Shewchuk's algorithm: the rounding error of each addition is kept as a separate partial.
    private mutating func add(_ number: Double) {
        var number = number
        var kept: [Double] = []
        for partial in partials {
            let (large, small) = abs(number) < abs(partial) ? (partial, number) : (number, partial)
            let high = large + small
            guard high.isFinite else {
                overflow = overflow ?? high
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
        // In a half-way case the remaining partials determine the direction of rounding.
        if let next = rest.last, (low < 0 && next < 0) || (low > 0 && next > 0) {
            let twice = low * 2
            let sum = high + twice
            if sum - high == twice { high = sum }
        }
        return high
    }
}
