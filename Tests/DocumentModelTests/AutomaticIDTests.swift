import Testing

@testable import DocumentModel

struct AutomaticIDTests {
    /// Gives the numbers of a list.
    private struct Numbers: RandomNumberGenerator {
        var left: [UInt64]
        mutating func next() -> UInt64 { left.removeFirst() }
    }

    /// A number whose six-bit parts are these, the first one lowest.
    private func number(_ parts: [UInt64]) -> UInt64 { parts.reversed().reduce(0) { $0 << 6 | $1 } }

    @Test func eachPartOfANumberIsALetterOrDigit() {
        var numbers = Numbers(left: [
            number([0, 25, 26, 51, 52, 61, 1, 2, 3, 4]), number([60, 59, 58, 57, 56, 55, 54, 53, 52, 51]),
        ])
        #expect(AutomaticID.make(using: &numbers) == "AZaz09BCDE876543210z")
        #expect(numbers.left.isEmpty)
    }

    /// So that each is as likely as any other.
    @Test func partsBeyondTheAlphabetArePassed() {
        let passed = number([62, 63, 62, 63, 62, 63, 62, 63, 62, 63])
        let letters = number([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        var numbers = Numbers(left: [passed, letters, passed, letters])
        #expect(AutomaticID.make(using: &numbers) == "ABCDEFGHIJABCDEFGHIJ")
        #expect(numbers.left.isEmpty)
    }

    @Test func noTwoAreTheSame() {
        let ids = (0..<10_000).map { _ in AutomaticID.make() }
        #expect(Set(ids).count == ids.count)
        #expect(ids.allSatisfy { $0.utf8.count == 20 && $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } })
        #expect(Set(ids.joined()).count == 62)
    }
}
