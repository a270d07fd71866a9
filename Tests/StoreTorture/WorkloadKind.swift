import DocumentModel
import TestSupport

/// One kind of transaction: reads, and the writes that follow from what was read.
enum WorkloadKind: CaseIterable {
    case transfer, fromRichToPoor, duty, book, bookCounting, cancel, count, audit

    func writes(
        _ attempt: inout WorkloadAttempt, _ random: inout SeededGenerator
    ) async throws(DocumentError) -> [Write] {
        switch self {
        case .transfer:
            let from = Bookings.path("accounts/a\(Int.random(in: 0..<Bookings.accounts, using: &random))")
            let to = Bookings.path("accounts/a\(Int.random(in: 0..<Bookings.accounts, using: &random))")
            let (giver, taker) = (try await attempt.get(from), try await attempt.get(to))
            return move(giver, taker, &random)
        case .fromRichToPoor:
            var query = Query(collectionID: "accounts")
            query.filter = Bookings.equal("group", .integer(.random(in: 0..<Int64(Bookings.groups), using: &random)))
            query.orderBy = [Query.Order(Bookings.field("balance"), descending: true)]
            query.limit = 1
            let rich = try await attempt.query(query)
            query.filter = nil
            query.orderBy = [Query.Order(Bookings.field("balance"))]
            return move(rich.first, try await attempt.query(query).first, &random)
        case .duty: return try await duty(&attempt, &random)
        case .book, .bookCounting: return try await book(&attempt, &random)
        case .cancel:
            var query = Query(collectionID: "bookings", allDescendants: true)
            query.filter = .field(
                Bookings.field("hour"), .greaterThanOrEqual, .integer(.random(in: 0..<8, using: &random)))
            query.orderBy = [Query.Order(Bookings.field("hour"), descending: .random(using: &random))]
            query.limit = .random(in: 1...3, using: &random)
            return try await attempt.query(query).map {
                Write(path: $0.path, operation: .delete, precondition: .exists(true))
            }
        case .count:
            let path = Bookings.path("counters/c\(Int.random(in: 0..<Bookings.counters, using: &random))")
            let number = Bookings.integer(try await attempt.get(path), "n")
            return [Bookings.update(path, ["n": .integer(number + 1)])]
        case .audit:
            let query = Query(collectionID: "accounts")
            let values = try await attempt.aggregate(
                query, [.sum(Bookings.field("balance")), .count(upTo: nil), .average(Bookings.field("balance"))])
            let path = Bookings.path("audits/last")
            return [Write(path: path, operation: .set(["total": values.first ?? .null]))]
        }
    }

    private func move(_ giver: Document?, _ taker: Document?, _ random: inout SeededGenerator) -> [Write] {
        guard let giver, let taker, giver.path != taker.path else { return [] }
        let has = Bookings.integer(giver, "balance")
        guard has > 0 else { return [] }
        let amount = Int64.random(in: 1...min(has, 9), using: &random)
        return [
            Bookings.update(giver.path, ["balance": .integer(has - amount)]),
            Bookings.update(taker.path, ["balance": .integer(Bookings.integer(taker, "balance") + amount)]),
        ]
    }

    /// A member goes off duty only if another stays: two that do so at once are a write skew.
    private func duty(
        _ attempt: inout WorkloadAttempt, _ random: inout SeededGenerator
    ) async throws(DocumentError) -> [Write] {
        let group = Int.random(in: 0..<Bookings.groups, using: &random)
        var query = Query(collectionID: "people")
        query.filter = .and([
            Bookings.equal("group", .integer(Int64(group))), Bookings.equal("on", .boolean(true)),
        ])
        let person = Bookings.path("people/p\(group)-\(Int.random(in: 0..<Bookings.people, using: &random))")
        if random.once(in: 2) {
            let present = try await attempt.query(query)
            let goes = present.count > 1 && present.contains { $0.path == person }
            return [Bookings.update(person, ["on": .boolean(!goes)])]
        }
        guard case .integer(let count) = try await attempt.aggregate(query, [.count(upTo: nil)]).first else {
            return []
        }
        guard count > 1 else { return [Bookings.update(person, ["on": .boolean(true)])] }
        return [Bookings.update(person, ["on": .boolean(false)])]
    }

    /// Books a room that isn't booked: two that do so at once are phantoms to each other.
    private func book(
        _ attempt: inout WorkloadAttempt, _ random: inout SeededGenerator
    ) async throws(DocumentError) -> [Write] {
        let room = Bookings.path("rooms/r\(Int.random(in: 0..<Bookings.rooms, using: &random))")
        let hour = Value.integer(.random(in: 0..<Int64(Bookings.hours), using: &random))
        var query = Query(parent: room, collectionID: "bookings")
        query.filter = Bookings.equal("hour", hour)
        let isFree: Bool
        if self == .bookCounting {
            isFree = try await attempt.aggregate(query, [.count(upTo: 1)]).first == .integer(0)
        } else {
            query.limit = 1
            isFree = try await attempt.query(query).isEmpty
        }
        guard isFree else { return [] }
        let id = UInt64.random(in: 0 ... .max, using: &random)
        let path = Bookings.path("\(room)/bookings/\(id)")
        return [
            Write(
                path: path, operation: .set(["hour": hour, "room": .string(room.id)]),
                transforms: [FieldTransform(Bookings.field("at"), .serverTimestamp)], precondition: .exists(false))
        ]
    }
}
