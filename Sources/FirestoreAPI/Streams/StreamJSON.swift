import DocumentModel
import DocumentStore
import FirestoreJSON
import StrictJSON
import TextFormats

/// The messages of streams in Firestore's JSON format.
struct StreamJSON {
    let database: DatabaseID

    // MARK: Listen

    func listenRequest(_ node: JSONNode) throws(JSONProblem) -> ListenRequest {
        var request: ListenRequest?
        for member in try node.members() {
            switch member.key {
            case "database": break
            case "addTarget": request = .add(try target(member.value))
            case "removeTarget": request = .remove(try member.value.targetID())
            case "labels": break
            default: throw member.unknown
            }
        }
        guard let request else { throw node.problem("a message of Listen needs addTarget or removeTarget") }
        return request
    }

    private func target(_ node: JSONNode) throws(JSONProblem) -> ListenTargetRequest {
        var request = ListenTargetRequest(
            id: 0, target: .failure(.invalidArgument("a target needs a query or documents")))
        var refusal: DocumentError?
        for member in try node.members() {
            switch member.key {
            case "targetId": request.id = try member.value.targetID()
            case "query": request.target = result(member.value, { value throws(JSONProblem) in try query(value) })
            case "documents":
                request.target = result(member.value, { value throws(JSONProblem) in try documents(value) })
            case "resumeToken":
                request.resume(from: try member.value.bytes())
            case "readTime":
                do throws(JSONProblem) {
                    request.position = try member.value.timestamp().truncatedToMicroseconds
                } catch {
                    refusal = .invalidArgument("readTime: \(error.message)")
                }
            case "once": request.isOnce = try member.value.boolean()
            case "expectedCount": request.isCounted = true
            // A kind of target of a later SDK. If the stream ended, the SDK would send it again in each other one.
            default: refusal = .invalidArgument("\(member.key.prefix(100)): \(member.unknown.message)")
            }
        }
        if let refusal { request.target = .failure(refusal) }
        return request
    }

    /// A target that is invalid is refused by itself; the stream goes on.
    private func result(
        _ node: JSONNode, _ read: (JSONNode) throws(JSONProblem) -> ListenTarget
    ) -> Result<ListenTarget, DocumentError> {
        do throws(JSONProblem) { return .success(try read(node)) } catch {
            return .failure(.invalidArgument(error.message))
        }
    }

    private func query(_ node: JSONNode) throws(JSONProblem) -> ListenTarget {
        guard let parent = node["parent"], let structured = node["structuredQuery"] else {
            throw node.problem("a query target needs parent and structuredQuery")
        }
        let query = try structured.structuredQuery(parent: try self.parent(parent))
        do throws(DocumentError) { try database.check(query) } catch { throw structured.problem(error.message) }
        return .query(query)
    }

    private func parent(_ node: JSONNode) throws(JSONProblem) -> DocumentPath? {
        let text = try node.string()
        if text == database.documentsRoot { return nil }
        return try RESTWriteReader(database: database).path(node)
    }

    private func documents(_ node: JSONNode) throws(JSONProblem) -> ListenTarget {
        var paths: Set<DocumentPath> = []
        for name in try node["documents"]?.elements() ?? [] {
            paths.insert(try RESTWriteReader(database: database).path(name))
        }
        guard (1...ListenTargetRequest.maxDocuments).contains(paths.count) else {
            throw node.problem("a target has 1 to \(ListenTargetRequest.maxDocuments) documents")
        }
        return .documents(paths)
    }

