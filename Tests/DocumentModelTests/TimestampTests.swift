import DocumentModel
import Testing

/// Times at the ends of their range, which damaged data can contain.
struct TimestampTests {
    @Test(arguments: [
        Int64.min, .min + 1, -1_000_001, -1_000_000, -999_999, -1, 0, 1, 999_999, 1_000_000, .max - 1, .max,
    ])
    func microsecondsComeBack(microseconds: Int64) {
        #expect(Timestamp(microseconds: microseconds).microseconds == microseconds)
    }

    @Test(arguments: [Int64.min, .min + 1, -9_223_372_036_855, 9_223_372_036_855, .max])
    func secondsBeyond64BitsOfMicrosecondsAreTheNearest(seconds: Int64) {
        let time = Timestamp(seconds: seconds, nanoseconds: 999_999_999)
        #expect(time.microseconds == (seconds < 0 ? .min : .max) || abs(seconds) == 9_223_372_036_855)
        #expect(time.rfc3339 == (seconds < 0 ? "0001-01-01T00:00:00Z" : "9999-12-31T23:59:59Z"))
    }

    @Test func differencesAndSumsStayInTheirRange() {
        let (first, last) = (Timestamp(microseconds: .min), Timestamp(microseconds: .max))
        #expect(last.seconds(since: first) > 1.8e13)
        #expect(first.seconds(since: last) < -1.8e13)
        let now = Timestamp(seconds: 1_800_000_000, nanoseconds: 0)
        #expect(now.after(seconds: 1.5) == Timestamp(seconds: 1_800_000_001, nanoseconds: 500_000_000))
        for seconds in [1e300, .infinity, .nan] {
            #expect(now.after(seconds: seconds).rfc3339 == "9999-12-31T23:59:59Z")
        }
        for seconds in [-1e300, -.infinity] { #expect(now.after(seconds: seconds).rfc3339 == "0001-01-01T00:00:00Z") }
        #expect(first.after(seconds: 1).rfc3339 == "0001-01-01T00:00:00Z")
    }
}
