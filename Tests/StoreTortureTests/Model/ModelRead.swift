import DocumentModel
import TestSupport
import WorkerProtocol

/// A read and what it answered.
struct ModelRead: Sendable {
    enum What: Hashable, Sendable {
        case documents([DocumentPath])
        case query(Query)
        case aggregation(Query, [AggregateField])

        func request(_ consistency: ReadConsistency) -> DocumentRequest {
            switch self {
            case .documents(let paths): .get(paths, consistency)
            case .query(let query): .query(query, consistency)
            case .aggregation(let query, let fields): .aggregate(query, fields, consistency)
            }
        }

        func answer(in state: ModelState) -> Answer {
            switch self {
            case .documents(let paths): .documents(paths.map { state.documents[$0] })
            case .query(let query): .results(ModelQuery(query).run(in: state))
            case .aggregation(let query, let fields):
                .values(
                    ModelQuery(query).aggregate(fields, in: state),
                    slack: ModelQuery(query).slack(of: fields, in: state))
            }
        }

        /// Whether a change may bear on the answer. The store may be careful, but not more than this.
        func concerns(_ change: ModelChange) -> Bool {
            switch self {
            case .documents(let paths): paths.contains(change.path)
            case .query(let query), .aggregation(let query, _):
                [change.before, change.after].contains { $0.map(ModelQuery(query).matches) ?? false }
            }
        }
    }

    enum Answer: Hashable, Sendable {
        case documents([Document?])
        case results([Document])
        /// - Parameter slack: by how much adding up in another order may differ.
        case values([Value], slack: Double)

        static func of(_ response: DocumentResponse) -> (Answer, Timestamp)? {
            switch response {
            case .documents(let documents, let time): (.documents(documents), time)
            case .results(let documents, let time): (.results(documents), time)
            case .aggregated(let values, let time): (.values(values, slack: 0), time)
            default: nil
            }
        }

        func isSame(as other: Answer) -> Bool {
            guard case .values(let a, let slackA) = self, case .values(let b, let slackB) = other else {
                return self == other
            }
            return a.count == b.count
                && zip(a, b).allSatisfy { ModelQuery.isSame($0, $1, slack: max(slackA, slackB)) }
        }
    }

    var what: What
    var answer: Answer
}
