import DocumentModel
@testable import DocumentStore
import Testing

/// Keeps a listener's result as a client would, from its events alone.
struct Follower {
    let listener: DocumentListener
    private(set) var documents: [DocumentPath: Document] = [:]
    private(set) var time: Timestamp?
    private(set) var startedOver: String?

    init(_ listener: DocumentListener, documents: [DocumentPath: Document] = [:]) {
        self.listener = listener
        self.documents = documents
    }

    /// - Returns: the event; nil at the listener's end.
    @discardableResult
    mutating func step() async throws -> ListenEvent? {
        guard let event = try await listener.next() else { return nil }
        switch event {
        case .initial(let documents, _):
            for document in documents { self.documents[document.path] = document }
        case .changes(let changes, _):
            for change in changes {
                switch change {
                case .added(let document):
                    #expect(documents.updateValue(document, forKey: document.path) == nil)
                case .modified(let document):
                    let old = documents.updateValue(document, forKey: document.path)
                    #expect(old != nil && old != document)
                case .removed(let document, _, _): #expect(documents.removeValue(forKey: document.path) == document)
                }
            }
        case .count(let count, _): #expect(count == documents.count)
        case .startOver(let reason): startedOver = reason
        }
        if let time, let next = event.time { #expect(next >= time) }
        time = event.time ?? time
        return event
    }

    /// Follows until all up to a commit's time is known.
    mutating func catchUp(to time: Timestamp, of store: DocumentStore) async throws {
        if self.time == nil { try await step() }
        while startedOver == nil, listener.currentTime.map({ $0 < time }) ?? true {
            // Once the thread is there, either an event waits or there is none.
            while store.listeners.position < time { await Task.yield() }
            if let now = listener.currentTime, now >= time { return }
            guard try await step() != nil else { return }
        }
    }
}
