import ControlProtocol
import Foundation
import StrictJSON

/// Formats a delivery with its event for people.
enum DeliveryLines {
    static func lines(_ details: DeliveryDetails) -> [String] {
        let (delivery, event) = (details.delivery, details.event)
        var rows: [(String, String?)] = [
            ("function", delivery.function), ("event", delivery.event), ("state", delivery.state),
            ("happened", "\(event.time), \(Age.text(delivery.age)) ago"), ("due", delivery.due),
            ("died", delivery.died),
            ("tries", "\(delivery.tries)" + (delivery.firstTry.map { ", the first at \($0)" } ?? "")),
            ("last error", delivery.lastError.map { ($0) + (delivery.lastStatus.map { " (\($0))" } ?? "") }),
            ("by", event.auth.type + (event.auth.id.map { " \($0)" } ?? "")),
            ("chain", event.chain.isEmpty ? nil : event.chain.joined(separator: " → ")),
        ]
        if let document = event.document {
            rows += [("document", document.path), ("before", json(document.before)), ("after", json(document.after))]
        }
        if let reference = event.reference {
            rows += [
                ("database", reference.instance), ("reference", "/" + reference.path),
                ("before", reference.before.map(text) ?? "nothing"),
            ]
            for change in reference.changes {
                let place = change.path.isEmpty ? "" : "/\(change.path) "
                rows.append(("set", place + (change.value.map(text) ?? "null")))
            }
        }
        if let schedule = event.schedule {
            rows.append(("job", schedule.job + (schedule.isManual ? ", manual" : "")))
        }
        if let task = event.task {
            rows += [("queue", task.queue), ("name", task.name), ("scheduled", task.scheduleTime)]
            rows.append(("deadline", task.dispatchDeadline.map { "\($0) s" }))
            rows += pairs("header", task.headers)
            rows.append(("body", text(task.body)))
        }
        if let custom = event.custom {
            rows += [
                ("type", custom.type), ("source", custom.source), ("id", custom.id), ("subject", custom.subject),
                ("time", custom.time), ("content type", custom.dataContentType), ("schema", custom.dataSchema),
            ]
            rows += pairs("attribute", custom.attributes)
            rows.append(("data", text(custom.data)))
        }
        return rows.flatMap { name, value -> [String] in
            guard let value else { return [] }
            let parts = value.split(separator: "\n", omittingEmptySubsequences: false)
            let label = name + String(repeating: " ", count: max(1, 14 - name.count))
            let indent = String(repeating: " ", count: 14)
            return parts.enumerated().map { ($0 == 0 ? label : indent) + Table.printable(String($1)) }
        }
    }

    private static func pairs(_ name: String, _ pairs: [String: String]) -> [(String, String?)] {
        pairs.sorted { $0.key < $1.key }.map { (name, "\($0.key): \($0.value)") }
    }

    private static func json(_ value: JSONValue?) -> String {
        guard let value else { return "no document" }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    private static func text(_ payload: EventReport.Payload) -> String {
        payload.text ?? payload.base64.map { "base64 \($0)" } ?? ""
    }
}
