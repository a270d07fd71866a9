package import DocumentModel
import TestSupport

/// What the clients of the workload do with each other's documents: each kind of work goes wrong in its own way where
/// transactions aren't serializable.
///
/// Money moves between accounts, of which there is always the same; each group always has a member on duty; no room
/// is booked twice for an hour; counters count every step.
package enum Bookings {
    package static let accounts = 8
    package static let balance: Int64 = 100
    static let groups = 3
    static let people = 3
    static let rooms = 3
    static let hours = 12
    static let counters = 2

    static var firstWrites: [Write] {
        var writes: [Write] = []
        for number in 0..<accounts {
            let fields: [String: Value] = ["balance": .integer(balance), "group": .integer(Int64(number % groups))]
            writes.append(create("accounts/a\(number)", fields))
        }
        for group in 0..<groups {
            for person in 0..<people {
                let fields: [String: Value] = ["group": .integer(Int64(group)), "on": .boolean(true)]
                writes.append(create("people/p\(group)-\(person)", fields))
            }
        }
        for counter in 0..<counters { writes.append(create("counters/c\(counter)", ["n": .integer(0)])) }
        return writes
    }

    static func path(_ text: String) -> DocumentPath {
        guard let path = try? DocumentPath(text) else { preconditionFailure("\(text) isn't a path") }
        return path
    }

    package static func field(_ name: String) -> FieldPath { FieldPath(segments: [name]) }

    static func equal(_ name: String, _ value: Value) -> Query.Filter { .field(field(name), .equal, value) }

    private static func create(_ text: String, _ fields: [String: Value]) -> Write {
        Write(path: path(text), operation: .set(fields), precondition: .exists(false))
    }

    static func update(_ path: DocumentPath, _ fields: [String: Value]) -> Write {
        Write(
            path: path, operation: .update(fields, mask: fields.keys.sorted().map(field)), precondition: .exists(true))
    }

    static func integer(_ document: Document?, _ name: String) -> Int64 {
        guard case .integer(let number) = document?.fields[name] else { return 0 }
        return number
    }
}
