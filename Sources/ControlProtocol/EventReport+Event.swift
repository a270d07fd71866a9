package import DocumentModel
import FirestoreJSON
import StrictJSON
import TextFormats

extension EventReport {
    package init(_ event: Event, of database: DatabaseID) {
        id = "\(event.id)"
        time = event.time.rfc3339
        auth = Auth(type: event.auth.type.rawValue, id: event.auth.id)
        chain = event.chain
        switch event.content {
        case .document(let path, let before, let after):
            document = Document(
                path: path.string, before: before.map { JSONValue($0, in: database) },
                after: after.map { JSONValue($0, in: database) })
        case .reference(let change):
            reference = Reference(
                instance: change.instance, path: change.path, before: change.before.map { Payload($0) },
                changes: change.settings.map { Reference.Setting(path: $0.target, value: $0.value.map { Payload($0) }) }
            )
        case .schedule(let job, let isManual):
            schedule = Schedule(job: job, isManual: isManual)
        case .task(let task):
            self.task = Task(
                queue: task.queue, name: task.name, headers: task.headers, scheduleTime: task.scheduleTime?.rfc3339,
                dispatchDeadline: task.dispatchDeadline, body: Payload(task.body))
        case .custom(let event):
            custom = Custom(
                id: event.id, type: event.type, source: event.source, subject: event.subject,
                time: event.time?.rfc3339, dataContentType: event.dataContentType, dataSchema: event.dataSchema,
                attributes: event.attributes, data: Payload(event.data))
        }
    }
}

extension EventReport.Payload {
    init(_ bytes: [UInt8]) {
        text = String(validating: bytes, as: UTF8.self)
        base64 = text == nil ? Base64.encode(bytes) : nil
    }
}

extension JSONValue {
    fileprivate init(_ document: Document, in database: DatabaseID) {
        var text = JSONWriter()
        text.document(document, in: database)
        self = (try? JSONValue(parsing: text.bytes)) ?? .null
    }
}
