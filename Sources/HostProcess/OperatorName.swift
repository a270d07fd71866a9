import Foundation

/// Who runs a command, as the history of releases names them.
package enum OperatorName {
    package static var current: String { of(name: NSUserName(), id: geteuid()) }

    /// The user's name, or the id of a user without one, as in containers.
    static func of(name: String, id: UInt32) -> String { name.isEmpty ? "\(id)" : name }
}
