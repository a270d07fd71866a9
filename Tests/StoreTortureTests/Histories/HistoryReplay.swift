import DocumentModel
import DocumentStore
import SecurityRules
import StoreTorture
import TestSupport
import WorkerProtocol

/// Does again what records tell of, in the order of their commits, and demands that each read was of the state just
/// before its commit: then the history is serializable, and no anomaly is possible in it.
struct HistoryReplay: Sendable {
    private(set) var state = ModelState()
    private(set) var time = Timestamp(microseconds: 0)
    private(set) var commits = 0
    private(set) var reads = 0
    /// How many of the commits were under rules.
    private(set) var underRules = 0

    /// Something that came about in no order of transactions one after the other.
    struct Anomaly: Error, CustomStringConvertible {
        var description: String
    }

    /// - Parameters:
    ///   - documents: all records since the last time.
    ///   - feed: what the store says that each commit changed, by its time.
    mutating func take(_ documents: [Document], feed: [Timestamp: [DocumentChange]]) throws {
        guard feed.count == documents.count else {
            throw Anomaly(description: "the feed has \(feed.count) commits, and \(documents.count) left records")
        }
        var moments: [(time: Timestamp, isRead: Bool, act: (inout HistoryReplay) throws -> Void)] = []
        for document in documents {
            let record = try HistoryRecord(document)
            let time = document.updateTime
            moments.append((time, false, { try $0.commit(record, of: document, feed[time]) }))
            for read in record.reads {
                guard let readTime = read.time else { continue }
                guard readTime < time else { throw Anomaly(description: "\(document.path) read at \(readTime)") }
                moments.append((readTime, true, { try $0.check(read, of: document) }))
            }
        }
        // Reads of a time see the commit of that time.
        moments.sort { $0.time == $1.time ? !$0.isRead && $1.isRead : $0.time < $1.time }
        for moment in moments { try moment.act(&self) }
    }

    /// - Parameter documents: all that the store has, without records.
    func compare(_ documents: [Document]) throws {
        let found = Dictionary(uniqueKeysWithValues: documents.map { ($0.path, $0) })
        for path in Set(found.keys).union(state.documents.keys) where found[path] != state.documents[path] {
            throw Anomaly(
                description: "\(path) is \(String(describing: found[path])), and should be "
                    + "\(String(describing: state.documents[path]))")
        }
    }

    private mutating func commit(
        _ record: HistoryRecord, of document: Document, _ changes: [DocumentChange]?
    ) throws {
        guard document.updateTime > time else {
            throw Anomaly(description: "\(document.path) committed at \(document.updateTime), not after \(time)")
        }
        guard document.updateTime > record.after else {
            throw Anomaly(
                description: "\(document.path) committed at \(document.updateTime), and began when "
                    + "\(record.after) was answered")
        }
        for read in record.reads where read.time == nil { try check(read, of: document) }
        let outcome = state.applying(record.writes, at: document.updateTime)
        guard outcome.refusals.isEmpty else {
            throw Anomaly(description: "\(document.path) committed what is refused: \(outcome.refusals)")
        }
        var expected = outcome.state.changes(since: state)
        expected.append(ModelChange(path: document.path, before: nil, after: document))
        let found = changes?.map { ModelChange(path: $0.path, before: $0.before, after: $0.after) }
        guard found.map(Set.init) == Set(expected) else {
            throw Anomaly(
                description: "\(document.path) should have made \(expected), and the feed has \(found as Any)")
        }
        if let requestTime = record.requestTime {
            try checkDecisions(on: record.writes, of: document, at: requestTime, after: outcome.state)
        }
        state = outcome.state
        time = document.updateTime
        commits += 1
        try checkInvariants(after: document)
    }

    private mutating func check(_ read: HistoryRecord.Read, of document: Document) throws {
        reads += 1
        let isSame: Bool
        switch (read.request, read.response) {
        case (.get(let paths, _), .documents(let found, _)): isSame = found == paths.map { state.documents[$0] }
        case (.query(let query, _), .results(let found, _)): isSame = found == ModelQuery(query).run(in: state)
        case (.aggregate(let query, let fields, _), .aggregated(let found, _)):
            let expected = ModelQuery(query).aggregate(fields, in: state)
            isSame = found.count == expected.count && zip(found, expected).allSatisfy { ModelQuery.isSame($0, $1) }
        default: isSame = false
        }
        guard isSame else {
            throw Anomaly(
                description: "\(document.path), committed at \(document.updateTime), read what was not so at "
                    + "\(read.time ?? document.updateTime): \(read.request) answered \(read.response)")
        }
    }

    /// The rules allow each write of a client on the state just before its commit.
    private mutating func checkDecisions(
        on writes: [Write], of record: Document, at requestTime: Timestamp, after: ModelState
    ) throws {
        guard requestTime <= record.updateTime else {
            throw Anomaly(
                description: "\(record.path) was decided at \(requestTime), and committed at \(record.updateTime)")
        }
        underRules += 1
        let before = state.documents
        var after = after.documents
        after[record.path] = record
        let documents = RulesDocuments(before: { before[$0] }, after: { after[$0] })
        for path in writes.map(\.path) + [record.path] {
            let (old, new) = (before[path], after[path])
            let method: RulesMethods = new == nil ? .delete : old == nil ? .create : .update
            let request = RulesRequest(
                method, database: Gates.database.database, path: path.segments.map(String.init),
                auth: RulesRequest.auth(Gates.user), time: requestTime, resource: old, written: new)
            let decision = try Gates.rules.decide(request, documents)
            guard decision.isAllowed else {
                throw Anomaly(
                    description: "\(record.path) committed at \(record.updateTime) what the rules refuse for \(path): "
                        + decision.explanation)
            }
        }
    }

    /// What the transactions keep up between them.
    private func checkInvariants(after document: Document) throws {
        var money: Int64 = 0
        var onDuty: [Int64: Int] = [:]
        var booked: Set<String> = []
        for document in state.documents.values {
            switch document.path.parent.id {
            case "accounts": money += document.integer("balance")
            case "people":
                onDuty[document.integer("group"), default: 0] += document.fields["on"] == .boolean(true) ? 1 : 0
            case "bookings":
                guard booked.insert("\(document.path.parent)/\(document.integer("hour"))").inserted else {
                    throw Anomaly(description: "\(document.path) is a second booking of its hour")
                }
            default: break
            }
        }
        guard money == Int64(Bookings.accounts) * Bookings.balance, !onDuty.values.contains(0) else {
            throw Anomaly(description: "after \(document.path) there is \(money) of money, and on duty are \(onDuty)")
        }
    }
}

extension Document {
    fileprivate func integer(_ name: String) -> Int64 {
        guard case .integer(let number) = fields[name] else { return 0 }
        return number
    }
}
