import DocumentModel
import FirestoreJSON
import StrictJSON

/// Reads a task in Cloud Tasks' JSON format.
///
/// A task is delivered to the function that its queue belongs to, so a URL of anything else is refused. Credentials for
/// the HTTP request are ignored, because the host makes no such request.
struct TaskReader {
    let queue: TaskQueuePath
    let now: Timestamp

    /// Headers that Cloud Tasks sets itself.
    private static let reservedHeaders: Set<String> = ["host", "content-length", "authorization", "user-agent"]
    private static let reservedPrefixes = ["x-cloudtasks-", "x-google-", "x-appengine-"]

    /// Reads the request body: the task and the fields beside it.
    func request(_ root: JSONNode) throws(JSONProblem) -> TaskDraft {
        var task: TaskDraft?
        for member in try root.members() {
            switch member.key {
            case "task": task = try draft(member.value)
            case "parent":
                guard try member.value.string() == "\(queue)" else {
                    throw member.value.problem("the parent is not the queue in the URL")
                }
            case "responseView": break
            default: throw member.unknown
            }
        }
        guard let task else { throw root.problem("a request needs its task") }
        return task
    }

    private func draft(_ node: JSONNode) throws(JSONProblem) -> TaskDraft {
        var draft = TaskDraft(queue: queue.queue, body: [])
        var hasRequest = false
        for member in try node.members() {
            switch member.key {
            case "name": draft.name = try name(member.value)
            case "scheduleTime":
                let time = try member.value.timestamp()
                try member.value.check { () throws(DocumentError) in
                    try DocumentLimits.check(scheduleTime: time, at: now)
                }
                draft.scheduleTime = time
            case "dispatchDeadline": draft.dispatchDeadline = try dispatchDeadline(member.value)
            case "httpRequest":
                (draft.body, draft.headers) = try request(in: member.value)
                hasRequest = true
            case "appEngineHttpRequest":
                throw member.value.problem("App Engine isn't supported; use httpRequest")
            default: throw member.unknown
            }
        }
        guard hasRequest else { throw node.problem("a task needs its httpRequest") }
        return draft
    }

    private func name(_ node: JSONNode) throws(JSONProblem) -> String {
        let text = try node.string()
        // The emulator's task names begin with a slash.
        let name = text.hasPrefix("/") ? text.dropFirst() : text[...]
        let prefix = queue.name(of: "")
        guard name.hasPrefix(prefix) else {
            throw node.problem("\(node.summary) is not the name of a task in this queue; write \(prefix)ID")
        }
        let id = String(name.dropFirst(prefix.count))
        try node.check { () throws(DocumentError) in try DocumentLimits.check(taskName: id) }
        return id
    }

    /// Reads a duration in protobuf's JSON format, rounded up to whole seconds.
    private func dispatchDeadline(_ node: JSONNode) throws(JSONProblem) -> Int {
        let text = try node.string()
        let number = text.dropLast()
        guard text.hasSuffix("s"), number.utf8.allSatisfy({ (48...57).contains($0) || $0 == UInt8(ascii: ".") }),
            let seconds = Double(number).flatMap({ Int(exactly: $0.rounded(.up)) })
        else { throw node.problem("\(node.summary) is not a dispatch deadline; write 15s … 1800s") }
        try node.check { () throws(DocumentError) in try DocumentLimits.check(dispatchDeadline: seconds) }
        return seconds
    }

    private func request(in node: JSONNode) throws(JSONProblem) -> (body: [UInt8], headers: [String: String]) {
        var body: [UInt8]?
        var headers: [String: String] = [:]
        for member in try node.members() {
            switch member.key {
            case "url": try checkURL(member.value)
            case "httpMethod":
                guard try isPost(member.value) else {
                    throw member.value.problem("\(member.value.summary) isn't supported; tasks are sent with POST")
                }
            case "headers": headers = try self.headers(member.value)
            case "body": body = try self.body(member.value)
            case "oidcToken", "oauthToken": _ = try member.value.members()
            default: throw member.unknown
            }
        }
        guard let body else { throw node.problem(#"a request needs its body, {"data":…} in base64"#) }
        return (body, headers)
    }

    /// An enum's value is its name or its number (protobuf's JSON). Google's library for Python sends numbers.
    private func isPost(_ node: JSONNode) throws(JSONProblem) -> Bool {
        if case .integer(let number) = node.kind { return number == 0 || number == 1 }
        return ["POST", "HTTP_METHOD_UNSPECIFIED"].contains(try node.string())
    }

    /// Accepts an empty URL, or one that ends with the function's name, as the URLs of functions do.
    private func checkURL(_ node: JSONNode) throws(JSONProblem) {
        let url = try node.string()
        let path = url.prefix { $0 != "?" && $0 != "#" }
        guard url.isEmpty || path.split(separator: "/").last == queue.queue[...] else {
            throw node.problem(
                "\(node.summary) is not the URL of \(queue.queue); tasks are delivered to the queue's own function, so "
                    + "omit the url")
        }
    }

    private func headers(_ node: JSONNode) throws(JSONProblem) -> [String: String] {
        var headers: [String: String] = [:]
        for member in try node.members() {
            let name = member.key.lowercased()
            let isToken = name.utf8.allSatisfy { (33...126).contains($0) && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
            guard !name.isEmpty, isToken else {
                throw JSONProblem(offset: member.offset, message: "\"\(member.key)\" is not a header name")
            }
            let value = try member.value.string()
            guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                throw member.value.problem("a header value must not contain line breaks or other control characters")
            }
            if Self.reservedHeaders.contains(name) { continue }
            if Self.reservedPrefixes.contains(where: name.hasPrefix) { continue }
            headers[member.key] = value
        }
        return headers
    }

    private func body(_ node: JSONNode) throws(JSONProblem) -> [UInt8] {
        let bytes = try node.bytes()
        let root: JSONNode
        do {
            root = try JSONNode(parsing: bytes)
        } catch {
            throw node.problem("the body is not JSON: \(error.message)")
        }
        guard case .object(let members) = root.kind, members.map(\.key) == ["data"] else {
            throw node.problem(#"the body of a task must be {"data":…} and nothing else"#)
        }
        return bytes
    }
}

extension JSONNode {
    /// Throws an exceeded limit as a problem at this node.
    fileprivate func check(_ limit: () throws(DocumentError) -> Void) throws(JSONProblem) {
        do throws(DocumentError) { try limit() } catch { throw problem(error.message) }
    }
}
