@testable import RealtimeDatabaseClient
import RealtimeModel
import Testing

/// How a query is written, and what is asked for if REST can't say it.
@Suite struct RESTQueryTests {
    private typealias Bound = RealtimeQuery.Bound

    private func text(_ query: RealtimeQuery) -> String {
        let rest = RESTQuery(query)
        return rest.parameters(count: rest.firstCount).map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }

    @Test func anExactQueryIsWrittenAsItIs() throws {
        let start = Bound(value: 2, key: .minimum, isInclusive: true)
        let end = Bound(value: "x\"", key: .maximum, isInclusive: true)
        let query = RealtimeQuery(
            index: .child(try RealtimePath("a/b")), start: start, end: end, limit: .last(3))
        #expect(RESTQuery(query).isExact)
        #expect(text(query) == #"orderBy="a/b"&startAt=2&endAt="x\""&limitToLast=3"#)
        #expect(text(RealtimeQuery(index: .value, limit: .first(1))) == #"orderBy="$value"&limitToFirst=1"#)
        let key = Bound(value: nil, key: .key(try RealtimeKey("k")), isInclusive: true)
        #expect(text(RealtimeQuery(index: .key, start: key)) == #"orderBy="$key"&startAt="k""#)
        let null = Bound(value: nil, key: .maximum, isInclusive: true)
        #expect(text(RealtimeQuery(index: .priority, end: null)) == #"orderBy="$priority"&endAt=null"#)
        #expect(text(RealtimeQuery(index: .value)) == "")
    }

    @Test func whatCantBeSaidIsAskedForMoreWidely() throws {
        let key = RealtimeQuery.BoundKey.key(try RealtimeKey("k"))
        for bound in [
            Bound(value: 2, key: .maximum, isInclusive: true), Bound(value: 2, key: key, isInclusive: true),
            Bound(value: 2, key: key, isInclusive: false),
        ] {
            let query = RealtimeQuery(index: .value, start: bound, limit: .first(3))
            #expect(!RESTQuery(query).isExact)
            #expect(text(query) == #"orderBy="$value"&startAt=2&limitToFirst=4"#)
            // From the other end, the limit counts what was asked for alone.
            let last = RealtimeQuery(index: .value, start: bound, limit: .last(3))
            #expect(text(last) == #"orderBy="$value"&startAt=2&limitToLast=3"#)
        }
        let after = Bound(value: nil, key: key, isInclusive: false)
        #expect(
            text(RealtimeQuery(index: .key, end: after, limit: .last(1))) == #"orderBy="$key"&endAt="k"&limitToLast=2"#)
    }

    @Test func moreIsAskedForUntilEnoughIsFound() {
        let start = Bound(value: 2, key: .maximum, isInclusive: true)
        let query = RESTQuery(RealtimeQuery(index: .value, start: start, limit: .first(3)))
        #expect(query.nextCount(after: 4, received: 4, matching: 3) == nil)
        #expect(query.nextCount(after: 4, received: 3, matching: 2) == nil)
        #expect(query.nextCount(after: 4, received: 4, matching: 2) == 16)
        #expect(
            RESTQuery(RealtimeQuery(index: .value, start: start)).nextCount(after: nil, received: 9, matching: 0) == nil
        )
        let huge = RESTQuery(RealtimeQuery(index: .value, start: start, limit: .first(.max)))
        #expect(huge.nextCount(after: huge.firstCount, received: .max, matching: 0) == nil)
    }
}