    func text(_ response: ListenResponse) -> JSONWriter {
        var text = JSONWriter()
        switch response {
        case .targets(let change, let targets, let cause, let position):
            text.raw("{\"targetChange\":{")
            // As protobuf's JSON, without the default value.
            if let name = change.wireName {
                text.raw("\"targetChangeType\":")
                text.string(name)
                text.raw(",")
            }
            text.raw("\"targetIds\":")
            text.integers(targets)
            if let cause {
                member(&text, "cause") { text in
                    text.raw("{\"code\":")
                    text.integer(cause.code.rawValue)
                    text.raw(",\"message\":")
                    text.string(cause.message)
                    text.raw("}")
                }
            }
            if let position {
                member(&text, "resumeToken") { $0.string(Base64.encode(ResumeToken.bytes(of: position))) }
                member(&text, "readTime") { $0.string(position.rfc3339) }
            }
            text.raw("}}")
        case .snapshot(let time):
            text.raw("{\"targetChange\":{\"targetIds\":[],\"readTime\":")
            text.string(time.rfc3339)
            text.raw("}}")
        case .change(let document, let targets, let removed):
            text.raw("{\"documentChange\":{\"document\":")
            text.document(document, in: database)
            if !targets.isEmpty { member(&text, "targetIds") { $0.integers(targets) } }
            if !removed.isEmpty { member(&text, "removedTargetIds") { $0.integers(removed) } }
            text.raw("}}")
        case .delete(let path, let removed, let time):
            text.raw("{\"documentDelete\":")
            gone(&text, path, removed, time)
        case .remove(let path, let removed, let time):
            text.raw("{\"documentRemove\":")
            gone(&text, path, removed, time)
        case .filter(let target, let count):
            text.raw("{\"filter\":{\"targetId\":")
            text.integer(target)
            text.raw(",\"count\":")
            text.integer(count)
            text.raw("}}")
        }
        return text
    }

    private func gone(_ text: inout JSONWriter, _ path: DocumentPath, _ removed: [Int32], _ time: Timestamp) {
        text.raw("{\"document\":")
        text.name(path, in: database)
        member(&text, "removedTargetIds") { $0.integers(removed) }
        member(&text, "readTime") { $0.string(time.rfc3339) }
        text.raw("}}")
    }

    private func member(_ text: inout JSONWriter, _ name: StaticString, _ value: (inout JSONWriter) -> Void) {
        text.raw(",\"")
        text.raw(name)
        text.raw("\":")
        value(&text)
    }

    // MARK: Write

    func writeRequest(_ node: JSONNode) throws(JSONProblem) -> WriteStreamRequest {
        var request = WriteStreamRequest(hasDatabase: false)
        for member in try node.members() {
            switch member.key {
            case "database": request.hasDatabase = true
            case "streamToken", "streamId", "labels": break
            case "writes": request.writes = try RESTWriteReader(database: database).writes(member.value)
            default: throw member.unknown
            }
        }
        return request
    }

    func text(_ response: WriteStreamResponse) -> JSONWriter {
        var text = JSONWriter()
        text.raw("{\"streamToken\":")
        text.string(Base64.encode(response.token))
        if let id = response.streamID { member(&text, "streamId") { $0.string(id) } }
        if let result = response.result {
            if !result.writeResults.isEmpty {
                member(&text, "writeResults") { $0.array(result.writeResults) { $0.writeResult($1) } }
            }
            member(&text, "commitTime") { $0.string(result.commitTime.rfc3339) }
        }
        text.raw("}")
        return text
    }

    // MARK: Errors

    func text(_ error: DocumentError) -> JSONWriter {
        var text = JSONWriter()
        text.raw("{\"error\":{\"message\":")
        text.string(error.message)
        text.raw(",\"status\":")
        text.string(error.code.wireName)
        text.raw("}}")
        return text
    }

    /// Why the database that a message names isn't served; nil if it is, or the message names none.
    func refusal(of message: JSONNode) throws(JSONProblem) -> DocumentError? {
        guard let name = try message["database"]?.string() else { return nil }
        do throws(DocumentError) { try database.check(name) } catch { return error }
        return nil
    }
}

extension ListenResponse.TargetChange {
    fileprivate var wireName: String? {
        switch self {
        case .noChange: nil
        case .add: "ADD"
        case .remove: "REMOVE"
        case .current: "CURRENT"
        case .reset: "RESET"
        }
    }
}

extension JSONNode {
    fileprivate func targetID() throws(JSONProblem) -> Int32 {
        guard let id = Int32(exactly: try integer()) else { throw problem("\(summary) is not a target's id") }
        return id
    }
}

extension JSONWriter {
    fileprivate mutating func integers(_ values: [Int32]) { array(values) { $0.integer($1) } }
}
