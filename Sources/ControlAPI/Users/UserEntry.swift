package import StrictJSON
import IdentityProvider

/// A user of a file, and where it is.
package struct UserEntry: Sendable {
    /// The fields that imports know.
    package var fields: JSONObject
    /// Such as `line 12`.
    package let place: String
    /// Why it can't be imported; nil if it can.
    package private(set) var problem: String?

    package var uid: String { fields["localId"]?.stringValue ?? "" }

    package init(_ fields: JSONObject, place: String) {
        self.fields = fields
        self.place = place
    }

    /// Checks the user's fields and their types.
    ///
    /// - Parameter bytes: the text of the node.
    init(_ node: JSONNode, _ bytes: [UInt8], place: String) {
        self.place = place
        fields = (try? JSONValue(parsing: bytes))?.objectValue ?? [:]
        var node = node
        if takePasswordOfEmulator(), let text = try? JSONValue.object(fields).serialized(),
            let changed = try? JSONNode(parsing: text)
        {
            node = changed
        }
        do throws(JSONProblem) {
            try UserFormat.check(node)
        } catch {
            let path = node.path(to: error.offset) ?? ""
            problem = (path.isEmpty ? "" : "\(path): ") + error.message
        }
    }

    /// The emulator stores passwords as they are: such a user gets the same password, hashed.
    private mutating func takePasswordOfEmulator() -> Bool {
        guard let stored = fields["passwordHash"]?.stringValue, stored.hasPrefix("fakeHash:salt=") else { return false }
        let parts = stored.split(separator: ":password=", maxSplits: 1)
        guard parts.count == 2 else { return false }
        fields["passwordHash"] = nil
        fields["salt"] = nil
        fields["rawPassword"] = .string(String(parts[1]))
        return true
    }
}
