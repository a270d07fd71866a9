import NIOCore

/// Reads two documents in a transaction and writes both. Each caller has its own documents.
struct TransactionCaller: Caller {
    private enum State {
        case beginning
        case reading(transaction: String)
        case committing
    }

    private let documents: Documents
    private let paths: [String]
    private var state = State.beginning
    private var count = 0

    init(_ documents: Documents, client: Int) {
        self.documents = documents
        paths = ["transactions/c\(client)-a", "transactions/c\(client)-b"]
    }

    mutating func next() -> ByteBuffer? {
        state = .beginning
        count += 1
        return documents.verb("beginTransaction", "{}")
    }

    mutating func received(_ answer: LoadResponse) -> Step {
        guard answer.status == 200 else { return .failed(answer.excerpt) }
        switch state {
        case .beginning:
            guard let transaction = answer.text(of: "transaction") else { return .failed(answer.excerpt) }
            state = .reading(transaction: transaction)
            let names = paths.map { "\"\(Documents.root)/\($0)\"" }.joined(separator: ",")
            return .ask(
                documents.verb("batchGet", #"{"documents":[\#(names)],"transaction":"\#(transaction)"}"#))
        case .reading(let transaction):
            state = .committing
            let writes = paths.map { Documents.set($0, Documents.product(count)) }
            return .ask(documents.commit(writes, transaction: transaction))
        case .committing:
            return .done
        }
    }
}

/// Sets a document of its own to a different value each time.
struct CommitCaller: Caller {
    private let documents: Documents
    private let path: String
    private var count = 0

    init(_ documents: Documents, client: Int) {
        self.documents = documents
        path = "commits/c\(client)"
    }

    mutating func next() -> ByteBuffer? {
        count += 1
        return documents.commit([Documents.set(path, Documents.product(count))])
    }

    mutating func received(_ answer: LoadResponse) -> Step { answer.status == 200 ? .done : .failed(answer.excerpt) }
}
