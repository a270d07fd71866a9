package import RealtimeModel
import StrictJSON
package import TestSupport

/// The node of a JSON text, whose server values are computed for the time 1,000.
package func node(_ text: String, existing: RealtimeNode? = nil) throws -> RealtimeNode? {
    try RealtimeWriteValue(parsing: Array(text.utf8), at: RealtimeTarget(.root)).resolved(now: 1000, existing: existing)
}

/// A node as JSON text.
package func text(_ node: RealtimeNode?, as form: RealtimeForm = .export) -> String {
    var writer = JSONWriter()
    writer.realtime(node, as: form)
    return String(decoding: writer.bytes, as: UTF8.self)
}

package func keys(_ texts: [String]) -> [RealtimeKey] { texts.map { RealtimeKey(unchecked: $0) } }

package func path(_ text: String) throws -> RealtimePath { try RealtimePath(text) }

/// Random values with few keys, so that paths meet often.
package struct RandomValues {
    package static let keys = ["0", "1", "2", "10", "-5", "007", "-Mabc", "!a", "a", "b", "é", "\u{FFEE}", "\u{1F6D2}"]

    /// JSON text in export form.
    package static func json(_ random: inout SeededGenerator, depth: Int = 3) -> String {
        if depth == 0 || random.once(in: 3) {
            let leaf = leaf(&random)
            return random.once(in: 3) ? #"{".value":\#(leaf),".priority":\#(priority(&random))}"# : leaf
        }
        var members: [String] = []
        if random.once(in: 3) { members.append(#"".priority":\#(priority(&random))"#) }
        for key in Set((0..<Int.random(in: 0...5, using: &random)).map { _ in random.pick(keys) }).sorted() {
            members.append(#""\#(key)":\#(json(&random, depth: depth - 1))"#)
        }
        return "{\(members.joined(separator: ","))}"
    }

    package static func leaf(_ random: inout SeededGenerator) -> String {
        random.pick(["1", "2", "-0.5", "1e300", "9007199254740993", "true", "false", #""""#, #""text""#, #""q\"\\""#])
    }

    package static func priority(_ random: inout SeededGenerator) -> String {
        random.pick(["1", "2.5", #""p""#, #""q""#])
    }

    /// A path of up to `depth` keys.
    package static func path(_ random: inout SeededGenerator, depth: Int = 3) -> RealtimePath {
        RealtimePath(
            unchecked: (0..<Int.random(in: 0...depth, using: &random)).map { _ in
                RealtimeKey(unchecked: random.pick(keys))
            })
    }
}
