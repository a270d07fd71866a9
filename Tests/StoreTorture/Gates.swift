package import DocumentModel
package import SecurityRules
import TestSupport

/// What clients under rules do: the rules look at a document that others change as often as they can.
///
/// A note is written while its gate is open, with the round of that moment, and deleted while it is shut.
package enum Gates {
    package static let database = DatabaseID(project: "demo")
    package static let user = ClientIdentity(uid: "ada")
    static let notes = 6

    private static let text = """
        rules_version = '2';
        service cloud.firestore {
          match /databases/{database}/documents {
            function gate() { return get(/databases/$(database)/documents/gates/g).data; }
            match /gates/{gate} { allow get; }
            match /notes/{note} {
              allow get: if gate().open;
              allow create, update: if gate().open && request.resource.data.round == gate().round
                && getAfter(/databases/$(database)/documents/\(HistoryRecord.collection)/$(request.resource.data.record))
                  .data.at == request.time;
              allow delete: if exists(/databases/$(database)/documents/gates/g) && !gate().open
                && resource.data.round <= gate().round;
            }
            match /\(HistoryRecord.collection)/{record} {
              allow create: if request.resource.data.at == request.time && request.auth.uid == 'ada';
            }
          }
        }
        """

    package static let rules: Ruleset = {
        do { return try Ruleset(text) } catch { preconditionFailure("\(error)") }
    }()

    static let clientRules = ClientRules(.rules(rules))

    static func context(_ client: Int) -> OperationContext {
        OperationContext(owner: UInt64(client) | 1 << 63, policy: clientRules.policy(of: user, in: database))
    }

    static let gate = Bookings.path("gates/g")

    /// Opens or shuts the gate.
    static func turn(_ gate: Document?) -> [Write] {
        let isOpen = gate?.fields["open"] == .boolean(true)
        let fields: [String: Value] = [
            "open": .boolean(!isOpen), "round": .integer(Bookings.integer(gate, "round") + 1),
        ]
        return [Write(path: Self.gate, operation: .set(fields))]
    }

    /// What a client writes that has seen the gate.
    static func writes(_ gate: Document?, record: String, _ random: inout SeededGenerator) -> [Write] {
        let path = Bookings.path("notes/n\(Int.random(in: 0..<notes, using: &random))")
        if gate?.fields["open"] != .boolean(true) { return [Write(path: path, operation: .delete)] }
        let fields: [String: Value] = [
            "round": .integer(Bookings.integer(gate, "round")), "record": .string(record),
        ]
        return [Write(path: path, operation: .set(fields))]
    }
}
